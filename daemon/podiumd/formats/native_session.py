"""The native agent's own session files as summaries and messages. Pure.

One row a line, written by the daemon: ``prompt`` (a person's words), ``reply`` (the model's answer:
``text`` as it came, ``said`` without its action blocks, and the ``actions`` in them), ``results``
(what the actions came to) and ``notice`` (the daemon's own words at the end of a turn, for people).
Each has a uuid that follows from its turn and its place in it, so that a row which was written
twice is one message. There is no tree: a session is one conversation.
"""

from __future__ import annotations

from typing import Any, Final

from podiumd.formats.json_fields import mapping, objects, read_object, string
from podiumd.formats.json_lines import Conversation, Reader, StampedRecord
from podiumd.formats.message import Block, Role, Text, ToolUse, bounded, tool_result
from podiumd.formats.session import Summary

ROLES: Final[dict[str, Role]] = {
    "prompt": "user",
    "reply": "assistant",
    "results": "user",
    "notice": "assistant",
}
"""The kinds of rows that are messages, and whose they are."""


class _Record(StampedRecord, gc=False):
    type: str = ""
    uuid: str = ""
    cwd: str = ""
    text: str = ""
    said: str = ""


def _call(action: dict[str, Any]) -> ToolUse:
    return ToolUse(string(action, "id"), string(action, "name"), bounded(mapping(action, "args")))


def _result(result: dict[str, Any]) -> Block:
    parts = (string(result, "message"), string(result, "output"))
    text = "\n".join(part for part in parts if part)
    failed = result.get("success") is not True
    return tool_result(string(result, "id"), text, is_error=failed)


class NativeSession(Conversation[_Record]):
    """The native agent's format, as a ``SessionFormat``."""

    agent: Final = "native"
    layout: Final = "flat"
    beside: Final = ""

    def __init__(self) -> None:
        super().__init__(Reader(_Record))

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message a row is."""
        return ROLES.get(record.type)

    def note(self, summary: Summary, record: _Record) -> None:
        """Note the directory that a row names; a session of ours holds no title."""
        summary.cwd = summary.cwd or record.cwd

    def uuid(self, record: _Record) -> str:
        """Return the row's uuid."""
        return record.uuid

    def asked(self, record: _Record, line: bytes) -> str:
        """Return a person's words: what actions came to is of role user, and nobody's."""
        return record.text if record.type == "prompt" else ""

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message, without what actions were and came to."""
        if record.type == "reply":
            return record.said
        return "" if record.type == "results" else record.text

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return the words of a message, its actions and what they came to."""
        words = self.words(record, line)
        blocks: list[Block] = [Text(words)] if words else []
        if record.type in ("reply", "results"):
            raw = read_object(line, errors="replace")
            row = raw if isinstance(raw, dict) else {}
            blocks += [_call(each) for each in objects(row, "actions")]
            blocks += [_result(each) for each in objects(row, "results")]
        return tuple(blocks)
