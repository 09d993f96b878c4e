"""The rules for what may be thrown away, and when: client tokens, files of old turns, old runs."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import trio

from podiumd.core.times import wire_time
from podiumd.runtime.context import Context
from podiumd.runtime.fact_reader import turn_ids
from podiumd.runtime.worktrees.listing import Sizes
from podiumd.store.errors import StoreError
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.delete import delete_tree

TOKENS_KEPT = timedelta(hours=24)
DAY_SECONDS = 24 * 60 * 60.0
RUNS_AT_ONCE = 25
"""Runs forgotten in one transaction: no caller waits long behind it."""

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
            await forget_runs(context, context.clock.wall() - timedelta(days=kept.runs_days))
    for name in ("turns", "checks"):
        found = [path for path, _ in await over(context, name, in_use)]
        await trio.to_thread.run_sync(remove, found)
    await remove_images(context, in_use)


async def remove_images(context: Context, in_use: InUse) -> None:
    """Remove the copies of images whose prompt is over, a day after they were made: what is being
    copied just now has no run yet."""
    before = context.clock.wall().timestamp() - DAY_SECONDS
    found = await trio.to_thread.run_sync(_older, context.state / "images", before)
    _, runs = in_use()
    await trio.to_thread.run_sync(remove, [path for path in found if path.name not in runs])


def _older(directory: Path, before: float) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if _changed_at(path) < before]
    except OSError:  # mostly there is none
        return []


async def over(context: Context, name: str, in_use: InUse) -> list[tuple[Path, int]]:
    """List what failed runs have left in ``turns`` or ``checks`` beyond what is kept.

    Returns with each its bytes; nothing that is in use is listed.
    """
    kept = context.retention()
    bounds = {
        "turns": (kept.failed_turns, kept.failed_megabytes * 1024 * 1024),
        "checks": (kept.failed_checks, kept.failed_megabytes * 1024 * 1024),
    }
    try:
        found = await trio.to_thread.run_sync(_listed, context.state / name)
    except OSError as error:  # what is left lying costs room, and no run
        place = str(context.state / name)
        context.log("Not tidied", "warning", directory=place, reason=error.strerror)
        return []
    # Asked only now: what begins from here on is not among those found.
    busy = frozenset().union(*in_use())
    left = [(path, size) for path, size in found if path.name not in busy]
    most, room = bounds[name]
    total = itertools.accumulate(size for _, size in left)
    keep = sum(1 for number, size in enumerate(total) if number < most and size <= room)
    return left[keep:]


async def daily(tidies: Callable[[], Awaitable[None]]) -> None:
    """Tidy now and once a day, until cancelled."""
    while True:
        await tidies()
        await trio.sleep(DAY_SECONDS)


async def forget_runs(context: Context, before: datetime) -> int:
    """Forget runs that ended before a time, some at once; returns how many.

    Their files go first, so that none is left nameless. Cut off anywhere, it goes on the next time
    where it was.
    """
    count = 0
    try:
        while due := await context.store.runs_ended_before(wire_time(before), RUNS_AT_ONCE):
            began = context.clock.mono()
            turns = await turn_ids(context.store, *due)
            checks = [context.state / "checks" / run_id for run_id in due]
            places = [*map(context.turn_directory, turns), *checks]
            await trio.to_thread.run_sync(remove, places)
            failpoint("forget.after-files")
            await context.store.forget_runs(due)
            count += len(due)
            failpoint("forget.after-batch")
            await _rest(REST * (context.clock.mono() - began))
    finally:
        if count:
            context.log("Old runs forgotten", count=count, ended_before=wire_time(before))
    return count


async def _rest(seconds: float) -> None:
    await trio.sleep(seconds)


def _listed(directory: Path) -> list[tuple[Path, int]]:
    """List a directory, the newest first, and the bytes of each."""
    try:
        found = sorted(directory.iterdir(), key=_changed_at, reverse=True)
    except FileNotFoundError:
        return []
    sizes = Sizes()
    return [(path, sizes.of(path, lambda: None) or 0) for path in found]


def remove(paths: Iterable[Path]) -> None:
    """Remove files, and directories with all that is in them; what cannot be stays. Blocks."""
    for path in paths:
        with suppress(OSError):
            delete_tree(str(path), lambda: None)


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # its run has just ended and removed it
        return 0.0
