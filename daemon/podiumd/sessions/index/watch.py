"""Changes below the agents' session directories, carried from watchdog into the event loop.

A watch says *that* something changed, never what: the reader goes on from its own offset. A gap in
the watch (its queue overflowed, a directory has no watch) is answered by asking for a sweep, a look
at the whole tree.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec
import trio
from watchdog import events
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from podiumd.observe.logs import log

_ENDINGS = (".jsonl", ".json", ".txt", "/workspace.yaml")  # transcripts, and what belongs to them

MOST_PATHS = 4096
"""Changed files that are reported one by one; with more a sweep is the quicker way."""

_CHANGES: list[type[FileSystemEvent]] = [
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
    events.FileCreatedEvent,
    events.FileDeletedEvent,
    events.FileModifiedEvent,
    events.FileMovedEvent,
]
_APPEARANCES: list[type[FileSystemEvent]] = [events.DirCreatedEvent, events.DirMovedEvent]

# watchdog reports a queue that overflowed in its log alone.
_OVERFLOW_LOGGER = "watchdog.observers.inotify_c"
# An observer that is stopped while it reads events complains of it; nothing is wrong then.
_EMITTER_LOGGER = "watchdog.observers.inotify"
# A directory that is made just as the watch over its parent begins is found twice: by watchdog's
# walk and by the event. It puts the same callback in its own place then, and warns that it does:
# on its own thread, which ends where warnings are errors.
_TWICE = r"Callback with id '.*' already exists for watch "
_STOP_SECONDS = 2.0
_WATCHED_INODE = re.compile(r"^inotify wd:\S+ ino:([0-9a-f]+)", re.MULTILINE)


class Changes(msgspec.Struct):
    """Changes since the last look.

    ``files`` and ``directories`` are paths that changed, appeared or vanished; ``sweep`` means that
    more may have changed than they say.
    """

    files: set[str]
    directories: set[str]
    sweep: bool = False

    def __bool__(self) -> bool:
        return bool(self.files or self.directories or self.sweep)


class _Armed(NamedTuple):
    """The watch of one root: at the root, or where it is to come; ``wanted`` says which."""

    watch: ObservedWatch
    handler: FileSystemEventHandler
    wanted: tuple[Path, tuple[int, int] | None]


class TreeWatch:
    """The watch over all roots; see ``watch_trees``."""

    def __init__(self, roots: Sequence[Path], token: trio.lowlevel.TrioToken) -> None:
        self._roots = roots
        self._token = token
        self._observer: BaseObserver = Observer()
        self._armed: dict[Path, _Armed] = {}
        self._lock = Lock()
        self._changes = Changes(set(), set())
        self._event = trio.Event()
        self._logged: set[str] = set()

    async def wait(self) -> Changes:
        """Return what has changed since the last call, as soon as there is something."""
        await self._event.wait()
        return self.take()

    def take(self) -> Changes:
        """Return what has changed since the last call, maybe nothing."""
        self._event = trio.Event()
        with self._lock:
            changes, self._changes = self._changes, Changes(set(), set())
        return changes

    def note(self, event: FileSystemEvent) -> None:
        """Take an event; called on the observer's threads."""
        path, target = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
        with self._lock:
            changes = self._changes
            if not event.is_directory:
                changes.files.update(name for name in (path, target) if name.endswith(_ENDINGS))
            elif isinstance(event, events.DirCreatedEvent):
                changes.directories.add(path)
            else:
                changes.sweep = True
            if len(changes.files) + len(changes.directories) > MOST_PATHS:
                changes.files.clear()
                changes.directories.clear()
                changes.sweep = True
        self.wake()

    def want_sweep(self) -> None:
        """Ask for a look at the whole tree; called on any thread."""
        with self._lock:
            self._changes.sweep = True
        self.wake()

    def wake(self) -> None:
        """Wake the task that waits, with nothing changed; called on any thread."""
        try:
            self._token.run_sync_soon(self._set, idempotent=True)
        except trio.RunFinishedError:
            return

    def _set(self) -> None:
        self._event.set()

    def start(self) -> None:
        """Begin to watch. A system without watches left is logged once."""
        try:
            self._observer.start()
        except OSError as error:
            self._log_once("start", str(error))

    def arm(self) -> None:
        """Watch every root that is there, and where one is not, for its coming.

        Called by the sweeps: a root may be made, or replaced, at any time.
        Blocks for some milliseconds in a tree of thousands of directories.
        """
        for root in self._roots:
            while self._arm(root) and _identity(root) is not None:
                pass  # it came while its coming was not watched yet

    def _arm(self, root: Path) -> bool:
        """Watch one root. Returns whether its coming is watched, as of now."""
        identity = _identity(root)
        place = root if identity else next(one for one in root.parents if one.is_dir())
        wanted = (place, identity)
        found = self._armed.get(root)
        if found is not None and found.wanted == wanted:
            return False
        if found is not None:
            self._disarm(root, found)
        # Where a root is to come, whatever appears has the sweep look at it.
        handler = _Handler(self.note if identity else lambda event: self.want_sweep())
        try:
            watch = self._observer.schedule(
                handler,
                str(place),
                recursive=identity is not None,
                event_filter=_CHANGES if identity else _APPEARANCES,
            )
        except OSError as error:
            self._log_once(str(root), str(error))
            return False
        self._armed[root] = _Armed(watch, handler, wanted)
        return identity is None

    def _disarm(self, root: Path, armed: _Armed) -> None:
        """End the watch of one root. Roots that are to come below one directory share its watch,
        which ends with the last of them."""
        del self._armed[root]
        if any(other.watch == armed.watch for other in self._armed.values()):
            self._observer.remove_handler_for_watch(armed.handler, armed.watch)
        else:
            self._observer.unschedule(armed.watch)

    def _log_once(self, place: str, reason: str) -> None:
        if place not in self._logged:
            self._logged.add(place)
            log(
                "Session files are not watched",
                "warning",
                place=place,
                reason=reason,
                effect="changes are found by sweeps every few seconds",
                fix="raise fs.inotify.max_user_watches and max_user_instances (sysctl)",
            )

    def complete(self, directories: Collection[int]) -> bool:
        """Return whether every root and, as far as the system shows, every directory is watched.

        ``directories`` are the inode numbers of all directories at and below the roots. watchdog
        passes over those for which it gets no watch; the kernel's own list shows it.
        """
        if len(self._armed) < len(self._roots) or not self._observer.is_alive():
            return False
        watched = _watched_inodes()
        if watched is None:
            return True
        missing = sum(inode not in watched for inode in directories)
        if missing:
            self._log_once("directories", f"{missing} of {len(directories)} directories")
        return not missing

    def close(self) -> None:
        """Stop the observer's threads; takes some milliseconds."""
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join(timeout=_STOP_SECONDS)


@asynccontextmanager
async def watch_trees(roots: Sequence[Path]) -> AsyncIterator[TreeWatch]:
    """Watch the roots for one event loop; yield the watch once it is armed. They need not exist
    yet."""
    watch = TreeWatch(roots, trio.lowlevel.current_trio_token())
    warnings.filterwarnings("ignore", _TWICE, RuntimeWarning)
    overflow = _OverflowListener(watch)
    logging.getLogger(_OVERFLOW_LOGGER).addHandler(overflow)
    logging.getLogger(_EMITTER_LOGGER).addFilter(_is_no_stopping)
    try:
        await trio.to_thread.run_sync(watch.start)
        yield watch
    finally:
        logging.getLogger(_OVERFLOW_LOGGER).removeHandler(overflow)
        with trio.CancelScope(shield=True):  # bounded by close itself
            await trio.to_thread.run_sync(watch.close)
        logging.getLogger(_EMITTER_LOGGER).removeFilter(_is_no_stopping)


class _Handler(FileSystemEventHandler):
    def __init__(self, take: Callable[[FileSystemEvent], None]) -> None:
        self._take = take

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._take(event)


class _OverflowListener(logging.Handler):
    def __init__(self, watch: TreeWatch) -> None:
        super().__init__(logging.WARNING)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage():
            self._watch.want_sweep()


def _is_no_stopping(record: logging.LogRecord) -> bool:
    return "thread is inactive" not in record.getMessage()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _watched_inodes() -> set[int] | None:
    """Return the inodes that this process watches; ``None`` where the system does not show them."""
    if sys.platform != "linux":
        return None
    found: set[int] = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if str(descriptor.readlink()) == "anon_inode:inotify":
                table = Path(f"/proc/self/fdinfo/{descriptor.name}").read_text()
                found.update(int(inode, 16) for inode in _WATCHED_INODE.findall(table))
        except OSError:
            continue  # closed since it was listed
    return found
