"""The turn that had a person's words, by the facts after them: nothing before them is read."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from podiumd.core.reply.report import TokensUsed
from podiumd.core.run import facts as f
from podiumd.runtime.fact_reader import summary
from podiumd.store.facts import Store
from podiumd.store.records import StoredFact
from podiumd.wire import views
from podiumd.wire.runs import Turn

_TELLING: Final = frozenset(
    {"turn.intended", "steer.intended", "effect.ended", "turn.ended", "run.ended"}
)
_WAITING: Final = ("queued", "too_late", "lost")
"""Results of words that are still to be sent to an agent."""

_AT_ONCE: Final = 16
"""Facts that are read at a time: the turn that has some words is mostly the next."""


class Words(msgspec.Struct):
    """The facts about some words of a person to a conversation; ``seq`` is of the words.

    ``turn_id`` is the turn that has them, ``steered`` into it while it ran; ``into`` is the one
    that they were meant for. ``waits``: no agent has taken them. ``over``: that turn has ended, or
    the run has; ``end`` is the last end of a turn that had them.
    """

    seq: int
    session_id: str | None
    into: str | None = None
    turn_id: str | None = None
    steered: bool = False
    waits: bool = True
    over: bool = False
    end: StoredFact | None = None


async def find(store: Store, run_id: str, name: str, since: Words | None = None) -> Words | None:
    """Find what became of the words with this uuid; ``None`` if no conversation received them.

    ``since``: what was found before, so that they need not be looked for again.
    """
    if since is None:
        heard = await store.last_event(run_id, "message.received", _field("uuid", name))
        if heard is None:
            return None
        since = Words(heard.seq, heard.session_id)
    found = Words(since.seq, since.session_id)
    seq = found.seq
    while not found.over and (page := await store.events_of(run_id, _TELLING, seq, _AT_ONCE)):
        for row in page:
            if not found.over:
                _tell(found, row, name)
        seq = page[-1].seq
    return found


def _tell(found: Words, row: StoredFact, name: str) -> None:
    """Learn from one more fact."""
    fact = f.decode(bytes(row.data))
    if isinstance(fact, f.SteerIntended) and fact.uuid == name:
        found.into = fact.turn_id
    elif isinstance(fact, f.TurnIntended) and name in fact.carried:
        found.turn_id, found.steered, found.waits = fact.turn_id, False, False
    elif isinstance(fact, f.EffectEnded) and fact.effect == f"steer:{name}":
        found.waits = fact.state in _WAITING
        if fact.state in ("delivered", "queued"):
            found.turn_id, found.steered = found.into, True
    elif isinstance(fact, f.TurnEnded) and fact.turn_id == found.turn_id:
        # Queued with the agent and not taken: they wait again.
        found.turn_id = None if found.waits else fact.turn_id
        found.over, found.end = not found.waits, row
    found.over |= isinstance(fact, f.RunEnded)
    found.session_id = row.session_id


async def turn_of(store: Store, run_id: str, found: Words) -> Turn:
    """Build the public ``turn`` that had the words; the run's last one if none had them."""
    end = found.end if found.turn_id is not None else None
    end = end or await store.last_event(run_id, "turn.ended")
    fact = None if end is None else f.decode(bytes(end.data))
    run = await store.run(run_id)
    told = None if run is None else await summary(store, run)
    turn = Turn(
        turn_id=None,
        run_id=run_id,
        session_id=found.session_id,
        status="ended",
        text="",
        outcome=None,
        exit=None if told is None else told.exit,
        files=(),
        commit=None,
        cost_usd=0.0,
        tokens=TokensUsed(),
        started_at=None,
        ended_at=None,
    )
    if end is None or not isinstance(fact, f.TurnEnded):
        return turn
    named = _field("turn_id", fact.turn_id)
    began = await store.last_event(run_id, "turn.intended", named, end.seq)
    return replace(
        turn,
        turn_id=fact.turn_id,
        session_id=end.session_id,
        text=fact.text,
        files=views.turn_files(fact.report.files),
        commit=fact.report.commit,
        cost_usd=round(fact.cost_usd, 6),
        tokens=TokensUsed().plus(fact.report.tokens),
        started_at=None if began is None else began.at,
        ended_at=end.at,
    )


async def steered(store: Store, run_id: str, name: str) -> tuple[str | None, str | None] | None:
    """Into which turn words went that were sent to a run, and what became of them if that is
    stored; ``None`` if they were not sent to it."""
    intended = await store.last_event(run_id, "steer.intended", _field("uuid", name))
    if intended is None:
        return None
    fact = f.decode(bytes(intended.data))
    assert isinstance(fact, f.SteerIntended)
    seq = intended.seq
    while page := await store.events_of(run_id, frozenset({"effect.ended"}), seq, _AT_ONCE):
        for row in page:
            ended = f.decode(bytes(row.data))
            if isinstance(ended, f.EffectEnded) and ended.effect == f"steer:{name}":
                return fact.turn_id, ended.state
        seq = page[-1].seq
    return fact.turn_id, None


def _field(name: str, value: str) -> bytes:
    """Encode a field of a fact as it is stored."""
    return b'"%s":%s' % (name.encode(), msgspec.json.encode(value))
