"""The messages of a session as a person reads them: words whole, everything else in short."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from podium import text

if TYPE_CHECKING:
    from podium import protocol

    Block = (
        protocol.Text
        | protocol.Thinking
        | protocol.ToolUse
        | protocol.ToolResult
        | protocol.Image
        | protocol.Other
    )

ASSUMED_CELLS = 100
"""The width that lines are cut to where there is no terminal."""

NARROWEST = 40
"""Lines are not cut to less, however narrow the terminal is."""

RESULT_LINES = 4
"""Lines of a tool's result."""

TELLING = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "skill",
    "subject",
    "description",
    "prompt",
)
"""Arguments that say most about a tool's call, the most telling first."""


def told(messages: list[protocol.Message], style: text.Style, width: int) -> str:
    """Messages in their order, a blank line before each.

    Parameters:
        width: of the terminal in cells; 0: there is none. Words are never cut to it.
    """
    lines: list[str] = []
    messages = [message for message in messages if not _is_plumbing(message)]
    for gone, group in groupby(messages, key=lambda message: bool(message.get("gone"))):
        some = list(group)
        if gone:
            lines += ["", _gone(some, style)]
        else:
            for message in some:
                lines += ["", *_message(message, style, max(NARROWEST, width or ASSUMED_CELLS))]
    return "".join(f"{line}\n" for line in lines)


PLUMBING = ("No response requested.", "Structured output provided successfully")
"""Claude's messages to itself, in records of their own."""


def _is_plumbing(message: protocol.Message) -> bool:
    """Return whether a message is neither a person's nor anything an agent wrote or did."""
    blocks = _blocks(message)
    said = [str(block.get("text") or "").strip() for block in blocks]
    return (message.get("role") != "user" and said == [PLUMBING[0]]) or (
        {block.get("kind") for block in blocks} == {"tool_result"} and said == [PLUMBING[1]]
    )


def _gone(messages: list[protocol.Message], style: text.Style) -> str:
    first, last = messages[0]["seq"], messages[-1]["seq"]
    which = f"{first}" if first == last else f"{first} to {last}"
    return f"{which}  {style('dim', 'gone: no longer in the transcript')}"


def _message(message: protocol.Message, style: text.Style, width: int) -> list[str]:
    when = text.local(message.get("timestamp") or "")
    heading = f"{message['seq']}  {style('bold', _role(message))}  {style('dim', when)}".rstrip()
    lines = [heading]
    if (forks_from := message.get("forks_from")) is not None:
        lines.append("  " + style("yellow", _fork(forks_from)))
    for block in _blocks(message):
        said = _drawn(block, style, width - 2) if message.get("role") == "assistant" else None
        said = _block(block, style, width - 2) if said is None else said
        lines += [f"  {line}" if line else "" for line in said]
    return lines


def _blocks(message: protocol.Message) -> list[Block]:
    return message["blocks"] or [{"kind": "text", "text": message["text"]}]


def _role(message: protocol.Message) -> str:
    """Return the speaker. A tool's result is in a message of the user, who has never seen it."""
    kinds = {block["kind"] for block in message["blocks"]}
    return "tool" if kinds == {"tool_result"} else text.fold(message.get("role"), 20)


def _fork(seq: int) -> str:
    if seq:
        return f"↪ continues from message {seq}, not from the one above"
    return "↪ does not continue from the message above, nor from any other that is here"


def _drawn(block: Block, style: text.Style, width: int) -> list[str] | None:
    """Draw a text block at a terminal; ``None`` for anything else."""
    if block["kind"] != "text" or not style.terminal:
        return None
    from podium.render import markdown

    return markdown.drawn(block["text"], width, colours=style.colours)


def _block(block: Block, style: text.Style, width: int) -> list[str]:
    if block["kind"] == "text":
        return text.clean(block["text"]).strip("\n").split("\n")
    if block["kind"] == "thinking":
        return [style("dim", text.fold(f"… thinking: {block['text']}", width))]
    if block["kind"] == "tool_use":
        return [style("cyan", text.fold(f"⚙ {block['name']}: {telling(block)}", width))]
    if block["kind"] == "tool_result":
        return _result(block, style, width)
    if block["kind"] == "image":
        said = f"▣ image, {block['media_type']}, {_size(block['size'])}"
        return [style("dim", text.fold(said, width))]
    return [style("dim", text.fold(f"· {block.get('type') or block['kind']}", width))]


def telling(call: protocol.ToolUse) -> str:
    """Return the subject of a call: its most telling argument, else its first words, else all of
    it."""
    given = call["input"]
    named = (given.get(name) for name in TELLING)
    for value in (*named, *given.values()):
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            import shlex

            return shlex.join(value)
    if not given:
        return ""
    from podium import wire

    return wire.encode(given)


def _result(block: protocol.ToolResult, style: text.Style, width: int) -> list[str]:
    """Return the first lines of a tool's result, and how much more there is."""
    whole, left_out = block["text"], block["left_out"]
    whole = whole.removesuffix(f"\n[{left_out} more characters left out]")
    first = text.clean(whole).strip("\n").split("\n")
    first, rest = first[:RESULT_LINES], first[RESULT_LINES:]
    hidden = left_out + sum(len(line) + 1 for line in rest)
    shown = []
    for line in map(str.expandtabs, first):
        kept = text.cut(line, width - 2)
        hidden += 0 if kept == line else len(line) - len(kept) + 1
        shown.append(kept)
    if hidden:
        lines = f"{text.counted(len(rest), 'more line')}, " if rest else ""
        shown.append(f"… {lines}{text.counted(hidden, 'character')} not shown")
    colour = "red" if block.get("is_error") else "dim"
    return [style(colour, f"│ {line}".rstrip()) for line in shown]


def _size(count: int) -> str:
    return f"{count} bytes" if count < 1000 else f"{count / 1000:.0f} kB"
