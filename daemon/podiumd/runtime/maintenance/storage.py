"""The disk use of STATE, and the removal of what ``[retention]`` or a person lets go.

Each part is found and removed by itself, some at once, and reported in numbers. An item that is
removed is looked at again at that moment: one that has come into use meanwhile stays. Cut off
anywhere, nothing is half gone, and the next time goes on.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import trio
import trio.lowlevel

from podiumd.core.times import wire_time
from podiumd.runtime.context import Context
from podiumd.runtime.errors import InvalidParameter, Refused
from podiumd.runtime.locks.lockfile import LeaseError, remove_unused
from podiumd.runtime.maintenance import housekeeping
from podiumd.runtime.public_sessions import PublicSessions
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.worktrees.listing import Sizes
from podiumd.sessions.transcripts import StillThere, UnknownSession
from podiumd.store.connection import FACTS_NAME
from podiumd.store.errors import StoreError
from podiumd.store.index import INDEX_NAME
from podiumd.tools.failpoints import failpoint
from podiumd.wire.daemon import Pruned, PrunedPart, StoragePart, StorageUsage

COPIES = f"{FACTS_NAME}.schema-*"
"""Databases of earlier releases that lifting leaves."""


class Part(NamedTuple):
    """Files of one kind in STATE. ``bound``: the setting that bounds them, or the command that a
    person removes them by."""

    name: str
    pattern: str
    bound: str


PARTS = (
    Part("facts", f"{FACTS_NAME}*", "retention.runs_days, then 'podium prune --vacuum'"),
    Part("copies", COPIES, "retention.copies_days"),
    Part("index", f"{INDEX_NAME}*", "made anew when it is lost; grows with the sessions"),
    Part("transcripts", "sessions", "retention.transcripts_days"),
    Part("turns", "turns", "retention.failed_turns, failed_megabytes"),
    Part("checks", "checks", "retention.failed_checks"),
    Part("images", "images", "a day, or until their prompt is over"),
    Part("commands", "commands", "retention.commands, commands_days"),
    Part("worktrees", "worktrees", "'podium worktree remove RUN'"),
    Part("exports", "exports", "yours: remove what you do not need"),
    Part("models", "models", "'podium voice install' fetches them again"),
    Part("voice", "voice", "the last eight recordings"),
    Part("log", "podiumd.log*", "40 MiB"),
)
OTHER = Part("other", "*", "small files of the daemon's own")
LOCKS = Part("locks", "", "30 days after they were taken last")


def usage(
    state: Path, locks: Path | None, go_on: Callable[[], None] = lambda: None
) -> list[StoragePart]:
    """Measure each part: ``{part, bytes, bound}``. Blocks.

    ``bytes`` is null where there are too many files to look at. ``go_on`` is called now and then,
    and ends it by an exception.
    """
    sizes, seen = Sizes(), set[Path]()
    rows = []
    for part in (PARTS[1], PARTS[0], *PARTS[2:], OTHER):
        found = [path for path in _matching(state, part.pattern) if path not in seen]
        seen.update(found)
        rows.append(_row(part, found, sizes, go_on))
    rows[0], rows[1] = rows[1], rows[0]  # the copies are no part of what is in use
    if locks is not None:
        rows.append(_row(LOCKS, [locks], sizes, go_on))
    return rows


def _matching(state: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from sorted(state.glob(pattern))
    except OSError:
        return


def _row(part: Part, found: list[Path], sizes: Sizes, go_on: Callable[[], None]) -> StoragePart:
    total: int | None = 0
    for path in found:
        more = sizes.of(path, go_on) if path.is_dir() else _size(path)
        total = None if total is None or more is None else total + more
    return StoragePart(part=part.name, bytes=total, bound=part.bound)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # gone just now
        return 0


AT_ONCE = 200
"""Rows looked at or deleted in one transaction."""

PAGES_AT_ONCE = 500
"""Pages given back to the disk in one transaction."""

PAUSE_SECONDS = 0.01

LOCKS_KEPT_DAYS = 30
"""Days since a lock file was taken last: no process has a reason to look at it just now."""

LOCK_BYTES = 4096
"""Bytes that a lock file takes on most disks."""

_TRANSCRIPT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")


class Item(NamedTuple):
    """An item that may go: a session, a run or a path, and its bytes (0: not known)."""

    name: str
    size: int


Find = Callable[[bool], Awaitable[list[Item]]]
Remove = Callable[[list[Item]], Awaitable[int]]


class Storage:
    """STATE as a person sees to it."""

    def __init__(self, context: Context, transcripts: PublicSessions, runs: Runs) -> None:
        self._context = context
        self._transcripts = transcripts
        self._runs = runs
        self._one = trio.Lock()
        self._parts: dict[str, tuple[Find, Remove]] = {
            "runs": (self._old_runs, self._forget_runs),
            "turns": (self._failed_turns, self._remove_paths),
            "checks": (self._failed_checks, self._remove_paths),
            "transcripts": (self._old_transcripts, self._remove_transcripts),
            "gone": (self._gone, self._forget_gone),
            "marks": (self._marks, self._forget_marks),
            "copies": (self._copies, self._remove_paths),
            "locks": (self._old_locks, self._remove_locks),
        }

    async def usage(self) -> StorageUsage:
        """Report the size of each part of STATE, and of the unused part of ``facts.db``."""
        context = self._context
        parts = await trio.to_thread.run_sync(
            usage,
            context.state,
            context.leases.directory,
            trio.from_thread.check_cancelled,
            abandon_on_cancel=True,
        )
        pages, size = await context.store.unused()
        return StorageUsage(state=str(context.state), parts=tuple(parts), unused=pages * size)

    async def tidy(self) -> None:
        """Remove what is older, or more, than ``[retention]`` keeps."""
        async with self._one:  # who prunes meanwhile counts what is left
            await housekeeping.tidy(self._context, self._runs.in_use)
        try:
            await self.prune()
        except (StoreError, OSError, sqlite3.Error) as error:  # no reason to end
            self._context.log("Not tidied", "warning", reason=str(error))

    async def prune(
        self, what: Sequence[str] = (), *, dry_run: bool = False, vacuum: bool = False
    ) -> Pruned:
        """Remove what ``[retention]`` says may go, and of what is named what can go at all.

        Parameters:
            what: parts, none is all of them. Named are also removed ``gone`` and ``copies`` that
                retention keeps for good, or for longer.
            dry_run: say what would go, and remove nothing.
            vacuum: give the disk back what of ``facts.db`` is not in use.

        Raises:
            InvalidParameter: there is no such part.
            Refused: transcripts are named, and no setting says how old they must be.
        """
        self._require_known(what)
        async with self._one:
            parts: list[PrunedPart] = []
            for name, (find, remove) in self._parts.items():
                if what and name not in what:
                    continue
                found = await find(name in what)
                count = len(found) if dry_run else await remove(found)
                if count:
                    size = sum(item.size for item in found)
                    parts.append(PrunedPart(part=name, count=count, bytes=size))
            given = await self._vacuum(dry_run) if vacuum else None
        if not dry_run and (parts or given):
            counts = {one.part: one.count for one in parts}
            fields: dict[str, Any] = {**counts, "vacuumed": given}
            self._context.log("Pruned", **fields)
        return Pruned(dry_run=dry_run, parts=tuple(parts), vacuumed=given)

    def _require_known(self, what: Sequence[str]) -> None:
        unknown = sorted({*what} - self._parts.keys())
        if unknown:
            known = ", ".join(self._parts)
            raise InvalidParameter("what", f"There is no part '{unknown[0]}'; there are {known}.")
        if "transcripts" in what and not self._context.retention().transcripts_days:
            raise Refused(
                "Transcripts of Podium's own agent are kept for good: there is no other copy of"
                " them. Set retention.transcripts_days to how old they may become."
            )

    def _since(self, days: int) -> float:
        """Return the time so many days ago, in seconds since 1970."""
        return (self._context.clock.wall() - timedelta(days=days)).timestamp()

    # -- runs, and the files of those that failed ------------------------------------------------

    async def _old_runs(self, named: bool) -> list[Item]:
        days = self._context.retention().runs_days
        if not days:
            return []
        before = wire_time(self._context.clock.wall() - timedelta(days=days))
        return [Item(one, 0) for one in await self._context.store.runs_ended_before(before, 2**31)]

    async def _forget_runs(self, found: list[Item]) -> int:
        if not found:
            return 0
        days = timedelta(days=self._context.retention().runs_days)
        return await housekeeping.forget_runs(self._context, self._context.clock.wall() - days)

    async def _failed_turns(self, named: bool) -> list[Item]:
        return await self._over("turns")

    async def _failed_checks(self, named: bool) -> list[Item]:
        return await self._over("checks")

    async def _over(self, name: str) -> list[Item]:
        found = await housekeeping.over(self._context, name, self._runs.in_use)
        return [Item(str(path), size) for path, size in found]

    async def _remove_paths(self, found: list[Item]) -> int:
        for item in found:
            await trio.to_thread.run_sync(housekeeping.remove, [Path(item.name)])
            failpoint("prune.after-path")
        return len(found)

    async def _copies(self, named: bool) -> list[Item]:
        days = self._context.retention().copies_days
        if not named and not days:
            return []
        # Not when it was written last, but when it lost its name to the one that is in use.
        oldest = float("inf") if named else self._since(days)
        found = []
        for path in sorted(self._context.state.glob(COPIES)):
            with suppress(FileNotFoundError):
                status = path.stat()
                if status.st_ctime < oldest:
                    found.append(Item(str(path), status.st_size))
        return found

    # -- sessions --------------------------------------------------------------------------------

    async def _old_transcripts(self, named: bool) -> list[Item]:
        days = self._context.retention().transcripts_days
        found = []
        for path in sorted((self._context.state / "sessions").glob("*.jsonl")) if days else ():
            with suppress(FileNotFoundError):
                status = path.stat()
                if _TRANSCRIPT.fullmatch(path.name) and status.st_mtime < self._since(days):
                    found.append(Item(str(path), status.st_size))
        return [item for item in found if not self._in_use(Path(item.name).stem)]

    def _in_use(self, session_id: str) -> bool:
        """Return whether a session has a holder, or a run that is open has it."""
        with suppress(ValueError):  # an id that no session can have
            if self._context.leases.peek(session_id) is not None:
                return True
        states = (actor.state for actor in self._runs.live)
        return any(session_id in (one.session_id, *one.sessions) for one in states)

    async def _remove_transcripts(self, found: list[Item]) -> int:
        count = 0
        for item in found:
            count += self._removed(Path(item.name))
            failpoint("prune.after-path")
            await trio.lowlevel.checkpoint()
        return count

    def _removed(self, transcript: Path) -> bool:
        """Remove a transcript that is still old and unused: no turn of ours begins in between."""
        try:
            old = transcript.stat().st_mtime < self._since(
                self._context.retention().transcripts_days
            )
            if not old or self._in_use(transcript.stem):
                return False
            transcript.unlink()
        except FileNotFoundError:
            return False
        return True

    async def _gone(self, named: bool) -> list[Item]:
        days = self._context.retention().gone_days
        if not named and not days:
            return []
        before = None if named else int(self._since(days) * 1000)
        return [Item(one, 0) for one in await self._transcripts.gone(before)]

    async def _forget_gone(self, found: list[Item]) -> int:
        count = 0
        for item in found:
            if self._in_use(item.name):
                continue
            with suppress(UnknownSession, StillThere):  # it has come back
                await self._transcripts.forget(item.name)
                count += 1
            failpoint("prune.after-session")
        return count

    async def _marks(self, named: bool) -> list[Item]:
        found: list[Item] = []
        last = ""
        while page := await self._context.store.marks_after(last, AT_ONCE):
            last = page[-1][0]
            found += [Item(session_id, size) for session_id, size, known in page if not known]
            await trio.sleep(PAUSE_SECONDS)
        return [item for item in found if not self._in_use(item.name)]

    async def _forget_marks(self, found: list[Item]) -> int:
        for first in range(0, len(found), AT_ONCE):
            some = [item.name for item in found[first : first + AT_ONCE]]
            unused = [name for name in some if not self._in_use(name)]
            await self._context.store.forget_marks(unused)
            failpoint("prune.after-marks")
            await trio.sleep(PAUSE_SECONDS)
        return len(found)

    # -- lock files ------------------------------------------------------------------------------

    async def _old_locks(self, named: bool) -> list[Item]:
        paths = await trio.to_thread.run_sync(
            self._context.leases.unused, self._since(LOCKS_KEPT_DAYS)
        )
        return [Item(str(path), LOCK_BYTES) for path in paths]

    async def _remove_locks(self, found: list[Item]) -> int:
        count = 0
        for item in found:
            with suppress(LeaseError, FileNotFoundError):
                count += remove_unused(Path(item.name), self._since(LOCKS_KEPT_DAYS))
            failpoint("prune.after-lock")
            await trio.lowlevel.checkpoint()
        return count

    # -- the file itself -------------------------------------------------------------------------

    async def _vacuum(self, dry_run: bool) -> int:
        """Give unused pages of ``facts.db`` back, some at once; returns how many bytes."""
        store = self._context.store
        before, size = await store.unused()
        pages = before
        while pages and not dry_run:
            await store.give_back(PAGES_AT_ONCE)
            failpoint("prune.after-pages")
            left, _ = await store.unused()
            if left >= pages:
                break
            pages = left
            await trio.sleep(PAUSE_SECONDS)
        return (before if dry_run else before - pages) * size
