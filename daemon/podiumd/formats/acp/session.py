"""Podium's own records of sessions whose agents' files it cannot read, as messages. Pure.

One row a line: ``notice`` (that the record holds what Podium ran, the first row), ``prompt`` (what
was said to the agent), ``reply`` and ``thinking`` (its words, the pieces of one message joined),
``tool`` and ``result`` (a use of a tool, and what came of it). Each has a uuid that follows from
its turn and its place in it, so that a row which was written twice is one message. There is no
tree.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from podiumd.formats.json_fields import mapping, read_object
from podiumd.formats.json_lines import Conversation, Reader, StampedRecord
from podiumd.formats.message import Block, Role, Text, Thinking, ToolUse, bounded, tool_result
from podiumd.formats.session import Summary

RowKind = Literal["notice", "prompt", "reply", "thinking", "tool", "result"]

ROLES: Final[dict[str, Role]] = {
    "notice": "assistant",
    "prompt": "user",
    "reply": "assistant",
    "thinking": "assistant",
    "tool": "assistant",
    "result": "user",
}
"""The kinds of rows, and whose messages they are."""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row as it is written. ``id`` ties a result to its tool, ``name`` and ``input`` are the
    tool's; ``cwd`` is the working directory, on prompts."""

    type: RowKind
    uuid: str
    turn: str
    timestamp: str
    text: str = ""
    cwd: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    failed: bool = False


class _Record(StampedRecord, gc=False):
    type: str = ""
    uuid: str = ""
    cwd: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    failed: bool = False


class AcpSession(Conversation[_Record]):
    """The format of these records, as a ``SessionFormat``."""

    agent: Final = "acp"
    layout: Final = "flat"
    beside: Final = ""

    def __init__(self) -> None:
        super().__init__(Reader(_Record))

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message a row is."""
        return ROLES.get(record.type)

    def note(self, summary: Summary, record: _Record) -> None:
        """Note the directory that a row names; no row holds a title."""
        summary.cwd = summary.cwd or record.cwd

    def uuid(self, record: _Record) -> str:
        """Return the row's uuid."""
        return record.uuid

    def asked(self, record: _Record, line: bytes) -> str:
        """Return what was said to the agent."""
        return record.text if record.type == "prompt" else ""

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message, without its thoughts, tools and their results."""
        return record.text if record.type in ("notice", "prompt", "reply") else ""

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return the one block that a row is."""
        if record.type == "thinking":
            return (Thinking(record.text),)
        if record.type == "tool":
            raw = read_object(line, errors="replace")
            given = mapping(raw, "input") if isinstance(raw, dict) else {}
            return (ToolUse(record.id, record.name, bounded(given)),)
        if record.type == "result":
            return (tool_result(record.id, record.text, is_error=record.failed),)
        return (Text(record.text),)
