"""Take up every run that had not ended where it was: each is folded from its facts at a start.

Nothing is repeated blindly. A look shows what became of a pending turn:

    found     and                                 then
    --------  ----------------------------------  ---------------------------------------------
    running                                       it is taken up where it is
    finished                                      its report is judged
    broken                                        its report is judged: it goes on by itself some
                                                  times, then a person is asked
    absent    its session or tree is another's,   it counts as broken
              or the run's log is damaged
    absent    nothing speaks against it           the same prompt is sent, under the same uuid

Where looking cannot show it, a person is asked.
"""

from __future__ import annotations

from collections.abc import Callable

import trio
from msgspec.structs import replace

from podiumd.core.decide import plain_steps
from podiumd.core.run import commands as c
from podiumd.drivers.base import Driver, TurnStatus
from podiumd.runtime.locks.leases import Lease
from podiumd.runtime.locks.lockfile import LeaseError
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.command_runner import end_leftovers
from podiumd.runtime.run.observe import acquire_tree
from podiumd.runtime.run.pending_turn import pending_turn, with_report
from podiumd.tools.failpoints import failpoint
from podiumd.tools.git.queries import GitError

LOOK_AGAIN_SECONDS = 0.02
LOOK_AGAIN_TIMES = 500

SESSION_TAKEN = "somebody else has its session"
TREE_TAKEN = "somebody else has its working tree"


async def settle(
    actor: RunActor, count_taken_up: Callable[[], None], damaged: str = ""
) -> TurnStatus | None:
    """Find out what became of the turn that was pending; ``None`` if it can simply be run.

    ``damaged`` is what cannot be read of the run's log.
    """
    intent = actor.state.turn.intent if actor.state.turn is not None else None
    if intent is None:
        return None
    failpoint("recovery.before-settle")
    agent = actor.context.agents.get(intent.agent)
    if agent is None:
        return with_report(
            TurnStatus(state="broken", detail="its agent is not configured any more")
        )
    lease = actor.session_locks.lease(intent.session_id)
    settled, alone = await _look(actor, agent.driver, lease)
    if settled.state == "running":
        count_taken_up()
        return settled
    failpoint("recovery.after-settle")
    if settled.state == "absent":
        against = await _against(actor, damaged) if lease is not None and alone else SESSION_TAKEN
        if not against:
            await asker_gone(actor)
            return None
        settled = replace(settled, state="broken", detail=against)
    return with_report(settled)


async def _look(actor: RunActor, driver: Driver, lease: Lease | None) -> tuple[TurnStatus, bool]:
    """Look for the turn until it is found alive, or no other process can have its session.

    While the agent lives it holds the session's lease, which it inherited. A process between fork
    and exec holds it too and carries no marker yet: so as long as the lease cannot be taken, a turn
    is never called absent, but looked for again. There is no event for a lock that falls free or a
    marker that appears, hence the short, bounded wait.
    """
    alone = lease is None or lease.held
    settled = await driver.inspect(pending_turn(actor))
    for _ in range(LOOK_AGAIN_TIMES):
        if alone or lease is None or settled.state == "running":
            break
        alone = lease.reclaim()
        if not alone:
            await trio.sleep(LOOK_AGAIN_SECONDS)
        settled = await driver.inspect(pending_turn(actor))
    return settled, alone


async def _against(actor: RunActor, damaged: str) -> str:
    """Say why a turn of which nothing reached the agent may not be begun; empty if it may."""
    if not await _has_tree(actor):
        return TREE_TAKEN
    # Its sending, or even its judgement, may stand in what cannot be read.
    return damaged


async def _has_tree(actor: RunActor) -> bool:
    """Take the working tree for a turn that was never begun. Returns whether it is the run's."""
    while True:
        await trio.lowlevel.checkpoint()
        try:
            return await acquire_tree(actor) is None
        except (GitError, LeaseError):
            return False
        except OSError as error:
            if actor.to_stop:  # it is not begun, whichever run has the tree
                return True
            await actor.wait_for_room(error)


async def asker_gone(actor: RunActor) -> None:
    """Report that the pending turn is entered once more: its earlier requests have no asker."""
    turn = actor.state.turn
    assert turn is not None
    await actor.report(c.ReportAskerGone(**actor.stamp(), turn_id=turn.intent.turn_id))


async def ask_about_damage(actor: RunActor, damaged: str) -> None:
    """Pause a run whose log is damaged with a question, once for each damage."""
    if not damaged or any(q.about == f"damage: {damaged}" for q in actor.state.questions.values()):
        return
    await actor.report(
        c.AskRecovery(
            **actor.stamp(),
            about=f"damage: {damaged}",
            text="A part of this run's log cannot be read any more. How shall it go on?",
            detail=damaged,
        )
    )


async def ask_about_command(actor: RunActor) -> None:
    """Ask before a command is run again that must not be repeated unseen, and that was cut off.

    What the crash left of it is ended first: who answers must not answer while it still works.
    Of a paused run that is asked when it goes on.
    """
    if plain_steps.cut_off_question(actor.state) is None:
        return
    ended = await end_leftovers(actor)
    state = actor.state  # a person may have ended it meanwhile
    question = plain_steps.cut_off_question(state, tuple(ended))
    if question is None or state.open_questions or state.paused or state.stop is not None:
        return
    await actor.report(
        c.AskRecovery(**actor.stamp(), about="irreversible", text=question[0], detail=question[1])
    )
