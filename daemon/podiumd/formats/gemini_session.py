"""Gemini CLI's session files as summaries and messages. Pure.

Measured with ``gemini`` 0.61.0. Lines are messages, each with an ``id``, and changes of what is
known of the session: ``$set``, ``$rewindTo``. A message is written again when it changes, with all
that it had before; so the calls of tools in it are messages of their own, each in its place within
the line, and what was read before is known again by its identity. What ``$set`` says of messages is
passed over: it repeats them, or puts others in their place for the model, as a compaction does.
The surroundings, which the program puts before the first prompt, are no message.

The directory stands in a file beside it, ``.project_root``. The file's name has but the beginning
of the session's id, and each start of the program leaves a file that never holds a message: see
``session_in``.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

import msgspec

from podiumd.formats.genai_parts import blocks_of_parts, call_of
from podiumd.formats.json_fields import objects, read_object, string
from podiumd.formats.json_lines import Conversation, Lines, Reader, StampedRecord
from podiumd.formats.message import Block, Message, Role, Text, Thinking, ToolResult, text_of
from podiumd.formats.session import (
    Cursor,
    Entry,
    Summary,
    identity_of,
    identity_of_line,
    uuid_of,
)

_OWN_WORDS: Final = re.compile(r"\s*<(?:session_context|hook_context)>")
_MESSAGE: Final = b'\n{"id":"'
"""How a line begins that is a message, as the program writes it."""

_OWN_RANK: Final = 2


class _Set(msgspec.Struct, gc=False):
    summary: str = ""


class _Record(StampedRecord, gc=False):
    id: str = ""
    type: str = ""
    name: str = ""
    calls: list[msgspec.Raw] = msgspec.field(name="toolCalls", default_factory=list)
    known: _Set | None = msgspec.field(name="$set", default=None)
    rewind: str = msgspec.field(name="$rewindTo", default="")


_RECORDS: Final = Reader(_Record)


def session_in(head: bytes) -> str:
    """Return the id of the session that a file is of, by how it begins.

    ``""`` for one that has no message yet.
    """
    line, newline, _ = head.partition(b"\n")
    if not newline or head.find(_MESSAGE, len(line)) < 0:
        return ""
    first = read_object(line, errors="replace")
    return "" if isinstance(first, str) else string(first, "sessionId")


class GeminiSession(Conversation[_Record]):
    """Gemini CLI's format, as a ``SessionFormat``."""

    agent: Final = "gemini"
    layout: Final = "dated"
    beside: Final = "../.project_root"

    def __init__(self) -> None:
        super().__init__(_RECORDS)

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message a line is, ``None`` if neither it nor a call in it is one."""
        if record.type == "gemini":
            said = self._speaks(record, line) or _calls(record, line, 0)
            return "assistant" if said else None
        if record.type == "user":
            return "user" if self._speaks(record, line) else None
        return "assistant" if _is_call(record) else None

    def _speaks(self, record: _Record, line: bytes) -> bool:
        blocks = self.blocks(record, line)
        first = blocks[0] if blocks else None
        return bool(blocks) and not (isinstance(first, Text) and _OWN_WORDS.match(first.text))

    def note(self, summary: Summary, record: _Record) -> None:
        """Note the title that the program gives a session."""
        if record.known is not None:
            summary.entitle(record.known.summary, _OWN_RANK)

    def describe(self, summary: Summary, data: bytes) -> None:
        """Note the directory."""
        summary.cwd = data.decode("utf-8", "replace").strip() or summary.cwd

    def rewinds(self, record: _Record) -> bool:
        """Return whether words are taken back here."""
        return bool(record.rewind)

    def asked(self, record: _Record, line: bytes) -> str:
        """Return a person's words."""
        blocks = self.blocks(record, line)
        return "" if any(isinstance(block, ToolResult) for block in blocks) else text_of(blocks)

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message."""
        return text_of(self.blocks(record, line))

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return what a message holds, without its calls; all of a call."""
        raw = read_object(line, errors="replace")
        values = raw if isinstance(raw, dict) else {}
        if _is_call(record):
            return (call_of(values),)
        content = values.get("displayContent") or values.get("content")
        thoughts = objects(values, "thoughts") if record.type == "gemini" else []
        return (*(_thought(one) for one in thoughts), *blocks_of_parts(content or []))

    def entries(self, cursor: Cursor, chunk: bytes, base: int = 0) -> list[Entry]:
        """Return the messages' places, those of calls within their lines."""
        lines = Lines(chunk)
        found: list[Entry] = []
        records = self._records.read_all(lines)
        for record, (start, end) in zip(records, pairwise(lines.bounds), strict=True):
            if record is None:
                continue
            line = lines.chunk[start : end - 1]
            if self.rewinds(record):
                cursor.rewind()
            role = self.role(record, line)
            if role is not None and (record.type != "gemini" or self._speaks(record, line)):
                asks = role == "user" and bool(cursor.tips) and bool(self.asked(record, line))
                parent = cursor.resume() if asks else None
                found.append(Entry(base + start, len(line), _identity(record, line), role, parent))
            if record.type == "gemini":
                found += _calls(record, line, base + start)
        return found

    def message(self, line: bytes) -> Message | None:
        """Return the message that a line, or a call within one, is."""
        record = self._records.read(line)
        role = None if record is None else self.role(record, line)
        blocks = () if record is None or role is None else self.blocks(record, line)
        if record is None or role is None or not blocks:
            return None
        return Message(
            uuid=uuid_of(_identity(record, line)),
            role=role,
            text=text_of(blocks),
            timestamp=record.timestamp,
            blocks=blocks,
        )


def _is_call(record: _Record) -> bool:
    return not record.type and bool(record.id and record.name)


def _identity(record: _Record, line: bytes) -> bytes:
    if _is_call(record):
        return identity_of(f"call {record.id}")
    return identity_of(record.id) if record.id else identity_of_line(line)


def _calls(record: _Record, line: bytes, base: int) -> list[Entry]:
    """Return the places of the calls of tools in a message."""
    found: list[Entry] = []
    after = 0
    for raw in record.calls:
        data = bytes(raw)
        after = line.index(data, after)
        call = _RECORDS.read(data)
        if call is not None and _is_call(call):
            found.append(Entry(base + after, len(data), _identity(call, data), "assistant"))
        after += len(data)
    return found


def _thought(thought: dict[str, Any]) -> Block:
    parts = (string(thought, "subject"), string(thought, "description"))
    return Thinking("\n".join(part for part in parts if part))
