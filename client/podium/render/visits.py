"""One visit to a step of a run, as it is shown: turns, checks, questions, times and cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from podium import text

Json = dict[str, Any]

MOST_CALLS = 200
"""Calls of tools that are kept of one turn."""


@dataclass
class Turn:
    """One prompt and what came of it. ``seconds`` is work only; ``fault`` is what was wrong with
    the outcome of the reply, ``read`` the outcome that its text was read as; ``calls`` are the
    first of the tools that the agent called."""

    turn_id: str
    purpose: str
    attempt: int
    agent: str
    model: str | None
    prompt: str
    began_at: str
    ended_at: str | None = None
    seconds: float = 0.0
    cost_usd: float = 0.0
    end: str | None = None
    detail: str = ""
    text: str = ""
    fault: Json | None = None
    read: str | None = None
    calls: list[str] = field(default_factory=list)
    more_calls: int = 0

    def called(self, said: str) -> None:
        """Take one more call of a tool."""
        if len(self.calls) < MOST_CALLS:
            self.calls.append(said)
        else:
            self.more_calls += 1


@dataclass
class Command:
    """A check of a step, or the command that is the step. ``passed`` is ``None`` while it runs."""

    kind: str
    run: list[str]
    began_at: str
    ended_at: str | None = None
    passed: bool | None = None
    exit_status: int | None = None
    seconds: float = 0.0
    tail: str = ""
    log: str = ""


@dataclass
class Still:
    """A time in which the run stood still: ``paused`` or ``parked``."""

    kind: str
    why: str
    began_at: str
    ended_at: str | None = None


@dataclass
class Note:
    """Something that happened on the way: a message to the agent, a limit."""

    at: str
    kind: str
    text: str


@dataclass
class Step:
    """One visit to a step. ``number`` counts the visits of the run, ``restart`` its restarts;
    ``outcome`` is ``None`` until an edge was taken."""

    number: int
    restart: int
    step: str
    visit: int
    session_id: str
    began_at: str
    ended_at: str | None = None
    outcome: str | None = None
    source: str | None = None
    repaired: bool = False
    attempts: int = 0
    description: str | None = None
    to: str | None = None
    exit: str | None = None
    returned: bool = False
    turns: list[Turn] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    questions: list[Json] = field(default_factory=list)
    stills: list[Still] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def work_seconds(self) -> float:
        """Time of turns, checks and commands, as the limits count it."""
        turns = sum(turn.seconds for turn in self.turns)
        return turns + sum(command.seconds for command in self.commands)

    @property
    def cost_usd(self) -> float:
        """What the turns of this visit cost."""
        return sum(turn.cost_usd for turn in self.turns)

    def waited_seconds(self, until: float) -> float:
        """How long a person was waited for; what is still open counts up to ``until`` (epoch)."""
        spans = [(one["opened_at"], one["closed_at"]) for one in self.questions]
        return _covered(spans, until)

    def still_seconds(self, until: float) -> float:
        """How long the run was paused or parked, counted likewise."""
        return _covered([(still.began_at, still.ended_at) for still in self.stills], until)

    def failed_checks(self) -> int:
        """How many checks and commands did not pass."""
        return sum(one.passed is False for one in self.commands)


def _covered(spans: Iterable[tuple[str, str | None]], until: float) -> float:
    """Seconds that at least one of the spans covers."""
    known = [(text.epoch(began), text.epoch(ended)) for began, ended in spans]
    total, reached = 0.0, float("-inf")
    for began, ended in sorted((a, until if b is None else b) for a, b in known if a is not None):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total
