"""Rehearsal of a step with made-up replies: how each was read, its tool calls, where it leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from podium import text
from podium.errors import ERROR, OK, stopped
from podium.render import conversation_words

if TYPE_CHECKING:
    from podium import protocol

BRIEF = 100


def exit_code(answer: protocol.StepPlay | protocol.PhasePlay) -> int:
    """0 where the replies lead out of the step, or a conversation waits for its person."""
    return OK if answer.get("outcome") or answer.get("waits") else ERROR


def lines(answer: protocol.StepPlay | protocol.PhasePlay, style: text.Style, end: str) -> list[str]:
    """Format the answer of ``recipes.rehearse``; ``end`` is how the run ends with it, if any."""
    of_reply: Callable[[Any, text.Style], list[str]] = _phase if "waits" in answer else _step
    told: list[str] = []
    for number, reply in enumerate(answer["replies"], 1):
        first, *more = of_reply(reply, style)
        told += [f"reply {number}  {first}", *more]
    if answer.get("to"):
        told.append(f"→ {text.fold(answer['to'])}")
    elif answer.get("exit"):
        told.append(end)
    elif answer.get("waits"):
        told.append("… the script ends here, and the phase waits for the person")
    else:
        told.append("… the replies end here, the step is asked again")
    return told


def _step(reply: protocol.Accepted | protocol.Rejected, style: text.Style) -> list[str]:
    if reply["ok"]:
        return [style("green", f"✓ {text.fold(reply['outcome'])}") + read_from(reply)]
    why = stopped(text.fold(reply["message"]))
    return [style("red", f"✗ {text.fold(reply['error'])}") + f": {why}"]


def read_from(reading: protocol.Accepted) -> str:
    """Describe an outcome that was read: ``: all of it (text, repaired)``."""
    about = f": {text.fold(reading['description'])}" if reading["description"] else ""
    return f"{about} ({text.fold(reading['source'])}{', repaired' * reading['repaired']})"


def _phase(reply: protocol.PhaseReply, style: text.Style) -> list[str]:
    """Describe a turn of a conversation: the agent's prompt, its actions, and the values saved."""
    told = [style("dim", "to: " + text.fold(reply.get("prompt"), BRIEF))]
    if reply.get("fault"):
        told.append("  " + style("red", f"✗ cannot be read: {text.fold(reply['fault'])}"))
    if said := text.fold(reply.get("text") or "", BRIEF):
        told.append(f"  {said}")
    used = [conversation_words.tool_used(call) for call in reply.get("tools") or []]
    told += [f"  {style(colour, words)}" for words, colour in filter(None, used)]
    if reply.get("question"):
        told.append("  " + style("yellow", f"? {text.fold(reply['question'])}"))
    saved = [
        f"{key} = {value}"
        for key, value in conversation_words.context(reply.get("ctx") or {})
        if value != "-"
    ]
    told += [f"    {text.cut(one, BRIEF)}" for one in saved]
    return told
