"""Rehearsal of a step with made-up replies: how each was read, its tool calls, where it leads."""

from __future__ import annotations

from typing import Any

from podium import text
from podium.errors import ERROR, OK, stopped
from podium.render import conversation_words

Json = dict[str, Any]

BRIEF = 100


def exit_code(answer: Json) -> int:
    """0 where the replies lead out of the step, or a conversation waits for its person."""
    return OK if answer.get("outcome") or answer.get("waits") else ERROR


def lines(answer: Json, style: text.Style, end: str) -> list[str]:
    """Format the answer of ``recipes.rehearse``; ``end`` is how the run ends with it, if any."""
    of_reply = _phase if "waits" in answer else _step
    told = [
        line
        for number, reply in enumerate(answer["replies"], 1)
        for line in of_reply(number, reply, style)
    ]
    if answer.get("to"):
        told.append(f"→ {text.fold(answer['to'])}")
    elif answer.get("exit"):
        told.append(end)
    elif answer.get("waits"):
        told.append("… the script ends here, and the phase waits for the person")
    else:
        told.append("… the replies end here, the step is asked again")
    return told


def _step(number: int, reply: Json, style: text.Style) -> list[str]:
    if reply.get("ok"):
        about = f": {text.fold(reply['description'])}" if reply.get("description") else ""
        source = f"{text.fold(reply.get('source'))}{', repaired' * bool(reply['repaired'])}"
        said = style("green", f"✓ {text.fold(reply.get('outcome'))}") + f"{about} ({source})"
    else:
        why = stopped(text.fold(reply.get("message")))
        said = style("red", f"✗ {text.fold(reply.get('error'))}") + f": {why}"
    return [f"reply {number}  {said}"]


def _phase(number: int, reply: Json, style: text.Style) -> list[str]:
    """Describe a turn of a conversation: the agent's prompt, its actions, and the values saved."""
    told = [f"reply {number}  {style('dim', 'to: ' + text.fold(reply.get('prompt'), BRIEF))}"]
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
