"""The commands in a sandbox that are at work at this moment, for a git of ours that writes.

A file that a command can write it can exchange for a link, and git writes where that leads. So a
git that writes within the reach of a command is confined as that is (see ``beside``). One that is
not confined is over before a command begins: the command waits for it, and it waits for no command.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Protocol

import trio


class Placed(Protocol):
    """Puts files where others must not come into being, as long as a command needs them
    (``podiumd.tools.sandbox.boundary.Placeholders``)."""

    def put(self, paths: Iterable[str]) -> None:
        """Put them there. Blocks. Raises ``OSError``; then none is there."""
        ...

    def take_away(self, paths: Iterable[str]) -> None:
        """Remove those that no other command needs. Blocks."""
        ...


@dataclass(frozen=True, eq=False)
class Reach:
    """The paths that a command can write.

    These are the tree at ``root``, and the ``repositories`` that its sandbox was planned with,
    without those ``kept`` in them. ``placed`` are the kept ones that exist only as long as a
    command needs them, put by ``placeholders``. ``program`` is that of the sandbox.
    """

    program: str
    root: str
    repositories: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    placeholders: Placed | None = None

    def touches(self, paths: Iterable[str]) -> bool:
        """Return whether the command can write one of the paths, or something below one."""
        own = [PurePath(one) for one in (self.root, *self.repositories)]
        return any(
            mine.is_relative_to(path) or PurePath(path).is_relative_to(mine)
            for path in paths
            for mine in own
        )


class AtWork:
    """Keeps who is at work. Commands begin and end in any thread, gits write in trio's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = trio.lowlevel.ParkingLot()
        self._reaches: list[Reach] = []
        self._writing: list[tuple[str, ...]] = []

    def begin(self, reach: Reach) -> None:
        """Note that a command is about to begin: a git that begins from now on is confined."""
        with self._lock:
            self._reaches.append(reach)

    def anybody(self) -> bool:
        """Return whether any command is at work."""
        return bool(self._reaches)

    async def let_end(self, reach: Reach) -> None:
        """Wait until no git writes unconfined within the reach of a command that is to begin."""
        while self._is_written(reach):
            await self._over.park()

    def _is_written(self, reach: Reach) -> bool:
        with self._lock:
            return any(map(reach.touches, self._writing))

    def end(self, reach: Reach) -> None:
        """Note that a command is over, and what it left is put right."""
        with self._lock:
            if reach in self._reaches:
                self._reaches.remove(reach)

    @contextmanager
    def writing(
        self, paths: tuple[str, ...], own: Reach | None = None
    ) -> Iterator[tuple[Reach, ...]]:
        """Yield the reaches that touch these paths, for a git that writes there.

        Its ``own`` filter is left out. Where there are none, no such command begins before the
        block is over.
        """
        with self._lock:
            others = (reach for reach in self._reaches if reach is not own)
            found = tuple(reach for reach in others if reach.touches(paths))
            if not found:
                self._writing.append(paths)
        try:
            yield found
        finally:
            if not found:
                with self._lock:
                    self._writing.remove(paths)
                self._over.unpark_all()


AT_WORK: Final = AtWork()
"""One for the daemon."""
