"""A message as the one text that a phone shows of it; a large page is made out in a thread."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
import trio

from podiumd.formats.message import (
    PARAGRAPH,
    Block,
    Other,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from podiumd.gateway.phone.feed.history import Message
from podiumd.gateway.phone.protocol.wire import Json
from podiumd.wire.sessions import MessagesPage, NewMessages

T = TypeVar("T")

QUICK_BYTES: Final = 256 * 1024
"""Bytes of messages that are made out in the event loop itself."""

GONE: Final = "[No longer in the transcript]"

_WORDS: Final = 50  # characters of a command and of a thought
_TELLING: Final = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "Bash": "command",
    "Grep": "pattern",
}
_OWN_WORDS: Final = ("<system-reminder>", "</system-reminder>")
_ERROR_TAGS: Final = re.compile(r"</?tool_use_error>")
_TERMINAL: Final = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"  # colours and cursor
    r"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[@-Z\\-_]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)


class _Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of the public contract."""

    seq: int
    uuid: str
    role: Role
    text: str
    timestamp: str
    blocks: tuple[Block, ...]
    gone: bool = False


_decoder = msgspec.json.Decoder(_Row)


def of_json(public: Json | msgspec.Raw) -> Message:
    """Return what a phone shows of a message of the public contract, decoded or as its JSON."""
    if isinstance(public, msgspec.Raw):
        row = _decoder.decode(public)
    else:
        row = msgspec.convert(public, _Row)
    typed = row.role == "user" and not any(isinstance(block, ToolResult) for block in row.blocks)
    return Message(
        seq=row.seq,
        uuid=row.uuid,
        role=row.role,
        text=GONE if row.gone else text_of(row.blocks, row.text),
        timestamp=row.timestamp,
        typed=typed and not row.gone,
        gone=row.gone,
    )


def text_of(blocks: tuple[Block, ...], otherwise: str = "") -> str:
    """Return what a phone shows of the blocks, a blank line between them.

    ``otherwise`` stands for a message without any.
    """
    return PARAGRAPH.join(map(_text, blocks)) if blocks else otherwise


def _text(block: Block) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Thinking):
        thought = " ".join(block.text.split(maxsplit=_WORDS))
        return f"[Thinking: {_first(thought)}]" if thought else "[Thinking]"
    if isinstance(block, ToolUse):
        return _tool_use(block)
    if isinstance(block, ToolResult):
        return _tool_result(block)
    return f"[{block.type}]" if isinstance(block, Other) else "[image]"


def _tool_use(block: ToolUse) -> str:
    key = _TELLING.get(block.name, "")
    value = block.input.get(key)
    if not isinstance(value, str):
        return f"[Tool: {block.name}]"
    return f"[Tool: {block.name} {key}={_first(value) if key == 'command' else value}]"


def _first(text: str) -> str:
    return text if len(text) <= _WORDS else f"{text[:_WORDS]}..."


def _tool_result(block: ToolResult) -> str:
    words = _readable(block.text).strip("\n") or "(no output)"
    return f"[Tool Result]\n{'Error: ' if block.is_error else ''}{words}"


def _readable(text: str) -> str:
    """Leave out what is meant for the model or for a terminal."""
    return _TERMINAL.sub("", _ERROR_TAGS.sub("", _without_reminders(text))).replace("\r\n", "\n")


def _without_reminders(text: str) -> str:
    opening, closing = _OWN_WORDS
    kept, at = [], 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(closing)
    return "".join((*kept, text[at:]))


async def messages_of(page: MessagesPage | NewMessages) -> list[Message]:
    """Decode the messages of a page, or of a feed's news."""
    encoded = page.messages
    size = sum(memoryview(each).nbytes for each in encoded)
    return await made(size, lambda: [of_json(each) for each in encoded])


async def made(size: int, make: Callable[[], T]) -> T:
    """Return what ``make`` returns; in a thread where it is made of more than a few bytes."""
    return make() if size <= QUICK_BYTES else await trio.to_thread.run_sync(make)
