"""The worktree of a run that is over and never had one: what git left of it is removed.

A run may be cancelled, or its git killed, while its worktree is being made. What is left is cleared
when the run ends; where the daemon ended first, by the next one at its start. A worktree that was
made is never touched: it is the person's.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import trio

from podiumd.core.run import facts as f
from podiumd.runtime.context import Context
from podiumd.runtime.fact_reader import facts_of
from podiumd.runtime.worktrees.listing import places, run_of
from podiumd.store.errors import StoreError
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.worktree_remains import clear, forget_branch, is_unfinished
from podiumd.tools.process.processes import sweep

CLEAR_SECONDS = 60.0
"""How long git may take over one; what is left then is for the next start."""


def marker_of(run_id: str) -> str:
    """Return the marker of the git that makes a run's worktree."""
    return f"worktree-{run_id}"


async def clear_after(context: Context, run_id: str, plan: f.Worktree) -> None:
    """Remove what is left of the worktree that a run, which is over, was to work in.

    A worktree that git has finished stays. Another that cannot be removed, or holds other files,
    stays too, and the log has the reason.
    """
    there = await trio.to_thread.run_sync(os.path.lexists, plan.directory)
    if there and not await trio.to_thread.run_sync(is_unfinished, plan.directory):
        return
    await sweep(marker_of(run_id))  # of a daemon that was killed git may be at it still
    kept = f"git did not answer within {CLEAR_SECONDS:g} s"
    with trio.move_on_after(CLEAR_SECONDS):
        try:
            if await _was_made(context, run_id):
                return
            kept = await clear(plan.repository, plan.directory, plan.branch)
            if not kept:
                await forget_branch(plan.repository, plan.branch)
        except (GitError, StoreError, OSError) as error:
            kept = str(error)
    if kept:
        where = {"directory": plan.directory, "reason": kept}
        context.log("Unfinished worktree kept", "warning", run_id=run_id, **where)
    elif there:
        context.log("Unfinished worktree removed", run_id=run_id, directory=plan.directory)


async def clear_earlier(context: Context, open_runs: Collection[str]) -> None:
    """Do so for every run that ended before this daemon began, except ``open_runs``."""
    for place in await trio.to_thread.run_sync(_unfinished, context.state):
        try:
            known = await run_of(context, place)
        except StoreError:  # the next start looks again
            return
        if known is not None and known[0].ended_at is not None and known[0].run_id not in open_runs:
            await clear_after(context, known[0].run_id, known[1])


async def _was_made(context: Context, run_id: str) -> bool:
    return any(
        isinstance(fact, f.EffectEnded) and (fact.effect, fact.state) == ("worktree", "made")
        for fact in await facts_of(context.store, run_id)
    )


def _unfinished(state: Path) -> list[Path]:
    return [place for place in places(state) if is_unfinished(str(place))]
