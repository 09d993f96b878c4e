"""``[notify] command``: a program of the person's own that is called when a run needs them, or is
over.

It gets the event as one line of JSON on its standard input. The position is stored after the
program has ended, so a daemon that is killed meanwhile calls it again: at least once, never not. A
program that fails is not tried again: the log has that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from typing import IO, Final, Protocol

import trio

from podiumd.core.excerpt import end
from podiumd.core.run import facts as f
from podiumd.runtime.context import Context
from podiumd.runtime.events.feeds import GlobalFeed
from podiumd.store.errors import StoreError
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process.run_command import run_command
from podiumd.wire.event import Event

TYPES: Final = frozenset({"question.opened", "run.parked", "run.ended", "tool.used"})
"""Events that are news; of the tools that agents use, ``notify`` alone is."""

SECONDS: Final = 30.0
"""How long the program may take; it is ended then."""

NEWS_FOR: Final = timedelta(days=1)
"""Age up to which an event is news: with an older one the daemon was away, or no program was
set."""

_SETTING: Final = "notify.told"
_OUTPUT_BYTES: Final = 64 * 1024


class Events(Protocol):
    """Source of events (``runtime.service.Service``)."""

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
    """Call the program that ``command`` names at that moment, until the daemon stops.

    Started once every event that is stored from there on will be sent. Where the store cannot be
    used any more it sends no more, and logs that.
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
        return  # frequent: not each is worth a note of how far events were sent
    if _is_news(event, context.clock.wall()):
        await _tell(context, argv, event)
    with suppress(StoreError):  # the disk is full: the next daemon may send it once more
        await context.store.set_setting(_SETTING, b"%d" % event.pos)


async def _told(context: Context, argv: tuple[str, ...]) -> int:
    """Return up to where everything was sent; a new command gets events from now on."""
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
    # The sender of a prompt waits for its end, and sees it.
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
            output=end(result.tail, 500),
        )


def _write(file: IO[bytes], event: Event) -> None:
    file.write(event.written + b"\n")
    file.seek(0)
