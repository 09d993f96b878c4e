"""An event in the daemon: typed for who reads it here, written once for all who follow."""

from __future__ import annotations

from typing import Final, get_args

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from podiumd.core.prompts import prompts
from podiumd.core.recipe.model import Recipe
from podiumd.core.recipe.naming import run_name
from podiumd.core.reply.visible_text import Speaking
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.fold import evolve
from podiumd.wire import events
from podiumd.wire.event_data import (
    FOR_RECOVERY,
    Asked,
    Begun,
    Ended,
    Instead,
    Look,
    Looked,
    Replied,
)
from podiumd.wire.events import Snapshot, TurnOutput
from podiumd.wire.fields import JsonObject
from podiumd.wire.questions import Choice
from podiumd.wire.runs import Run

OUTPUT: Final = "turn.output"
SNAPSHOT: Final = "snapshot"
RUN_ENDED: Final = "run.ended"
RUN_RENAMED: Final = "run.renamed"
TYPES: Final = (*sorted(map(f.tag_of, get_args(f.AnyFact))), SNAPSHOT, OUTPUT)
"""Every type of an event: that of each fact, then the transient ones."""

Happened = f.AnyFact | TurnOutput | Snapshot
"""Content of an event: a fact, or what is transient."""

_encode = msgspec.json.Encoder().encode


class Event:
    """An event that many clients get: it must not be changed.

    ``seq`` and ``pos`` are 0 where it is transient. ``run``: how a run has ended; ``None`` where
    that cannot be read any more, and for all other events.
    """

    __slots__ = ("_written", "at", "fact", "pos", "run", "run_id", "seq", "session_id", "type")
    _written: bytes

    def __init__(
        self,
        fact: Happened,
        *,
        at: str,
        run_id: str,
        session_id: str | None,
        seq: int = 0,
        pos: int = 0,
        run: Run | None = None,
    ) -> None:
        self.fact = fact
        self.type = _type_of(fact)
        self.at = at
        self.run_id = run_id
        self.session_id = session_id
        self.seq = seq
        self.pos = pos
        self.run = run

    @property
    def written(self) -> bytes:
        """Return the event as JSON. Raises TypeError or ValueError for what JSON cannot say."""
        try:
            return self._written
        except AttributeError:
            self._written = _encode(self._public())
            return self._written

    def _public(self) -> events.Event:
        fact = self.fact
        return events.Event(
            seq=self.seq or UNSET,
            pos=self.pos or UNSET,
            type=self.type,
            at=self.at,
            run_id=self.run_id,
            session_id=self.session_id,
            data=fact if isinstance(fact, TurnOutput | Snapshot) else data_of(fact, self.run),
        )


def _type_of(fact: Happened) -> str:
    match fact:
        case TurnOutput():
            return OUTPUT
        case Snapshot():
            return SNAPSHOT
        case _:
            return f.type_of(fact)


def data_of(fact: f.AnyFact, run: Run | None = None) -> JsonObject:
    """Return the public ``data`` of a fact's event, as ``wire.event_data`` declares it, ready to
    be encoded; ``run`` for ``run.ended``."""
    data = asdict(fact)
    for internal in FOR_RECOVERY:
        data.pop(internal, None)
    instead = _instead(fact, run)
    return data if instead is None else data | asdict(instead)


def _instead(fact: f.AnyFact, run: Run | None) -> Instead | None:
    match fact:
        case f.RunStarted():
            return begun(fact)
        case f.QuestionOpened():
            return Asked(choices=tuple(Choice(id=one, label=label) for one, label in fact.choices))
        case f.TreeSeen():
            return Looked(look=_look(fact.look))
        case lf.ReplyReceived():
            speaking = Speaking()
            said = speaking.feed(fact.text) + speaking.end()
            return Replied(actions=tuple(one.name for one in fact.actions), said=said)
        case f.RunEnded():
            return Ended(run=run)
        case _:
            return None  # the fact is the event


def _look(look: f.TreeLook) -> Look:
    return Look(
        repository=look.repository,
        head=look.head,
        commits=look.commits,
        uncommitted=tuple(sorted(look.uncommitted)),
        more=look.more,
        problem=look.problem,
    )


def begun(fact: f.RunStarted) -> Begun:
    """Return the public recipe, script and name of a run."""
    recipe = fact.recipe
    return Begun(
        recipe=recipe.id if recipe is not None else None,
        script=fact.script.file if fact.script is not None else None,
        name=run_name(recipe, fact.params, fact.text),
        label=recipe.label if recipe is not None else None,
        first_prompt=fact.text if recipe is None else _first_prompt(fact, recipe),
    )


def _first_prompt(fact: f.RunStarted, recipe: Recipe) -> str:
    """Return the text that the run begins with, its values filled in."""
    return prompts.fill_known(evolve(None, fact, ""), recipe.first_prompt).strip()
