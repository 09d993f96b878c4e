"""A session file read whole, as the index and the log read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podiumd.formats.message import Block, Message, Text, Thinking, ToolResult, ToolUse
from podiumd.formats.session import Cursor, Entry, SessionFormat, Summary


def encoded(*records: object) -> bytes:
    """Return records as lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def folded(format: SessionFormat, data: bytes) -> Summary:
    """Return the summary."""
    summary = Summary()
    format.fold(summary, data)
    return summary


def entries(format: SessionFormat, data: bytes) -> list[Entry]:
    """Return the places of the messages, each message once."""
    found = {entry.identity: entry for entry in reversed(format.entries(Cursor(), data))}
    return sorted(found.values(), key=lambda entry: entry.offset)


def messages(format: SessionFormat, data: bytes) -> list[Message]:
    """Return the messages, each once."""
    found = []
    for entry in entries(format, data):
        message = format.message(data[entry.offset : entry.offset + entry.length])
        assert message is not None
        found.append(message)
    return found


def said(format: SessionFormat, path: Path) -> list[str]:
    """Return the conversation in a file, a short line for each block."""
    read = messages(format, path.read_bytes())
    return [f"{message.role}: {_short(block)}" for message in read for block in message.blocks]


def _short(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Thinking(text):
            return f"({text})"
        case ToolUse(_, name, given):
            return f"{name} {_given(given)}"
        case ToolResult(_, text, failed, _):
            return f"{'failed' if failed else 'done'}: {text.strip()}"
        case _:
            return str(block)


def _given(given: dict[str, Any]) -> str:
    return str(given.get("command", given))
