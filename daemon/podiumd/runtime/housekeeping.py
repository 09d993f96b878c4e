"""What may be thrown away: client tokens after a day, the files of turns long over."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import trio

from podiumd.runtime.clock import wire_time
from podiumd.runtime.context import Context
from podiumd.store.errors import StoreError

TOKENS_KEPT = timedelta(hours=24)
DIRECTORIES_KEPT = 32
"""Of runs that ended in an error the spools and check logs are kept, as many as this."""


async def forget_old_tokens(context: Context) -> None:
    """Forget client tokens that are older than the contract keeps them."""
    await context.store.prune_tokens(wire_time(context.clock.wall() - TOKENS_KEPT))


async def tidy(context: Context, open_turns: Collection[str], open_runs: Collection[str]) -> None:
    """Remove what old turns and checks left, but for the newest and for what is still in use."""
    with suppress(StoreError):  # a full disk is no reason not to start
        await forget_old_tokens(context)
    await trio.to_thread.run_sync(_thin_out, context.state / "turns", frozenset(open_turns))
    await trio.to_thread.run_sync(_thin_out, context.state / "checks", frozenset(open_runs))


def _thin_out(directory: Path, in_use: frozenset[str]) -> None:
    try:
        found = [path for path in directory.iterdir() if path.name not in in_use]
    except FileNotFoundError:
        return
    found.sort(key=_changed_at, reverse=True)
    for path in found[DIRECTORIES_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # its run has just ended and removed it
        return 0.0
