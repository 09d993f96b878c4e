"""``[notify] command``: a program of the person's own is told what needs them, or is over.

It gets the event as one line of JSON on its standard input. What was told is stored after the
program has ended, so a daemon that is killed meanwhile tells it again: at least once, never not.
A program that fails is not tried again: that stands in the log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from typing import IO, Final, Protocol

import trio

from podiumd.core.run import facts as f
from podiumd.runtime.context import Context
from podiumd.runtime.events.feeds import GlobalFeed
from podiumd.store.errors import StoreError
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process.run_command import run_command
from podiumd.wire.event import Event

TYPES: Final = frozenset({"question.opened", "run.parked", "run.ended", "tool.used"})
"""Of the tools that agents use, ``notify`` alone is news."""

SECONDS: Final = 30.0
"""How long the program may take; it is ended then."""

NEWS_FOR: Final = timedelta(days=1)
"""What is older is news no more: the daemon was away, or nobody wanted to be told."""

_SETTING: Final = "notify.told"
_OUTPUT_BYTES: Final = 64 * 1024


class Events(Protocol):
    """Where events come from (``runtime.service.Service``)."""

    def subscribe(
        self, types: frozenset[str] | None, after: int | None
    ) -> AbstractAsyncContextManager[GlobalFeed]: ...


async def notify(
    context: Context,
    events: Events,
    command: Callable[[], tuple[str, ...]],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Tell the program that ``command`` names at that moment, until the daemon stops.

    Started once everything that is stored from there on will be told.
    Where the store cannot be used any more it tells no more, and says so in the log.
    """
    try:
        async with events.subscribe(TYPES, await _told(context, command())) as feed:
            task_status.started()
            async for event in feed:
                argv = command()
                if argv:
                    await _see_to(context, argv, event)
    except StoreError as error:
        context.log("Notifications end", "error", reason=str(error))


async def _see_to(context: Context, argv: tuple[str, ...], event: Event) -> None:
    if isinstance(event.fact, f.ToolUsed) and not _notifies(event.fact):
        return  # many a one: not each is worth a note of how far everything was told
    if _is_news(event, context.clock.wall()):
        await _tell(context, argv, event)
    with suppress(StoreError):  # the disk is full: the next daemon may tell it once more
        await context.store.set_setting(_SETTING, b"%d" % event.pos)


async def _told(context: Context, argv: tuple[str, ...]) -> int:
    """Up to where everything was told. Who has just asked to be told hears what comes now."""
    store = context.store
    if argv and (stored := await store.setting(_SETTING)) is not None:
        return int(stored)
    last = await store.last_pos()
    if argv:  # kept, or a daemon that is killed at its first news would forget it
        await store.set_setting(_SETTING, b"%d" % last)
    return last


def _is_news(event: Event, now: datetime) -> bool:
    if datetime.fromisoformat(event.at) < now - NEWS_FOR:
        return False
    # Who sends a prompt waits for its end, and sees it.
    return event.run is None or event.run.kind == "recipe"


def _notifies(used: f.ToolUsed) -> bool:
    return used.tool == "notify" and used.success


async def _tell(context: Context, argv: tuple[str, ...], event: Event) -> None:
    failpoint("notify.before-run")
    try:
        with tempfile.TemporaryFile() as line:
            _write(line, event)
            result = await run_command(
                argv,
                cwd="/",
                environment=context.command_environment(""),
                marker_env={},
                output_cap_bytes=_OUTPUT_BYTES,
                log_file=context.state / "notify.log",
                limit_seconds=SECONDS,
                stdin=line,
            )
    except OSError as error:
        context.log("Notification failed", "warning", type=event.type, reason=str(error))
        return
    failpoint("notify.after-run")
    if result.exit_status != 0:
        context.log(
            "Notification failed",
            "warning",
            run_id=event.run_id,
            type=event.type,
            reason=result.message or f"the command ended with status {result.exit_status}",
            output=result.tail[-500:],
        )


def _write(file: IO[bytes], event: Event) -> None:
    file.write(event.written + b"\n")
    file.seek(0)
