"""After a start: every run that had not ended is folded from its facts and taken up where it was.

Nothing is repeated blindly: what became of a pending turn is found out by looking, and where
looking cannot tell, a person is asked.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import trio

from podiumd.core import commands as c
from podiumd.core import facts as f
from podiumd.core.fold import evolve
from podiumd.core.report import TurnReport
from podiumd.core.state import RunState
from podiumd.drivers.base import Settled
from podiumd.runtime.actor import RunActor
from podiumd.runtime.turn_task import pending_turn
from podiumd.store.errors import RunUnreadable
from podiumd.store.facts import Store
from podiumd.store.records import StoredFact
from podiumd.tools.failpoints import failpoint

LOOK_AGAIN_SECONDS = 0.02
LOOK_AGAIN_TIMES = 500


class Loaded(msgspec.Struct, frozen=True):
    """A run as far as its log can be read. ``damaged``: what could not be, in words."""

    state: RunState
    damaged: str = ""


async def load(store: Store, run_id: str) -> Loaded | None:
    """Fold a run from the store; ``None`` when not even its beginning can be read."""
    stored, damaged = await _read(store, run_id)
    state: RunState | None = None
    for row in stored:
        try:
            state = evolve(state, f.decode(bytes(row.data)), row.at)
        except (AssertionError, KeyError, msgspec.ValidationError):
            if state is None:
                return None
            damaged.append(f"fact {row.seq} does not follow from what can be read")
            break
    return None if state is None else Loaded(state, "; ".join(damaged))


async def _read(store: Store, run_id: str) -> tuple[list[StoredFact], list[str]]:
    """All facts of a run that can be read, and what is wrong with the others."""
    facts: list[StoredFact] = []
    damaged: list[str] = []
    after = 0
    while True:
        try:
            facts += await store.events(run_id, after)
        except RunUnreadable as error:
            facts += error.prefix
            damaged.append(f"fact {error.seq} {error.reason}")
            after = error.seq
        else:
            return facts, damaged


async def settle(actor: RunActor, count_taken_up: Callable[[], None]) -> Settled | None:
    """Find out what became of the turn that was pending; ``None`` if it can simply be run.

    While the agent lives it holds the session's lease, which it inherited. A process between
    fork and exec holds it too and carries no marker yet: so as long as the lease cannot be taken,
    a turn is never called absent, but looked for again. There is no event for a lock that falls
    free or a marker that appears, hence the short, bounded wait.
    """
    intent = actor.state.turn.intent if actor.state.turn is not None else None
    if intent is None:
        return None
    failpoint("recovery.before-settle")
    driver = actor.context.agents[intent.agent].driver
    lease = actor.desk.lease(intent.session_id)
    held = lease is None or lease.held
    settled = await driver.settle(pending_turn(actor))
    for _ in range(LOOK_AGAIN_TIMES):
        if settled.state == "running":
            count_taken_up()
            return settled
        if held:
            break
        held = lease is not None and lease.reclaim()
        if not held:
            await trio.sleep(LOOK_AGAIN_SECONDS)
        settled = await driver.settle(pending_turn(actor))
    failpoint("recovery.after-settle")
    if settled.state == "absent":
        return None
    return settled if settled.report is not None else _with_report(settled)


def _with_report(settled: Settled) -> Settled:
    report = TurnReport(
        kind="broken",
        detail=settled.detail,
        prompt_recorded=settled.prompt_recorded,
        tool_begun=settled.tool_begun,
    )
    return msgspec.structs.replace(settled, report=report)


async def ask_about_damage(actor: RunActor, damaged: str) -> None:
    """Pause a run whose log is damaged with a question, once for each damage."""
    if not damaged or any(q.about == f"damage: {damaged}" for q in actor.state.questions.values()):
        return
    at, mono = actor.stamp()
    ask = c.AskRecovery(
        at=at,
        mono=mono,
        about=f"damage: {damaged}",
        text="A part of this run's log cannot be read any more. How shall it go on?",
        detail=damaged,
    )
    await actor.report(ask)
