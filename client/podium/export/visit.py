"""Visit of a run as a part of its page: prompt, words, checks, questions, times and cost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from podium import text
from podium.export.markdown import drawn
from podium.export.markup import esc, tag
from podium.export.tone import tone
from podium.render import history
from podium.render.history import STALLED
from podium.render.narrate import PURPOSES
from podium.render.outcome_line import without_outcome
from podium.render.question import call_lines, heading
from podium.render.run_words import answered, checks, spent

if TYPE_CHECKING:
    from podium import protocol

SOURCES = {
    "structured": "structured output",
    "tool": "the agent's tool call",
    "text": "the agent's text",
    "check": "a check",
    "command": "the command",
    "person": "a person",
}

NOTES = {
    "steer": "Told the agent",
    "message": "You",
    "tool": "The agent",
    "hook": "Hook",
    "aside": "An aside went through this session",
    "limit": "Limit",
    STALLED: "No progress",
}


def section(
    step: protocol.WholeVisit, steps: list[protocol.WholeVisit], run: protocol.Run, until: float
) -> str:
    """Build a visit's section; its content stands in the order of time."""
    kind = tone(step, steps, run)
    limits = run.get("limits")
    retries = limits["max_retries"] if limits else None
    happened = [(one["began_at"], _turn(one, retries)) for one in step["turns"]]
    happened += [(one["began_at"], _command(one)) for one in step["commands"]]
    happened += [(one["opened_at"], _question(one, until)) for one in step["questions"]]
    happened += [(one["began_at"], _still(one)) for one in step["stills"]]
    happened += [(one["at"], _note(one)) for one in step["notes"]]
    happened.sort(key=lambda one: text.epoch(one[0]) or 0.0)
    inside = _head(step) + "".join(markup for _, markup in happened)
    return tag("section", inside, id=f"visit-{step['number']}", class_=f"card step {kind}")


def _head(step: protocol.WholeVisit) -> str:
    visit = tag("small", f"visit {step['visit']}")
    restarted = tag("small", f"after restart {step['restart']}") if step["restart"] else ""
    led = step["to"] or (f"exit {step['exit']}" if step["exit"] else "")
    outcome = f"{step['outcome']} → {led}" if led else step["outcome"] or "no outcome"
    title = tag("span", f"{step['number']}.", class_="at") + tag(
        "span", esc(step["step"]), dir="auto"
    )
    title += visit + restarted + tag("span", esc(outcome), class_="pill")
    waited, still = spent(step["waited_seconds"]), spent(step["still_seconds"])
    came = SOURCES.get(str(step["source"]), step["source"])
    repaired = " (repaired)" if step["repaired"] else ""
    said = [
        text.local(step["began_at"]),
        f"work {text.duration(step['work_seconds'])}",
        waited and f"waited {waited} for a person",
        still and f"stood still {still}",
        text.price(step["cost_usd"], step["tokens"]) if step["turns"] else "",
        came and f"outcome from {came}{repaired}",
        f"{step['attempts']} replies" if step["attempts"] > 1 else "",
        checks(step) and f"checks: {checks(step)}",
    ]
    meta = tag("p", esc(text.dotted(*(one or "" for one in said))), class_="meta")
    described = tag("p", esc(step["description"]), dir="auto") if step["description"] else ""
    return tag("h3", title) + meta + described


def _turn(turn: protocol.VisitTurn, retries: int | None) -> str:
    parts = []
    if turn["purpose"] in PURPOSES:
        most = "" if retries is None else f" of {retries + 1}"
        why = PURPOSES[turn["purpose"]]
        parts.append(tag("p", esc(f"Reply {turn['attempt']}{most}: {why}"), class_="reply"))
    beginning = tag("span", esc(text.fold(turn["prompt"], 90)), class_="soft")
    parts.append(_folded(f"Prompt: {beginning}", _pre(turn["prompt"]), kind="prompt"))
    words = without_outcome(turn["text"], turn["read"])
    if turn["calls"]:
        parts.append(_calls(turn))
    if words:
        parts.append(drawn(words))
    if turn["ended_at"] is None:
        parts.append(tag("p", "The agent is still at work.", class_="meta"))
    elif turn["end"] != "done":
        said = f"The turn ended: {str(turn['end']).replace('_', ' ')}. {turn['detail']}"
        parts.append(tag("p", esc(said), class_="warn"))
    if turn["fault"] is not None:
        said = f"No usable outcome: {turn['fault']['message'] or turn['fault']['error']}"
        parts.append(tag("p", esc(said), class_="warn"))
    price = text.price(turn["cost_usd"], turn["tokens"])
    took = text.dotted(turn["agent"], turn["model"] or "", text.duration(turn["seconds"]), price)
    return "".join([*parts, tag("p", esc(took), class_="meta")])


def _calls(turn: protocol.VisitTurn) -> str:
    """List the tools that the agent called, a line each."""
    count = len(turn["calls"]) + turn["more_calls"]
    lines = [tag("li", tag("code", esc(history.call(one))), dir="auto") for one in turn["calls"]]
    if turn["more_calls"]:
        lines.append(tag("li", esc(f"and {turn['more_calls']} more"), class_="soft"))
    inside = tag("ul", "".join(lines), class_="calls")
    return _folded(esc(text.counted(count, "tool call")), inside)


def _command(command: protocol.VisitCommand) -> str:
    ran = tag("code", esc(shlex.join(command["run"])))
    if command["passed"] is None:
        return tag("p", f"… {ran}")
    status = "unknown" if command["exit_status"] is None else command["exit_status"]
    sign, kind = ("✓", "good") if command["passed"] else ("✗", "bad")
    said = f"{tag('span', sign, class_=kind)} {ran} "
    said += tag("small", esc(f"exit {status}, {text.duration(command['seconds'])}"))
    if not command["tail"]:
        return tag("p", said)
    return _folded(said, _pre(command["tail"]), not command["passed"])


def _question(asked: protocol.VisitQuestion, until: float) -> str:
    question = asked["opened"]
    about = question["detail"]
    if question["kind"] == "approval" and question["input"] is not None:
        about = "\n".join(call_lines(question["input"]))
    said = tag("p", tag("b", esc(heading(question))), dir="auto")
    became = tag("p", esc(answered(asked, until)), dir="auto")
    return tag("div", said + (_pre(about) if about else "") + became, class_="asked")


def _still(still: protocol.VisitStill) -> str:
    why = f"until {still['why']}" if still["kind"] == "parked" else still["why"]
    return tag("p", esc(f"{still['kind'].capitalize()}: {why}"), class_="meta")


def _note(note: protocol.VisitNote) -> str:
    said = tag("b", esc(NOTES.get(kind := history.kind(note), kind)))
    return tag("p", f"{said}: {esc(history.words(note))}", dir="auto")


def _pre(words: str) -> str:
    return tag("pre", esc(words), dir="auto")


def _folded(summary: str, inside: str, unfolded: bool = False, kind: str | None = None) -> str:
    """Fold content away until a click or a key; ``summary`` and ``inside`` are markup."""
    return tag("details", tag("summary", summary) + inside, open=unfolded, class_=kind)
