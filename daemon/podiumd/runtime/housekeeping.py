"""What may be thrown away, and when: client tokens, the files of turns long over, old runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import trio

from podiumd.core.times import wire_time
from podiumd.runtime.context import Context
from podiumd.runtime.loading import turn_ids
from podiumd.store.errors import StoreError
from podiumd.tools.failpoints import failpoint

TOKENS_KEPT = timedelta(hours=24)
DAY_SECONDS = 24 * 60 * 60.0
RUNS_AT_ONCE = 25
"""Runs forgotten in one transaction: nobody waits long behind it."""

REST = 3.0
"""How much longer than at work forgetting rests: others have the disk and the processor."""

InUse = Callable[[], tuple[Collection[str], Collection[str]]]
"""The turns and the runs that are open."""


def kept_since(context: Context) -> str:
    """Client tokens that were stored before this time are not known any more."""
    return wire_time(context.clock.wall() - TOKENS_KEPT)


async def forget_old_tokens(context: Context) -> None:
    """Forget client tokens that are older than the contract keeps them."""
    await context.store.prune_tokens(kept_since(context))


async def tidy(context: Context, in_use: InUse) -> None:
    """Remove what is older, or more, than ``[retention]`` keeps, but nothing that is in use."""
    kept = context.retention()
    with suppress(StoreError):  # a full disk is no reason to end
        await forget_old_tokens(context)
        if kept.runs_days:
            await _forget_runs(context, context.clock.wall() - timedelta(days=kept.runs_days))
    for name, most in (("turns", kept.failed_turns), ("checks", kept.failed_checks)):
        try:
            found = await trio.to_thread.run_sync(_listed, context.state / name)
        except OSError as error:  # what is left lying costs room, and no run
            place = str(context.state / name)
            context.log("Not tidied", "warning", directory=place, reason=error.strerror)
            continue
        # Asked only now: what begins from here on is not among those found.
        busy = frozenset().union(*in_use())
        over = [path for path in found if path.name not in busy]
        await trio.to_thread.run_sync(_remove, over[most:])


async def tidy_daily(context: Context, in_use: InUse) -> None:
    """Tidy now and once a day, until cancelled."""
    while True:
        await tidy(context, in_use)
        await trio.sleep(DAY_SECONDS)


async def _forget_runs(context: Context, before: datetime) -> None:
    """Forget runs that ended before a time, some at once: their files first, so that none is left
    nameless. Cut off anywhere, it goes on the next time where it was."""
    count = 0
    try:
        while due := await context.store.runs_ended_before(wire_time(before), RUNS_AT_ONCE):
            began = context.clock.mono()
            turns = await turn_ids(context.store, *due)
            checks = [context.state / "checks" / run_id for run_id in due]
            places = [*map(context.turn_directory, turns), *checks]
            await trio.to_thread.run_sync(_remove, places)
            failpoint("forget.after-files")
            await context.store.forget_runs(due)
            count += len(due)
            failpoint("forget.after-batch")
            await trio.sleep(REST * (context.clock.mono() - began))
    finally:
        if count:
            context.log("Old runs forgotten", count=count, ended_before=wire_time(before))


def _listed(directory: Path) -> list[Path]:
    """What is in a directory, the newest first."""
    try:
        return sorted(directory.iterdir(), key=_changed_at, reverse=True)
    except FileNotFoundError:
        return []


def _remove(directories: Iterable[Path]) -> None:
    for path in directories:
        shutil.rmtree(path, ignore_errors=True)


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # its run has just ended and removed it
        return 0.0
