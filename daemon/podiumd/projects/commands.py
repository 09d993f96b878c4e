"""Running what a directory offers: live output, a bounded history, survival of disconnects."""

from __future__ import annotations

import logging
import signal
import subprocess
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import trio

from podiumd.core.times import wire_time
from podiumd.projects.discovery import Discovery, anywhere
from podiumd.projects.errors import (
    StorageFailed,
    TooManyCommands,
    UnknownCommand,
    UnknownRun,
)
from podiumd.projects.menu import Command, Offered
from podiumd.projects.output import MEBIBYTE, Output, Stream
from podiumd.projects.places import existing_directory, named_directory
from podiumd.projects.records import CommandRecord, Shelf, instant
from podiumd.tools.process.processes import MARKER, sweep
from podiumd.tools.process.run_command import Ending, run_into

MOST_AT_ONCE = 16
_CLEANING_SECONDS = 24 * 60 * 60.0
_NOT_STARTED = 127  # what a shell says of a program that it cannot find
_STOPPED = 128 + signal.SIGTERM
_UNSEEN = -1

log = logging.getLogger(__name__)


class CommandStarted(msgspec.Struct, frozen=True):
    """A command is stored and about to run."""

    record: CommandRecord


class CommandOutput(msgspec.Struct, frozen=True):
    """A line of a command's output, without its end."""

    command_session_id: str
    stream: Stream
    text: str


class CommandComplete(msgspec.Struct, frozen=True):
    """A command is over: its record has ``exit_code`` and ``duration_ms``."""

    record: CommandRecord


CommandEvent = CommandStarted | CommandOutput | CommandComplete


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of the history: so many runs, for so many days, and for each so much output (MiB)."""

    most: int = 1000
    days: int = 7
    output_megabytes: int = 10


@asynccontextmanager
async def open_command_book(
    directory: Path,
    *,
    environment: Callable[[str], dict[str, str]],
    tell: Callable[[CommandEvent], None],
    home: Path,
    wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    bounds: Callable[[], Bounds] = Bounds,
) -> AsyncIterator[CommandBook]:
    """Open the commands that are run for people's phones; at the end running ones are ended.

    Parameters: ``directory`` holds the history. ``environment`` makes the whole environment of a
    command from its marker. ``tell`` receives for each command its start, its lines and its end, in
    this order; it must not raise or block. ``home`` is what ``~`` stands for. ``bounds`` returns
    what is kept at this moment.

    Commands that a killed daemon left running are ended in the background and reported as complete,
    with exit code -1. Raises ``OSError`` when the history cannot be opened.
    """
    shelf = Shelf(directory)
    records = await trio.to_thread.run_sync(shelf.open)
    async with trio.open_nursery() as nursery:
        book = CommandBook(shelf, records, nursery, environment, tell, home, wall, bounds)
        for record in records:
            if record.exit_code is None:
                nursery.start_soon(book.recover, record)
        nursery.start_soon(book.clean_daily)
        try:
            yield book
        finally:
            nursery.cancel_scope.cancel()


class CommandBook:
    """Starts commands and remembers them. Made by ``open_command_book``."""

    def __init__(
        self,
        shelf: Shelf,
        records: Iterable[CommandRecord],
        nursery: trio.Nursery,
        environment: Callable[[str], dict[str, str]],
        tell: Callable[[CommandEvent], None],
        home: Path,
        wall: Callable[[], datetime],
        bounds: Callable[[], Bounds],
    ) -> None:
        self._shelf = shelf
        self._records = {one.command_session_id: one for one in records}
        self._nursery = nursery
        self._environment = environment
        self._tell = tell
        self._home = home
        self._wall = wall
        self._bounds = bounds
        self._discovery = Discovery()
        self._running = 0

    async def offer(self, directory: str) -> Offered:
        """List the commands that ``directory`` offers. Raises ``BadPlace``."""
        return await self._offer(await existing_directory(directory, self._home))

    def anywhere(self) -> Offered:
        """List the commands that every directory offers; none is looked at."""
        return anywhere(self._environment("discovery"))

    async def start(self, directory: str, command_id: str) -> CommandRecord:
        """Start a command that ``directory`` offers; its record is durable when this returns.

        The start has been reported by then, and output may have been. Raises ``BadPlace``,
        ``UnknownCommand``, ``TooManyCommands`` and ``StorageFailed``.
        """
        path = await existing_directory(directory, self._home)
        offered = await self._offer(path)
        command = offered.table.get(command_id)
        if command is None:
            raise UnknownCommand(
                f"The directory '{directory}' offers no command '{command_id}'; "
                "it may have changed, so ask for its commands again."
            )
        if self._running >= MOST_AT_ONCE:
            raise TooManyCommands(
                f"{MOST_AT_ONCE} commands are running, which is as many as may; "
                "start this one when one of them has ended."
            )
        record = CommandRecord(
            command_session_id=f"cmd-{uuid.uuid4()}",
            command_id=command_id,
            shell_command=command.shell_command,
            working_directory=str(path),
            timestamp=wire_time(self._wall()),
        )
        self._running += 1  # before the first wait: two starts must not share the last place
        try:
            fd = await self._begin(record)
        except BaseException:  # a phone may leave while its command waits for a thread
            self._running -= 1
            raise
        self._records[record.command_session_id] = record
        self._tell(CommandStarted(record))
        self._nursery.start_soon(self._run, command, record, fd)
        return record

    def history(self, directory: str | None = None, limit: int = 50) -> list[CommandRecord]:
        """List the latest runs, newest first, of one directory or of all."""
        where = None if directory is None else str(named_directory(directory, self._home))
        chosen = [
            one
            for one in reversed(self._records.values())
            if where is None or one.working_directory == where
        ]
        return chosen[: max(limit, 0)]

    async def output(self, command_session_id: str) -> tuple[CommandRecord, str]:
        """Return a run and its kept output, so far for one that runs.

        Raises ``UnknownRun`` and ``StorageFailed``.
        """
        record = self._records.get(command_session_id)
        if record is None:
            raise UnknownRun(
                f"There is no command run '{command_session_id}'; the history goes back "
                f"{self._bounds().days} days."
            )
        try:
            text = await trio.to_thread.run_sync(self._shelf.output, command_session_id)
        except OSError as error:
            raise StorageFailed(
                f"The output of the command cannot be read: {error.strerror}."
            ) from error
        return self._records.get(command_session_id, record), text

    async def recover(self, record: CommandRecord) -> None:
        """End what is left of a run that an earlier daemon started, and record its end."""
        run_id = record.command_session_id
        await sweep(run_id)
        last = await trio.to_thread.run_sync(self._shelf.last_sign, run_id)
        began = instant(record.timestamp).timestamp()
        seconds = max(last - began, 0.0) if last else 0.0
        with trio.CancelScope(shield=True):  # bounded: one small file
            await self._finish(record, _UNSEEN, seconds)

    async def clean_daily(self) -> None:
        """Forget what is older than is kept, now and each day."""
        while True:
            await self._clean()
            await trio.sleep(_CLEANING_SECONDS)

    async def _offer(self, directory: Path) -> Offered:
        return await self._discovery.offer(directory, self._environment("discovery"))

    async def _begin(self, record: CommandRecord) -> int:
        try:
            return await trio.to_thread.run_sync(self._shelf.begin, record)
        except OSError as error:
            raise StorageFailed(
                f"The command was not started, it cannot be recorded: {error.strerror}."
            ) from error

    async def _run(self, command: Command, record: CommandRecord, fd: int) -> None:
        run_id = record.command_session_id
        output = Output(
            fd,
            lambda stream, text: self._tell(CommandOutput(run_id, stream, text)),
            self._bounds().output_megabytes * MEBIBYTE,
        )
        environment = {**self._environment(run_id), MARKER: run_id}
        started = trio.current_time()
        code, words = _STOPPED, "[Podium stopped, and ended this command]"
        try:
            ending = await run_into(
                output,
                command.argv,
                cwd=record.working_directory,
                environment=environment,
                stderr=subprocess.PIPE,
            )
            code, words = _exit_code(ending), ending.message
        finally:
            with trio.CancelScope(shield=True):  # bounded: a sweep takes at most 8 s
                await sweep(run_id)
                if words:
                    output.say(words)
                output.close()
                self._running -= 1
                await self._finish(record, code, trio.current_time() - started)

    async def _finish(self, record: CommandRecord, code: int, seconds: float) -> None:
        run_id = record.command_session_id
        over = msgspec.structs.replace(record, exit_code=code, duration_ms=round(seconds * 1000))
        try:
            preview = await trio.to_thread.run_sync(self._shelf.preview, run_id)
            over = msgspec.structs.replace(over, output_preview=preview)
            await trio.to_thread.run_sync(self._shelf.put, over)
        except OSError as error:
            # The next daemon will record it as one whose end is not known.
            log.warning("the end of command %s cannot be recorded: %s", run_id, error.strerror)
        self._records[run_id] = over
        self._tell(CommandComplete(over))

    async def _clean(self) -> None:
        bounds = self._bounds()
        limit = wire_time(self._wall() - timedelta(days=bounds.days))
        over = [one for one in self._records.values() if one.exit_code is not None]
        surplus = len(over) - bounds.most
        old = [one for at, one in enumerate(over) if one.timestamp < limit or at < surplus]
        for record in old:
            del self._records[record.command_session_id]
        for record in old:
            await trio.to_thread.run_sync(self._shelf.remove, record.command_session_id)


def _exit_code(ending: Ending) -> int:
    """Return the exit code as a shell would report it."""
    if ending.exit_status is None:
        return _NOT_STARTED
    return ending.exit_status if ending.exit_status >= 0 else 128 - ending.exit_status
