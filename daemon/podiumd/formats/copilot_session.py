"""Copilot's session files ("events.jsonl") as summaries and messages. Pure.

Measured with ``copilot`` 1.0.102: a log of events, each with a uuid. Messages are ``user.message``
(what a person typed is its ``content``, what the model is given more), ``assistant.message`` with
the calls of tools in it, and ``tool.execution_complete``. A sub-agent's events stand in the same
file and bear its id. Where a person takes words back the events of these are removed, which
``session.snapshot_rewind`` says, so the next prompt is a fork.

The name that a person gives a session stands in a file beside it, ``workspace.yaml``.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from podiumd.formats.json_fields import mapping, objects, read_object, string
from podiumd.formats.json_lines import Conversation, Reader, StampedRecord
from podiumd.formats.message import (
    Block,
    Image,
    Other,
    Role,
    Text,
    Thinking,
    ToolUse,
    bounded,
    tool_result,
)
from podiumd.formats.session import NAMED_BY_A_PERSON, Summary

_ASKED: Final = "user.message"
_DONE: Final = "tool.execution_complete"
_TAKEN_BACK: Final = frozenset({"session.snapshot_rewind", "session.context_cleared"})
_PERSONS: Final = re.compile(r"(?:user|command-.*)?", re.DOTALL)
_OWN_RANK: Final = 2
_NAME: Final = re.compile(r"^name: (.+)$", re.MULTILINE)
_NAMED: Final = re.compile(r"^user_named: true$", re.MULTILINE)
_BLOCK_SCALARS: Final = ("|", ">")


class _Place(msgspec.Struct, gc=False):
    cwd: str = ""


class _Nothing(msgspec.Struct, gc=False):
    """A value of which only that it is there is wanted."""


class _Data(msgspec.Struct, gc=False, rename="camel"):
    source: str = ""
    content: str = ""
    reasoning_text: str = ""
    tool_requests: list[_Nothing] = []
    parent_tool_call_id: str = ""
    context: _Place | None = None
    title: str = ""


class _Record(StampedRecord, gc=False, rename="camel"):
    type: str = ""
    id: str = ""
    agent_id: str = ""
    data: _Data = msgspec.field(default_factory=_Data)


_RECORDS: Final = Reader(_Record)


class CopilotSession(Conversation[_Record]):
    """Copilot's format, as a ``SessionFormat``."""

    agent: Final = "copilot"
    layout: Final = "events"
    beside: Final = "workspace.yaml"

    def __init__(self) -> None:
        super().__init__(_RECORDS)

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message an event is."""
        data = record.data
        if record.agent_id or data.parent_tool_call_id:
            return None
        match record.type:
            case "user.message":
                return "user" if _PERSONS.fullmatch(data.source) else None
            case "assistant.message":
                said = data.content or data.reasoning_text or data.tool_requests
                return "assistant" if said else None
            case "tool.execution_complete":
                return "user"
            case _:
                return None

    def note(self, summary: Summary, record: _Record) -> None:
        """Note the directory that is named first, and titles."""
        data = record.data
        if data.context is not None:
            summary.cwd = summary.cwd or data.context.cwd
        if record.type == "session.title_changed":
            summary.entitle(data.title, _OWN_RANK)

    def describe(self, summary: Summary, data: bytes) -> None:
        """Note the name that a person gave."""
        text = data.decode("utf-8", "replace")
        found = _NAME.search(text)
        if found is not None and _NAMED.search(text):
            summary.entitle(_scalar(found[1].strip()), NAMED_BY_A_PERSON)

    def uuid(self, record: _Record) -> str:
        """Return the event's uuid."""
        return record.id

    def rewinds(self, record: _Record) -> bool:
        """Return whether words are taken back here."""
        return record.type in _TAKEN_BACK

    def asked(self, record: _Record, line: bytes) -> str:
        """Return a person's words: a tool's result is of role user too."""
        return record.data.content if record.type == _ASKED else ""

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message."""
        return record.data.content

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return all that a message holds."""
        raw = read_object(line, errors="replace")
        data = mapping(raw, "data") if isinstance(raw, dict) else {}
        if record.type == _DONE:
            return (_result(data),)
        blocks: list[Block] = []
        if thought := string(data, "reasoningText"):
            blocks.append(Thinking(thought))
        if words := string(data, "content"):
            blocks.append(Text(words))
        blocks += (_call(call) for call in objects(data, "toolRequests"))
        blocks += (_attachment(one) for one in objects(data, "attachments"))
        return tuple(blocks)


def _scalar(text: str) -> str:
    """Return a YAML scalar of one line; ``""`` for one that goes over several."""
    if text.startswith('"'):
        found = read_object(b'{"name": %b}' % text.encode("utf-8", "replace"))
        return string(found, "name") if isinstance(found, dict) else ""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return "" if text.startswith(_BLOCK_SCALARS) else text


def _call(call: dict[str, Any]) -> ToolUse:
    arguments = call.get("arguments")
    given = bounded(arguments) if isinstance(arguments, dict) else {"arguments": str(arguments)}
    return ToolUse(string(call, "toolCallId"), string(call, "name"), given)


def _attachment(attachment: dict[str, Any]) -> Block:
    """Return what was attached."""
    media_type = string(attachment, "mimeType")
    if media_type.startswith("image/"):
        length = attachment.get("byteLength")
        return Image(media_type, length if isinstance(length, int) and length > 0 else 0)
    return Other(string(attachment, "type"))


def _result(data: dict[str, Any]) -> Block:
    told = string(mapping(data, "result"), "content") or string(mapping(data, "error"), "message")
    status = mapping(data, "shellExecution").get("exitCode")
    failed = data.get("success") is not True or status not in (None, 0)
    return tool_result(string(data, "toolCallId"), told, is_error=failed)
