"""Lines of a made-up transcript, and what each of them is: told by who made it, not by a reader."""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

Json = dict[str, Any]

WORDS: Final = (
    "fix the tests", "größer", "日本語の行", "👩‍🔧 wrench", 'a "quoted" \\ path', "two\nlines",
    "tab\there", "\u2028 separator", "<b>&amp;</b>", "  spaces  ", "é", "café",
)  # fmt: skip

BROKEN: Final = (
    b'{"type":"user","uuid":', b"not json at all", b"\0\0\0\0", b"[1,2,3]", b'"words"', b"17",
    b"\xff\xfe\x00{", b"", b"   ", b'{"type":"assistant"}}',
)  # fmt: skip
"""Lines that are no record; blank ones among them."""

CUT_TO_A_RECORD: Final = b'{"type":"assistant"}'
"""What is left of the last one without its last byte: a message, if an empty one."""

OPAQUE: Final = ("system", "ai-title", "file-history-snapshot", "last-prompt", "invented-later")


class Line(msgspec.Struct, frozen=True):
    """One line, without its newline.

    ``identity`` is hexadecimal and empty for a line that is no message; then so is the rest.
    ``parent`` is the identity of the record that it follows, where that can be named.
    """

    data: bytes
    identity: str = ""
    uuid: str = ""
    role: str = ""
    text: str = ""
    parent: str = ""


def identity_of(name: str) -> str:
    """The identity that a record with this uuid has, by the project's rule."""
    try:
        return uuid.UUID(name).hex
    except ValueError:
        return hashlib.sha256(name.encode()).hexdigest()[:32]


class Maker:
    """Makes lines, and knows all it has made."""

    def __init__(self) -> None:
        self._made: dict[bytes, Line] = {}
        self._by_identity: dict[str, list[Line]] = {}
        self._known(CUT_TO_A_RECORD, "", "assistant", "")

    def line(self, data: bytes) -> Line:
        """What a line is; one that was not made as it stands here is no message."""
        made = self._made.get(data) or self._made.get(data.strip(b" "))
        if made is None or made.data == data:
            return made or Line(data)
        # Glued to blanks it is still that record.
        named = made.uuid != made.identity
        return self._known(
            data, made.uuid if named else "", made.role, made.text, parent=made.parent
        )

    def rest(self, torn: bytes) -> bytes:
        """What is missing from a line that was begun; nothing where nobody knows."""
        found = (data for data in self._made if data.startswith(torn))
        return next(found, torn)[len(torn) :]

    def versions(self, identity: str) -> list[Line]:
        """All lines that were made with this identity."""
        return self._by_identity.get(identity, [])

    def some(self, chance: random.Random, messages: Sequence[Line], count: int) -> list[Line]:
        """Lines that go on from ``messages``, of every kind."""
        said = list(messages)
        lines = []
        for _ in range(count):
            line = self._one(chance, said)
            lines.append(line)
            if line.identity:
                said.append(line)
        return lines

    def of_size(self, chance: random.Random, line: Line) -> Line | None:
        """Another message of the same size: with another uuid, or with other words."""
        row = json.loads(line.data)
        said = row.get("message", {}).get("content")
        text = line.text[:-8] + f"{chance.getrandbits(32):08x}"
        if row.get("uuid", "").startswith("msg_") or "message" not in row:
            return None
        row["message"]["content"] = text if isinstance(said, str) else [said[0] | {"text": text}]
        if "uuid" in row and chance.random() < 0.7:
            row["uuid"] = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        name = row.get("uuid", "")
        return self._known(_encode(row), name, line.role, text, parent=line.parent)

    def _one(self, chance: random.Random, said: Sequence[Line]) -> Line:
        kind = chance.random()
        if kind < 0.08:
            return Line(chance.choice(BROKEN))
        if kind < 0.18:
            return self._opaque(chance, said)
        if kind < 0.23 and said:
            return chance.choice(said)  # written twice
        if kind < 0.26 and (named := [line for line in said if line.uuid != line.identity]):
            return self._again(chance, chance.choice(named))
        if kind < 0.36 and len(said) > 1:
            return self._prompt(chance, chance.choice(said[:-1]))
        if kind < 0.60:
            return self._prompt(chance, said[-1] if said else None)
        if kind < 0.66:
            return self._queued(chance)
        return self._answer(chance, said[-1] if said else None)

    def _opaque(self, chance: random.Random, said: Sequence[Line]) -> Line:
        if chance.random() < 0.4:  # a sub-agent's row, in the file of its parent
            row = self._row(chance, said[-1] if said else None) | {"type": "user"}
            row |= {"isSidechain": True, "message": {"role": "user", "content": _text(chance)}}
            return Line(_encode(row))
        row = {"type": chance.choice(OPAQUE), "sessionId": "s", "n": chance.getrandbits(40)}
        return Line(_encode(row))

    def _again(self, chance: random.Random, first: Line) -> Line:
        """Another line with the identity of one that stands there: the same message."""
        row = self._row(chance, None) | {"uuid": first.uuid, "type": first.role}
        text = _text(chance)
        row["message"] = {"role": first.role, "content": [{"type": "text", "text": text}]}
        return self._known(_encode(row), first.uuid, first.role, text)

    def _prompt(self, chance: random.Random, parent: Line | None) -> Line:
        text = _text(chance)
        row = self._row(chance, parent) | {"type": "user", "uuid": _uuid(chance)}
        row["message"] = {"role": "user", "content": text}
        return self._known(_encode(row), row["uuid"], "user", text, parent=_named(parent))

    def _queued(self, chance: random.Random) -> Line:
        text = _text(chance)
        row = self._row(chance, None) | {"type": "attachment", "uuid": _uuid(chance)}
        row["attachment"] = {"type": "queued_command", "prompt": text}
        return self._known(_encode(row), row["uuid"], "user", text)

    def _answer(self, chance: random.Random, parent: Line | None) -> Line:
        text = _text(chance)
        row = self._row(chance, parent) | {"type": "assistant"}
        row["message"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        name = "" if chance.random() < 0.15 else _uuid(chance)
        if name:
            row["uuid"] = name
        return self._known(_encode(row), name, "assistant", text, parent=_named(parent))

    def _row(self, chance: random.Random, parent: Line | None) -> Json:
        seconds = chance.randrange(86_400)  # clocks run back
        stamp = f"2026-01-02T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"
        follows = None if parent is None or parent.uuid == parent.identity else parent.uuid
        return {"parentUuid": follows, "isSidechain": False, "cwd": "/home/me", "timestamp": stamp}

    def _known(self, data: bytes, name: str, role: str, text: str, *, parent: str = "") -> Line:
        identity = identity_of(name) if name else hashlib.sha256(data).hexdigest()[:32]
        line = Line(data, identity, name or identity, role, text, parent)
        self._made[data] = line
        self._by_identity.setdefault(identity, []).append(line)
        return line


def _named(parent: Line | None) -> str:
    """The identity of a record that can be followed: one without a uuid cannot be named."""
    return parent.identity if parent is not None and parent.uuid != parent.identity else ""


def _uuid(chance: random.Random) -> str:
    name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    kind = chance.random()
    if kind < 0.1:
        return name.upper()
    return f"msg_{name}" if kind < 0.2 else name


def _text(chance: random.Random) -> str:
    words = " ".join(chance.choices(WORDS, k=chance.randrange(1, 6)))
    size = chance.random()
    if size < 0.06:
        words += " long" * chance.randrange(500, 2000)
    elif size < 0.07:
        words += " very long" * chance.randrange(8_000, 40_000)
    return f"{words} {chance.getrandbits(32):08x}"


def _encode(row: Json) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
