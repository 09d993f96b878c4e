"""The native agent's own session files as summaries and messages. Pure.

One row a line, written by the daemon: ``prompt`` (a person's words), ``reply`` (the model's answer:
``text`` as it came, ``said`` without its action blocks, and the ``actions`` in them), ``results``
(what the actions came to) and ``notice`` (the daemon's own words at the end of a turn, for people).
Each has a uuid that follows from its turn and its place in it, so that a row which was written
twice is one message. There is no tree: a session is one conversation.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podiumd.formats.claude_json import mapping, objects, read_object, string
from podiumd.formats.json_lines import Lines, Reader, fold_times, fold_words
from podiumd.formats.message import Block, Message, Role, Text, ToolUse, bounded, text_of
from podiumd.formats.message import tool_result as result_of
from podiumd.formats.session import (
    Cursor,
    Entry,
    Summary,
    identity_of,
    identity_of_line,
    uuid_of,
)

ROLES: Final[dict[str, Role]] = {
    "prompt": "user",
    "reply": "assistant",
    "results": "user",
    "notice": "assistant",
}
"""The kinds of rows that are messages, and whose they are."""


class _Record(msgspec.Struct, gc=False):
    timestamp: str = ""
    type: str = ""
    uuid: str = ""
    cwd: str = ""
    text: str = ""
    said: str = ""


_RECORDS: Final = Reader(_Record)


def _role(record: _Record | None) -> Role | None:
    """Return whose message a record is, ``None`` if it is none: the one place that decides."""
    return None if record is None else ROLES.get(record.type)


def _identity(record: _Record, line: bytes) -> bytes:
    return identity_of(record.uuid) if record.uuid else identity_of_line(line)


def _words(record: _Record) -> str:
    """Return the words of a message for people, without what actions were and came to."""
    if record.type == "reply":
        return record.said
    return "" if record.type == "results" else record.text


def _blocks(record: _Record, line: bytes) -> tuple[Block, ...]:
    words = _words(record)
    blocks: list[Block] = [Text(words)] if words else []
    if record.type in ("reply", "results"):
        raw = read_object(line, errors="replace")
        row = raw if isinstance(raw, dict) else {}
        blocks += [_call(each) for each in objects(row, "actions")]
        blocks += [_result(each) for each in objects(row, "results")]
    return tuple(blocks)


def _call(action: dict[str, Any]) -> ToolUse:
    return ToolUse(string(action, "id"), string(action, "name"), bounded(mapping(action, "args")))


def _result(result: dict[str, Any]) -> Block:
    parts = (string(result, "message"), string(result, "output"))
    text = "\n".join(part for part in parts if part)
    failed = result.get("success") is not True
    return result_of(string(result, "id"), text, is_error=failed)


class NativeSession:
    """The native agent's format, as a ``SessionFormat``."""

    agent: Final = "native"
    layout: Final = "flat"

    def fold(self, summary: Summary, chunk: bytes) -> None:
        """Bring a summary forward; a session of ours holds no title."""
        lines = Lines(chunk)
        records = _RECORDS.read_all(lines)
        fold_times(summary, records)
        messages: list[_Record] = []
        for at, record in enumerate(records):
            if record is None:
                summary.bad_lines += bool(lines[at].strip())
                continue
            summary.cwd = summary.cwd or record.cwd
            if _role(record) is not None:
                messages.append(record)
        summary.lines += len(lines)
        summary.messages += len(messages)
        asked = (record.text for record in messages if record.type == "prompt")
        words = (_words(record) for record in reversed(messages))
        fold_words(summary, asked, words)

    def entries(self, cursor: Cursor, chunk: bytes, base: int = 0) -> list[Entry]:
        """Return the messages' places; nothing forks, and nothing is remembered."""
        lines = Lines(chunk)
        found: list[Entry] = []
        for at, record in enumerate(_RECORDS.read_all(lines)):
            role = _role(record)
            if record is not None and role is not None:
                line = lines[at]
                start = base + lines.bounds[at]
                found.append(Entry(start, len(line), _identity(record, line), role))
        return found

    def message(self, line: bytes) -> Message | None:
        """Return a line's message."""
        record = _RECORDS.read(line)
        role = _role(record)
        if record is None or role is None:
            return None
        blocks = _blocks(record, line)
        return Message(
            uuid=record.uuid or uuid_of(identity_of_line(line)),
            role=role,
            text=text_of(blocks),
            timestamp=record.timestamp,
            blocks=blocks,
        )
