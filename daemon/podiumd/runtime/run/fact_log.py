"""Log facts, in the words of the public contract."""

from __future__ import annotations

from typing import Any, Final, assert_never

from podiumd.core.run import facts as f
from podiumd.core.run.state import RunState
from podiumd.runtime.context import Level, LogEvent

Lines = list[tuple[str, Level, dict[str, Any]]]

_ENDINGS: Final[dict[str, tuple[str, Level]]] = {
    "completed": ("Recipe completed", "info"),
    "guardrail": ("Recipe stopped by guardrail", "warning"),
    "error": ("Recipe failed", "error"),
}


Unlogged = (
    f.QuietFact
    | f.RunStarted
    | f.TurnIntended
    | f.ToolUsed
    | f.HookEnded
    | f.CheckEnded
    | f.CommandIntended
    | f.CommandEnded
    | f.SteerIntended
    | f.AsideNoted
    | f.LoopFact
    | f.RunParked
    | f.StepEntered
    | f.TurnEnded
    | f.MessageReceived
    | f.QuestionOpened
    | f.QuestionClosed
    | f.RunPaused
    | f.RunResumed
)
"""The facts that no line of the log is of."""


def write(log: LogEvent, state: RunState, fact: f.AnyFact) -> None:
    """Log what a fact of a recipe's run means to a person, where it means anything."""
    if state.recipe is None:
        return
    for event, level, fields in _lines(fact):
        log(
            event,
            level,
            run_id=state.start.run_id,
            session_id=state.session_id,
            recipe_id=state.recipe.id,
            **{"step": state.step, **fields},
        )


def _lines(fact: f.AnyFact) -> Lines:
    if isinstance(fact, Unlogged):
        return []
    match fact:
        case f.OutcomeParsed():
            fields = {"step": fact.step, "outcome": fact.outcome, "source": fact.source}
            return [("Outcome parsed", "info", fields)]
        case f.EdgeTaken():
            return _edge(fact)
        case f.OutcomeInvalid():
            return _invalid(fact)
        case f.LimitHit():
            return [("Limit hit", "warning", {"limit": fact.limit, "count": fact.count})]
        case f.ProgressStalled():
            return _stalled(fact)
        case f.RunEnded():
            return _ended(fact)
        case _:
            assert_never(fact)


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
