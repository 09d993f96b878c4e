"""Events of a conversation beside its words, for a person in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium import text

if TYPE_CHECKING:
    from podium import protocol
Told = tuple[str, str]
"""Words and their colour."""

BRIEF = 160

GONE = (
    "The agent's conversation was gone: it begins anew, with a summary of what was said and saved."
)


TOOLS = ("ask", "save", "transition", "notify", "report_outcome")


def is_told(output: protocol.TurnOutput) -> bool:
    """Return whether a ``turn.output`` calls one of Podium's tools: ``tool.used`` reports it."""
    name = str(output.get("delta")).partition(" ")[0].rstrip(":").removeprefix("mcp__podium__")
    return output.get("kind") == "tool" and name in TOOLS


def tool_used(data: protocol.ToolUsedData | protocol.ToolPlayed) -> Told | None:
    """Describe a call of one of Podium's own tools; ``None`` where something else reports it."""
    tool, args = str(data.get("tool")), data.get("args") or {}
    if not data.get("success"):
        return f"✗ {text.fold(_what(tool, args))} refused: {_brief(data.get('message'))}", "yellow"
    if tool == "save":
        return f"✓ saved {text.fold(args.get('key'))}: {_brief(shown(args.get('value')))}", "green"
    if tool == "transition":
        why = f": {_brief(args['summary'])}" if args.get("summary") else ""
        return f"→ moves on to {text.fold(args.get('to'))}{why}", "cyan"
    if tool == "notify":
        return f"! {_brief(args.get('message'))}", "yellow"
    if tool == "report_outcome":
        return f"reports {text.fold(args.get('outcome'))}", "cyan"
    return None  # a question follows, and says it all


def message(data: protocol.MessageReceivedData) -> Told:
    """Describe a person's message from elsewhere."""
    who = str(data.get("by") or "person")
    by = "" if who in ("person", "local") else f" (by {text.fold(who)})"
    return f"you{by}: {text.fold(data.get('text'), BRIEF)}", "dim"


def hook_ended(data: protocol.HookEndedData) -> Told | None:
    """Describe a hook at the end of a turn; ``None`` if it neither refused nor failed."""
    command = text.fold(" ".join(str(word) for word in data.get("run") or []), BRIEF)
    reason = f": {_brief(data['reason'])}" if data.get("reason") else ""
    if data.get("refused"):
        return f"✗ {command} does not let the turn be over{reason}", "yellow"
    if data.get("exit_status") not in (0, None):
        return f"! {command} failed (exit {data['exit_status']}){reason}", "yellow"
    return None


def stalled(data: protocol.ProgressStalledData) -> Told:
    """Describe a visit that made no progress."""
    step = text.fold(data.get("step"))
    return (
        f"⚠ no progress: visit {data.get('visit')} of '{step}' ended as visit "
        f"{data.get('since')} did, with the same findings, and the working tree is the same"
    ), "yellow"


def shown(value: object) -> str:
    """Format a value of the context: a text as it is, else as JSON, a long list as its count."""
    if isinstance(value, str):
        return value
    import json

    said = json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and len(said) > BRIEF:
        return f"{text.counted(len(value), 'item')}: {said}"
    return said


def context(ctx: dict[str, Any]) -> list[tuple[str, str]]:
    """List the context as rows: its keys, and what they hold; ``-`` where that is nothing."""
    return [
        (text.fold(key), "-" if value in ("", [], {}, None) else text.fold(shown(value)))
        for key, value in ctx.items()
    ]


def _what(tool: str, args: dict[str, Any]) -> str:
    named = args.get("key") or args.get("to") or args.get("outcome")
    return f"{tool} {named}" if isinstance(named, str) else tool


def _brief(words: object) -> str:
    return text.fold(words, BRIEF)
