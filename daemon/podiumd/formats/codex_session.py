"""Codex's session files ("rollouts") as summaries and messages. Pure.

Measured with ``codex`` 0.169.0: one ``{timestamp, type, payload}`` a line, without a uuid. The
model's input and its words stand in ``response_item`` records; ``event_msg`` records repeat the
same. There is no tree: a rollout is one conversation, in the order of the file. Codex puts
instructions and facts of the surroundings into rows of role user; it names the kind of each piece
of a row (``content_item_kinds``), which older versions did not.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from podiumd.formats.json_fields import mapping, objects, read_object, string, strings
from podiumd.formats.json_lines import Conversation, Reader, StampedRecord
from podiumd.formats.message import (
    Block,
    Image,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    bounded,
    image_of_base64,
    plain,
    text_of,
    tool_result,
)
from podiumd.formats.session import Summary

_ROLES: Final[dict[str, Role]] = {
    "function_call": "assistant",
    "custom_tool_call": "assistant",
    "local_shell_call": "assistant",
    "function_call_output": "user",
    "custom_tool_call_output": "user",
    "local_shell_call_output": "user",
}
_NAME_DIRECTORY: Final = frozenset({"session_meta", "turn_context"})
_WORDS: Final = frozenset({"input_text", "output_text", "text"})
_INJECTED: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions)>|# AGENTS\.md instructions for )"
)
_EXIT_STATUS: Final = re.compile(r"(?:[^\n]*\n){0,4}Process exited with code (-?[0-9]{1,10})\n")
_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,")


class _Payload(msgspec.Struct, gc=False):
    type: str = ""
    role: str = ""
    cwd: str = ""
    parent_thread_id: str | None = None
    agent_nickname: str | None = None


class _Record(StampedRecord, gc=False):
    type: str = ""
    payload: _Payload | None = None


_RECORDS: Final = Reader(_Record)


def _role(record: _Record, line: bytes) -> Role | None:
    """Return whose message a record is; instructions, surroundings and events are none."""
    if record.type != "response_item" or record.payload is None:
        return None
    kind = record.payload.type
    if kind == "message":
        if record.payload.role == "assistant":
            return "assistant"
        from_person = record.payload.role == "user" and not _injected(_payload(line))
        return "user" if from_person else None
    if kind == "reasoning":
        return "assistant" if _blocks(_payload(line)) else None
    return _ROLES.get(kind)


def is_persons(line: bytes) -> bool:
    """Return whether a line is a message of a person to the agent, and no result of a tool."""
    record = _RECORDS.read(line)
    if record is None or record.payload is None or record.payload.type != "message":
        return False
    return _role(record, line) == "user"


def _payload(line: bytes) -> dict[str, Any]:
    raw = read_object(line, errors="replace")
    return mapping(raw, "payload") if isinstance(raw, dict) else {}


def _injected(payload: dict[str, Any]) -> bool:
    """Say whether a row of role user is Codex's own."""
    about = mapping(payload, "internal_chat_message_metadata_passthrough")
    kinds = [kind for kind in strings(about, "content_item_kinds") if kind != "unknown"]
    if kinds:
        return not any(kind.startswith("user.") for kind in kinds)
    first = next(iter(objects(payload, "content")), {})
    return _INJECTED.match(string(first, "text")) is not None


def _blocks(payload: dict[str, Any]) -> tuple[Block, ...]:
    call_id = string(payload, "call_id")
    match payload.get("type"):
        case "message":
            return _content(objects(payload, "content"))
        case "reasoning":
            thoughts = (string(part, "text") for part in objects(payload, "summary"))
            return tuple(Thinking(thought) for thought in thoughts if thought)
        case "function_call":
            arguments = _arguments(string(payload, "arguments"))
            return (ToolUse(call_id, string(payload, "name"), arguments),)
        case "custom_tool_call":
            words = {"input": string(payload, "input")}
            return (ToolUse(call_id, string(payload, "name"), words),)
        case "local_shell_call":
            return (ToolUse(call_id, "local_shell", bounded(mapping(payload, "action"))),)
        case _:
            return (_result(call_id, payload.get("output")),)


def _content(parts: list[dict[str, Any]]) -> tuple[Block, ...]:
    """Return the words and pictures of a row, without the tags that Codex puts around a picture."""
    pictures = {at for at, part in enumerate(parts) if part.get("type") == "input_image"}
    blocks: list[Block] = []
    for at, part in enumerate(parts):
        text = string(part, "text")
        if at in pictures:
            blocks.append(_image(string(part, "image_url")))
        elif part.get("type") in _WORDS and not _tag_of_picture(text, at, pictures):
            blocks.append(Text(text))
    return tuple(blocks)


def _tag_of_picture(text: str, at: int, pictures: set[int]) -> bool:
    opens = at + 1 in pictures and text.startswith("<image") and text.endswith(">")
    return opens or (at - 1 in pictures and text == "</image>")


def _image(url: str) -> Image:
    found = _DATA_URL.match(url)
    if found is None:
        return Image("unknown", 0)
    return image_of_base64(found[1], len(url) - found.end())


def _arguments(text: str) -> dict[str, Any]:
    """Parse a call's arguments, which the model writes as JSON within a string."""
    found = read_object(text.encode("utf-8", "replace"))
    return bounded(found) if isinstance(found, dict) else {"arguments": text}


def _result(call_id: str, output: object) -> ToolResult:
    failed = False
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content")
    if isinstance(output, list):
        parts = _content([part for part in output if isinstance(part, dict)])
        text = "\n".join(words.removesuffix("\n") for words in plain(parts))
        return tool_result(call_id, text, is_error=failed)
    text = output if isinstance(output, str) else ""
    status = _EXIT_STATUS.match(text)
    failed = failed or (status is not None and int(status[1]) != 0)
    return tool_result(call_id, text, is_error=failed)


class CodexSession(Conversation[_Record]):
    """Codex's format, as a ``SessionFormat``."""

    agent: Final = "codex"
    layout: Final = "days"
    beside: Final = ""

    def __init__(self) -> None:
        super().__init__(_RECORDS)

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message a record is."""
        return _role(record, line)

    def note(self, summary: Summary, record: _Record) -> None:
        """Note the directory of the session, or of a turn of it; a sub-agent's name is a title.

        Its thread is a session file as any other.
        """
        payload = record.payload
        if record.type in _NAME_DIRECTORY and payload is not None:
            summary.cwd = summary.cwd or payload.cwd
            if payload.parent_thread_id:
                name = payload.agent_nickname or payload.parent_thread_id
                summary.entitle(f"sub-agent {name}", 0)

    def asked(self, record: _Record, line: bytes) -> str:
        """Return a person's first words."""
        texts = (block.text for block in self.blocks(record, line) if isinstance(block, Text))
        return next((text for text in texts if text.strip()), "")

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message."""
        return text_of(self.blocks(record, line))

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return all that a message holds."""
        return _blocks(_payload(line))
