"""Facts as log lines, in the words of the public contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podiumd.core import facts as f
from podiumd.core.state import RunState
from podiumd.runtime.context import Level, LogEvent

_ENDINGS: dict[str, tuple[str, Level]] = {
    "completed": ("Recipe completed", "info"),
    "guardrail": ("Recipe stopped by guardrail", "warning"),
    "error": ("Recipe failed", "error"),
}


def write(log: LogEvent, state: RunState, fact: f.Fact) -> None:
    """Log what a fact means to a person; kinds without a line are silent."""
    line = _LINES.get(type(fact))
    if line is None or state.recipe is None:
        return
    for event, level, fields in line(fact):
        log(
            event,
            level,
            run_id=state.start.run_id,
            session_id=state.session_id,
            recipe_id=state.recipe.id,
            **{"step": state.step, **fields},
        )


Lines = list[tuple[str, Level, dict[str, Any]]]


def _parsed(fact: f.OutcomeParsed) -> Lines:
    fields = {"step": fact.step, "outcome": fact.outcome, "source": fact.source}
    return [("Outcome parsed", "info", fields)]


def _invalid(fact: f.OutcomeInvalid) -> Lines:
    fields = {"step": fact.step, "error": fact.error, "attempt": fact.attempt}
    lines: Lines = [("Outcome invalid", "warning", {**fields, "snippet": fact.excerpt[:200]})]
    if fact.error == "unknown-outcome":
        unexpected = {"step": fact.step, "returned": fact.returned, "expected": list(fact.expected)}
        lines.append(("Unexpected outcome", "warning", unexpected))
    return lines


def _edge(fact: f.EdgeTaken) -> Lines:
    to = fact.to or f"exit:{fact.exit}"
    fields = {"step": fact.step, "from": fact.step, "outcome": fact.outcome, "to": to}
    return [("Transition", "info", fields)]


def _limit(fact: f.LimitHit) -> Lines:
    return [("Limit hit", "warning", {"limit": fact.limit, "count": fact.count})]


def _stalled(fact: f.ProgressStalled) -> Lines:
    fields = {"step": fact.step, "visit": fact.visit, "since": fact.since, "outcome": fact.outcome}
    return [("No progress", "warning", fields)]


def _ended(fact: f.RunEnded) -> Lines:
    event, level = _ENDINGS[fact.exit.category]
    fields = {
        "reason": fact.exit.reason,
        "category": fact.exit.category,
        "class": fact.exit.class_,
    }
    return [(event, level, fields)]


_LINES: dict[type[f.Fact], Callable[[Any], Lines]] = {
    f.OutcomeParsed: _parsed,
    f.OutcomeInvalid: _invalid,
    f.EdgeTaken: _edge,
    f.LimitHit: _limit,
    f.ProgressStalled: _stalled,
    f.RunEnded: _ended,
}
