"""Kimi Code's session files ("wire.jsonl") as summaries and messages. Pure.

Measured with ``kimi`` 2.1.0: a log of events. What a person says is a ``context.append_message``,
beside what the program itself puts to the model in a person's place (its ``origin`` tells them
apart). What the model says and does is a ``context.append_loop_event`` for each part; after a turn
the same stands there again, as ``agent.message.appended``, which is passed over. There is no tree:
where a person takes words back, or clears the conversation, the next prompt is a fork.

Directory and title stand in a file beside it, ``state.json``, for the program and all its agents.
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
    Role,
    Text,
    Thinking,
    ToolUse,
    bounded,
    image_of_base64,
    plain,
    text_of,
    tool_result,
)
from podiumd.formats.session import (
    NAMED_BY_A_PERSON,
    Summary,
    identity_of,
    timestamp_of,
    uuid_of,
)

_MESSAGE: Final = "context.append_message"
_EVENT: Final = "context.append_loop_event"
_TAKEN_BACK: Final = frozenset({"context.undo", "context.undone", "context.clear"})
_BY_HAND: Final = {"trigger": "user-slash"}
_PERSONS: Final[dict[str, dict[str, str]]] = {
    "": {},
    "user": {},
    "skill_activation": _BY_HAND,
    "plugin_command": _BY_HAND,
    "shell_command": {"phase": "input"},
}
"""Origins of messages that a person sent, and what else such an origin says."""

_GIVEN: Final = "custom"
_REPLACEABLE: Final = "replaceable"
_OWN_RANK: Final = 2
_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,")


class _Origin(msgspec.Struct, gc=False):
    kind: str = ""
    trigger: str = ""
    phase: str = ""


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    id: str = ""
    origin: _Origin | None = None


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    think: str = ""


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    uuid: str = ""
    part: _Part | None = None


class _Record(StampedRecord, gc=False):
    type: str = ""
    time: float = 0
    message: _Message | None = None
    event: _Event | None = None

    def __post_init__(self) -> None:
        self.timestamp = timestamp_of(self.time) if self.time else ""


_RECORDS: Final = Reader(_Record)


def _persons(message: _Message) -> bool:
    origin = message.origin or _Origin()
    wanted = _PERSONS.get(origin.kind)
    if wanted is None or message.role != "user":
        return False
    return all(getattr(origin, name) == value for name, value in wanted.items())


def _role_of_event(event: _Event) -> Role | None:
    match event.type:
        case "content.part":
            part = event.part
            return "assistant" if part is not None and (part.text or part.think) else None
        case "tool.call":
            return "assistant"
        case "tool.result":
            return "user"
        case _:
            return None


class KimiSession(Conversation[_Record]):
    """Kimi Code's format, as a ``SessionFormat``."""

    agent: Final = "kimi"
    layout: Final = "agents"
    beside: Final = "../../state.json"

    def __init__(self) -> None:
        super().__init__(_RECORDS)

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message a record is."""
        if record.type == _MESSAGE and record.message is not None:
            if record.message.role == "assistant":
                return "assistant"
            return "user" if _persons(record.message) else None
        if record.type == _EVENT and record.event is not None:
            return _role_of_event(record.event)
        return None

    def note(self, summary: Summary, record: _Record) -> None:
        """Note nothing: directory and title stand elsewhere."""

    def describe(self, summary: Summary, data: bytes) -> None:
        """Note the directory, and the title if it is more than one of the prompts."""
        state = read_object(data, errors="replace")
        if isinstance(state, str):
            return
        summary.cwd = string(state, "cwd") or summary.cwd
        kind = _GIVEN if state.get("isCustomTitle") is True else string(state, "titleKind")
        if kind != _REPLACEABLE:
            rank = NAMED_BY_A_PERSON if kind == _GIVEN else _OWN_RANK
            summary.entitle(string(state, "title"), rank)

    def uuid(self, record: _Record) -> str:
        """Return the uuid of an event, and of a message one that follows from its id."""
        if record.message is not None:
            return uuid_of(identity_of(record.message.id)) if record.message.id else ""
        return "" if record.event is None else record.event.uuid

    def rewinds(self, record: _Record) -> bool:
        """Return whether words are taken back here."""
        return record.type in _TAKEN_BACK

    def asked(self, record: _Record, line: bytes) -> str:
        """Return a person's words: a tool's result is of role user too."""
        return self.words(record, line) if record.type == _MESSAGE else ""

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message."""
        if record.event is not None and record.event.part is not None:
            return record.event.part.text  # most messages are such
        return text_of(self.blocks(record, line))

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return all that a message holds."""
        raw = read_object(line, errors="replace")
        values = raw if isinstance(raw, dict) else {}
        if record.type == _MESSAGE:
            message = mapping(values, "message")
            calls = tuple(_call_of_message(call) for call in objects(message, "toolCalls"))
            return (*_content(objects(message, "content")), *calls)
        event = mapping(values, "event")
        match event.get("type"):
            case "tool.call":
                arguments = bounded(mapping(event, "args"))
                return (ToolUse(string(event, "toolCallId"), string(event, "name"), arguments),)
            case "tool.result":
                return (_result(event),)
            case _:
                return _content([mapping(event, "part")])


def _content(parts: list[dict[str, Any]]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for part in parts:
        match part.get("type"):
            case "text":
                blocks.append(Text(string(part, "text")))
            case "think":
                blocks.append(Thinking(string(part, "think")))
            case "image_url":
                blocks.append(_image(string(mapping(part, "imageUrl"), "url")))
    return tuple(blocks)


def _image(url: str) -> Image:
    found = _DATA_URL.match(url)
    if found is None:
        return Image("unknown", 0)
    return image_of_base64(found[1], len(url) - found.end())


def _call_of_message(call: dict[str, Any]) -> ToolUse:
    words = string(call, "arguments")
    found = read_object(words.encode("utf-8", "replace"))
    arguments = bounded(found) if isinstance(found, dict) else {"arguments": words}
    return ToolUse(string(call, "id"), string(call, "name"), arguments)


def _result(event: dict[str, Any]) -> Block:
    result = mapping(event, "result")
    output = result.get("output")
    if not isinstance(output, str):
        output = "\n".join(plain(_content(objects(result, "output"))))
    failed = result.get("isError") is True
    return tool_result(string(event, "toolCallId"), output, is_error=failed)
