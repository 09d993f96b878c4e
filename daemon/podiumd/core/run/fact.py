"""The base of every fact, and the move that a run wants to make next."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from podiumd.core.reply.outcome import OutcomeError

Purpose = Literal["step", "opening", "say", "retry", "again", "go-on", "interrupted", "prompt"]


MoveKind = Literal["worktree", "enter", "turn", "check", "command", "run", "look", "gate", "hook"]


class Move(msgspec.Struct, frozen=True, omit_defaults=True):
    """The move that the run wants to make next.

    ``worktree``: make the run's working tree. ``enter``: enter ``step``. ``turn``: send a prompt
    for ``purpose``. ``check``: run check number ``index`` of the current step. ``command``: decide
    to run the current step's command; ``run``: run it, or find out whether it ran. ``look``: see
    whether the working tree is as the claim says that the step has ended with. ``gate``: wait for
    the answer to the current step's question. ``hook``: run hook number ``index`` of those that the
    current conversation has for the end of a turn. A ``retry`` carries what was wrong with the last
    reply (``fault``); ``go-on`` and ``interrupted`` the prompt that the agent's record lacks
    (``original``, else empty).
    """

    kind: MoveKind
    step: str = ""
    purpose: Purpose = "step"
    index: int = 0
    fault: OutcomeError | None = None
    original: str = ""


class RunScript(msgspec.Struct, frozen=True):
    """The turns that the scripted agent plays in one run, and the file that they came from."""

    file: str
    turns: tuple[dict[str, Any], ...]


class RunImage(msgspec.Struct, frozen=True):
    """An image of a prompt: the person's ``file``, and the ``name`` of the copy that is sent."""

    file: str
    name: str
    media_type: str
    size: int


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all facts."""

    next: Move | None = None


class TurnFact(Fact, frozen=True, kw_only=True):
    """Base of the facts about a turn of an agent, seen from outside of it."""


class StepFact(Fact, frozen=True, kw_only=True):
    """Base of the facts about a step of the recipe: its work, its outcome, where that leads."""


class PersonFact(Fact, frozen=True, kw_only=True):
    """Base of the facts about what a person is asked and says, and what comes of that."""


class RunFact(Fact, frozen=True, kw_only=True):
    """Base of the facts about the run as a whole."""
