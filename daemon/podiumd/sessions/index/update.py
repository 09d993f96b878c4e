"""A session's file, read on from where it was last read. Blocking; shares nothing.

The file may be removed, cut, replaced or rewritten meanwhile: nothing is raised, and nothing is
returned but whole lines that stood in it. The mark that is kept is made of the bytes that were
read, so a rewrite in the middle of the reading is found by the next.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import IntFlag
from typing import Final

import msgspec

from podiumd.formats.session import Cursor, Entry, SessionFormat, Summary, milliseconds
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import OPEN_FLAGS, Found, place_beside
from podiumd.sessions.log.reading import MAX_LINE_BYTES, Chunks, Mark, Trail

NEVER: Final = -1
"""The ``mtime_ns`` of a row whose file could not be read to its end: it is tried again."""

ENCODING_BYTES: Final = 16 * 1024
"""A chunk up to this size is looked at for what is not UTF-8, a longer one if a line of it is bad
or its summary shows it: to decode everything takes longer than all else. Faults within a message
are reported when that is read."""

BESIDE_BYTES: Final = 1024 * 1024
"""Bytes that are read of a file which says more of a session."""

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


class Problem(IntFlag):
    """Kinds of problems within a transcript; each kind is reported once a session."""

    BROKE_OFF = 1
    NULS = 2
    BROKEN = 4
    OVERLONG = 8
    NOT_UTF8 = 16


class Update(msgspec.Struct, gc=False):
    """A session brought up to date.

    ``rewritten``: the file is not the one that was read before, or none was, and it was read from
    its start. ``entries`` are the messages that were read, if a cursor was given; ``cursor`` is
    where it is now. ``problems``: those that were not reported before.
    """

    row: Row
    rewritten: bool
    entries: list[Entry]
    cursor: Cursor
    problems: list[str]


class Unreadable(msgspec.Struct, frozen=True):
    """A session's file that could not be read; what is known of the session still holds.

    ``vanished``: it is not there any longer.
    """

    path: str
    problem: str
    vanished: bool


def update(
    format: SessionFormat, found: Found, row: Row | None, *, cursor: Cursor | None = None
) -> Update | Unreadable:
    """Read what is new in a session's file.

    Parameters:
        found: where the file was seen; what is opened there decides.
        row: what is known of the session.
        cursor: where the scan for messages is, if they are wanted: at ``row.offset``. It is not
            changed.

    The file is read from its start if there is no row, or if it is not the file that was read:
    another inode, shorter than was read, or with another start or other last lines. A device may
    get another number whenever it is mounted, so that alone makes no other file.
    """
    try:
        descriptor = os.open(found.path, OPEN_FLAGS)
    except OSError as error:
        return _unreadable(found.path, error)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Unreadable(found.path, "is not a regular file", vanished=False)
        reader = _Reader(format, found, descriptor, status, row, cursor)
        reader.read()
        reader.read_beside()
        return reader.result()
    except OSError as error:
        return _unreadable(found.path, error)
    finally:
        os.close(descriptor)


def _unreadable(path: str, error: OSError) -> Unreadable:
    vanished = isinstance(error, FileNotFoundError | NotADirectoryError)
    return Unreadable(path, f"cannot be read: {error.strerror}", vanished)


class _Report:
    """The problems of one session, each kind once."""

    def __init__(self, path: str, bits: int) -> None:
        self.bits = bits
        self.new: list[str] = []
        self._path = path

    def add(self, problem: Problem, what: str) -> None:
        if not self.bits & problem:
            self.bits |= problem
            self.new.append(f"{self._path} {what}")

    def inspect(self, offset: int, chunk: bytes, bad_lines: int) -> None:
        """Note what is wrong with lines of which so many were bad."""
        place = f"in the {len(chunk)} bytes from byte {offset} on"
        if bad_lines and not (self.bits & Problem.NULS and self.bits & Problem.BROKEN):
            # A NUL makes every line bad, so these are among those.
            with_nuls = sum(b"\0" in line for line in chunk.split(b"\n")) if b"\0" in chunk else 0
            if with_nuls:
                self.add(Problem.NULS, f"has lines with NUL bytes, which are passed over: {place}")
            if bad_lines > with_nuls:
                self.add(
                    Problem.BROKEN,
                    f"has lines that are no JSON objects, which are passed over: {place}",
                )
        if not self.bits & Problem.NOT_UTF8:
            try:
                chunk.decode()
            except UnicodeDecodeError as error:
                self.add(
                    Problem.NOT_UTF8,
                    f"is not UTF-8 at byte {offset + error.start}; what is not is read as U+FFFD",
                )


class _Reader:
    """A reading of one open file."""

    def __init__(
        self,
        format: SessionFormat,
        found: Found,
        descriptor: int,
        status: os.stat_result,
        row: Row | None,
        cursor: Cursor | None,
    ) -> None:
        """Decides where to begin. Raises ``OSError``."""
        self._format = format
        self._found = found
        self._status = status
        self._report = _Report(found.path, 0 if row is None else row.problems)
        self._entries: list[Entry] = []
        self._broke_off = False
        self._wanted = cursor is not None
        self._beside_ns = 0
        trail = None if row is None else _trail(descriptor, status, row)
        self._rewritten = trail is None
        if row is None or trail is None:
            self._trail = Trail(descriptor, 0)
            self._summary = Summary()
            self._cursor = Cursor()
            self._generation = 1 if row is None else row.generation + 1
            searched = 0
        else:
            self._trail = trail
            self._summary = msgspec.structs.replace(row.summary)
            self._cursor = Cursor() if cursor is None else cursor.copy()
            self._generation = row.generation
            searched = row.size if row.size < status.st_size else 0
        self._chunks = Chunks(descriptor, self._trail.offset, status.st_size, searched)

    def read(self) -> None:
        """Read to where the file ended when it was opened, or as far as it can be read."""
        try:
            for offset, chunk in self._chunks:
                self._trail.follow(offset, chunk)
                self._take(offset, chunk)
            if self._chunks.offset > self._trail.offset:
                self._trail.skip_to(self._chunks.offset)
        except OSError as error:
            self._broke_off = True
            self._report.add(
                Problem.BROKE_OFF,
                f"cannot be read on from byte {self._trail.offset}: {error.strerror}",
            )
        if self._chunks.overlong:
            self._report.add(
                Problem.OVERLONG,
                f"has lines of more than {MAX_LINE_BYTES} bytes, which are passed over, before"
                f" byte {self._chunks.offset}",
            )

    def read_beside(self) -> None:
        """Read what says more of the session, if its agent writes such a file, and it is there."""
        if not self._format.beside:
            return
        path = place_beside(self._format.beside, self._found.path)
        with suppress(OSError):
            descriptor = os.open(path, OPEN_FLAGS)
            try:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode):
                    self._format.describe(self._summary, os.read(descriptor, BESIDE_BYTES))
                    self._beside_ns = status.st_mtime_ns
            finally:
                os.close(descriptor)

    def _take(self, offset: int, chunk: bytes) -> None:
        summary = self._summary
        bad_lines = summary.bad_lines
        self._format.fold(summary, chunk)
        bad_lines = summary.bad_lines - bad_lines
        if bad_lines or len(chunk) <= ENCODING_BYTES or _REPLACEMENT in summary.words:
            self._report.inspect(offset, chunk, bad_lines)
        if self._wanted:
            self._entries += self._format.entries(self._cursor, chunk, offset)

    def result(self) -> Update:
        """Return the row as of what was read, and the rest."""
        found, status, mark = self._found, self._status, self._trail.mark()
        last = milliseconds(self._summary.last_at)
        row = Row(
            session_id=found.session_id,
            agent=found.agent,
            path=found.path,
            dev=status.st_dev,
            ino=status.st_ino,
            size=status.st_size,
            mtime_ns=NEVER if self._broke_off else max(status.st_mtime_ns, self._beside_ns),
            offset=self._trail.offset,
            head=mark.head,
            tail=mark.tail,
            generation=self._generation,
            summary=self._summary,
            problems=self._report.bits,
            gone=False,
            sort_at=status.st_mtime_ns // 1_000_000 if last is None else last,
            own_id=found.own_id,
        )
        return Update(row, self._rewritten, self._entries, self._cursor, self._report.new)


def _trail(descriptor: int, status: os.stat_result, row: Row) -> Trail | None:
    """Return the trail that was followed as far as the row says; ``None`` if the file is another.

    A file of which nothing was read cannot be another. Raises ``OSError``.
    """
    if row.offset == 0:
        return Trail(descriptor, 0)
    if status.st_ino != row.ino or status.st_size < row.offset:
        return None
    trail = Trail(descriptor, row.offset)
    return trail if trail.mark() == Mark(row.head, row.tail) else None
