"""Sessions held by a ``claude`` that Podium did not start, for example in a person's terminal.

The CLI takes no lock on a session: two processes that resume one write into the same file, and
one of the two exchanges silently drops out of the conversation. But while it runs it keeps a
record in ``CLAUDE_CONFIG_DIR/sessions/PID.json``. The record is undocumented (seen in 2.1.328): it
is rewritten in place, left behind by SIGKILL, and written for Podium's own turns as well.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import trio
from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from podiumd.formats.claude_transcript import LiveSession, live_session_record
from podiumd.runtime.locks.holder import Holder
from podiumd.tools.files.plain_file import open_plain
from podiumd.tools.process.processes import Identity, alive, identity_of, wait_gone

_READ_LIMIT = 64 * 1024
_READS = 5
_STOP_SECONDS = 5
_CHANGES: list[type[FileSystemEvent]] = [
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]

log = logging.getLogger(__name__)


def foreign_holder(session_id: str, config_dir: Path, own_pids: Collection[int]) -> Holder | None:
    """Find the living foreign process that has this session open, a busy one before an idle one.

    ``config_dir`` is the agent's ``CLAUDE_CONFIG_DIR``; ``own_pids`` are the agents of our own
    turns. A record counts only if its process lives and has the record's start time. Only records
    of living processes are read, a few files of a few hundred bytes, so the event loop may call
    this. ``since`` is when the process started.
    """
    found = [holder for holder, _ in _holders(session_id, config_dir, own_pids)]
    return min(found, key=lambda holder: holder.status == "idle", default=None)


def all_foreign(config_dir: Path) -> list[Holder]:
    """List every session that a process which Podium did not start has open."""
    return [holder for holder, _ in _holders(None, config_dir, ())]


async def wait_idle(session_id: str, config_dir: Path, own_pids: Collection[int]) -> None:
    """Return once no foreign process is busy in this session: idle, elsewhere, or gone.

    A foreign process is waited for, never ended; how long is the caller's.
    """
    directory = _directory(config_dir)
    if not directory.is_dir():  # it is made before the first session, and never removed
        await trio.lowlevel.checkpoint()
        return
    async with _watched(directory) as changes:
        while busy := _busy(session_id, config_dir, own_pids):
            await _first_change(busy, changes)
            changes.clear()  # before the next look, so that nothing after that look is missed


def _busy(session_id: str, config_dir: Path, own_pids: Collection[int]) -> Identity | None:
    for holder, identity in _holders(session_id, config_dir, own_pids):
        if holder.status != "idle":
            return identity
    return None


async def _first_change(identity: Identity, changes: _Changes) -> None:
    """Wait until the process has ended or some record has changed."""
    async with trio.open_nursery() as nursery:

        async def gone() -> None:
            await wait_gone(identity)
            nursery.cancel_scope.cancel()

        nursery.start_soon(gone)
        await changes.wait()
        nursery.cancel_scope.cancel()


class _Changes(FileSystemEventHandler):
    """Signal to the event loop *that* a record changed; called on the watcher's thread."""

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._event = trio.Event()

    def on_any_event(self, event: FileSystemEvent) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._set, idempotent=True)

    def _set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()

    def clear(self) -> None:
        self._event = trio.Event()


@asynccontextmanager
async def _watched(directory: Path) -> AsyncIterator[_Changes]:
    changes = _Changes()
    observer = Observer()
    # Opening and reading must not count: a look of our own would cause the next one.
    observer.schedule(changes, str(directory), event_filter=_CHANGES)
    try:
        observer.start()
    except OSError as error:  # out of inotify watches: then only the process's end is seen
        log.warning("cannot watch %s: %s", directory, error)
        yield changes
        return
    try:
        yield changes
    finally:
        observer.stop()
        with trio.move_on_after(_STOP_SECONDS, shield=True):
            await trio.to_thread.run_sync(observer.join, abandon_on_cancel=True)


def _directory(config_dir: Path) -> Path:
    return config_dir / "sessions"


def _holders(
    session_id: str | None, config_dir: Path, own_pids: Collection[int]
) -> list[tuple[Holder, Identity]]:
    try:
        paths = sorted(_directory(config_dir).iterdir())
    except OSError:
        return []
    found = []
    for path in paths:
        stem, _, suffix = path.name.partition(".")
        if suffix != "json" or not (stem.isascii() and stem.isdigit()) or int(stem) in own_pids:
            continue
        identity = identity_of(int(stem))
        if identity is None or not alive(identity):
            continue
        record = _read(path)
        if record is not None and _is(record, session_id, identity):
            found.append((_holder(record, identity), identity))
    return found


def _is(record: LiveSession, session_id: str | None, identity: Identity) -> bool:
    wanted = session_id in (None, record.session_id)
    return wanted and (record.pid, record.proc_start) == (identity.pid, identity.start)


def _read(path: Path) -> LiveSession | None:
    """Read the record; an unreadable one is read again at once.

    A look may fall between truncation and writing, some microseconds, and to take that for "nobody"
    could cost an exchange.
    """
    for _ in range(_READS):
        try:
            with open_plain(path) as file:
                record = live_session_record(file.read(_READ_LIMIT))
        except OSError:
            return None
        if record is not None:
            return record
    return None


def _holder(record: LiveSession, identity: Identity) -> Holder:
    status: Literal["busy", "idle"] = "idle" if record.status == "idle" else "busy"
    return Holder(
        kind="foreign",
        pid=record.pid,
        since=started(identity),
        session_id=record.session_id,
        working_directory=record.cwd or None,
        status=status,
    )


def started(identity: Identity) -> str:
    """Return when the process started, in whole seconds: it is counted from the boot on Linux."""
    if sys.platform == "linux":
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - identity.start / os.sysconf("SC_CLK_TCK")
        seconds = time.time() - age
    else:
        seconds = identity.start / 1000
    return datetime.fromtimestamp(round(seconds), UTC).isoformat().replace("+00:00", "Z")
