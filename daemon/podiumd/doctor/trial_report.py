"""A trial of an agent, as lines for people and as data for programs."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Final

import msgspec

from podiumd.core.analysis.capability_words import CAPABILITIES
from podiumd.doctor.trial import Result, Trial
from podiumd.drivers.free_cases import OPENING
from podiumd.observe.redaction import escape

_SIGNS: Final = {"passed": "ok", "excused": "-", "failed": "failed", "unplayed": "?"}
_MOST_LISTED: Final = 12
_COLUMN: Final = 11


def line(result: Result, agent: str) -> str:
    """Render what came of a case in a line; one that was not played needs none.

    Where no session opens the line says so of the ``agent``, with what to do.
    """
    if result.verdict == "unplayed":
        return ""
    if result.number == OPENING and result.verdict == "failed":
        why = re.sub(rf"\A{re.escape(agent)} is ", "it is ", result.why, flags=re.IGNORECASE)
        said, _, remedy = why.rstrip(".").partition(": run ")
        return escape(f"{agent} cannot be tried: {said}.{f' Run {remedy}.' if remedy else ''}")
    why = f": {result.why}" if result.why else ""
    return escape(f"{_SIGNS[result.verdict]:<8}{result.words}{why}")


def head(trial: Trial, columns: int = 0) -> str:
    """Render what the agent is and what it tells of itself, a line each.

    At a terminal of so many ``columns`` (0: any) lines end between words.
    """
    told = trial.greeting
    rows = [("agent", f"{trial.agent} ({trial.kind})"), ("command", " ".join(trial.command))]
    if told is not None:
        rows += [
            ("version", told.version),
            ("mode", told.mode),
            ("modes", _some(told.modes)),
            ("model", told.model),
            ("models", _some(told.models)),
            ("logs in by", _some(told.logins)),
        ]
    if trial.seconds is not None:
        rows.append(("a session", f"opened and ended in {trial.seconds:.1f} s"))
    can = [*_abilities(trial)]
    rows.append(("can", "; ".join(can)))
    rows += [("leaves", one) for one in trial.leaves]
    if trial.to_set:
        wanted = "the one of its modes in which it asks before it uses a tool"
        rows.append(("to set", f"[agents.{trial.agent}] {trial.to_set}: {wanted}"))
    lines = [escape(f"{name:<{_COLUMN}}{words}") for name, words in rows if words]
    return "\n".join(part for line in lines for part in _wrapped(line, columns))


def _wrapped(line: str, columns: int) -> list[str]:
    if not columns:
        return [line]
    return textwrap.wrap(
        line,
        columns,
        subsequent_indent=" " * _COLUMN,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def foot(trial: Trial) -> str:
    """Render the end in a sentence."""
    if not trial.cases:
        return "It is a part of Podium: nothing was begun."
    counted = dict.fromkeys(_SIGNS, 0)
    for one in trial.cases:
        counted[one.verdict] += 1
    words = f"{counted['passed']} of {len(trial.cases)} cases passed"
    more = [f"{number} {name}" for name, number in counted.items() if number and name != "passed"]
    return ", ".join([words, *more]) + ". No prompt was sent."


def document(trial: Trial) -> dict[str, Any]:
    """Build the trial for programs."""
    found: dict[str, Any] = msgspec.to_builtins(trial)
    return {"ok": trial.passed, **found}


def _abilities(trial: Trial) -> list[str]:
    found = []
    for name, words in CAPABILITIES.items():
        value = getattr(trial.capabilities, name)
        if value is True:
            found.append(words)
        elif value and value != "none":
            found.append(f"{words} {value if isinstance(value, str) else _some(value)}")
    return found


def _some(words: tuple[str, ...]) -> str:
    more = f", and {len(words) - _MOST_LISTED} more" if len(words) > _MOST_LISTED else ""
    return ", ".join(words[:_MOST_LISTED]) + more
