"""Waiting until a directory is empty, such as that of the turns once their run is over."""

from __future__ import annotations

import logging
from pathlib import Path

import trio
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from podiumd.drivers.spool import Bell

# It complains of events that come while it is being stopped.
logging.getLogger("watchdog.observers.inotify").setLevel(logging.CRITICAL)


class _Rings(FileSystemEventHandler):
    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._token = trio.lowlevel.current_trio_token()

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._token.run_sync_soon(self._bell.ring, idempotent=True)


async def emptied(directory: Path) -> None:
    """Return once nothing is in it."""
    if not directory.exists():
        return
    bell = Bell()
    observer = Observer()
    observer.schedule(_Rings(bell), str(directory))
    observer.start()
    try:
        while any(directory.iterdir()):
            await bell.wait()
    finally:
        observer.stop()
        observer.join()
