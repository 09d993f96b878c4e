"""The native agent's session files: one row a line, each written once, through any crash.

The writer of a row knows its uuid beforehand, from the turn and the row's place in it. So a row
that a crash has left unclear is simply written again: one that the file has already is passed over.
A line that was cut by a crash is ended before the next one and counts for nothing.

Blocking; meant for a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

RowKind = Literal["prompt", "reply", "results", "notice"]

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class RowAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action of a reply; ``id`` ties its result to it."""

    id: str
    name: str
    args: dict[str, Any] = {}


class RowResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of an action."""

    id: str
    action: str
    success: bool
    message: str = ""
    output: str = ""
    critical: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of the file; ``podiumd.formats.native_session`` describes them.

    ``turn`` is the turn's id, ``number`` that of the reply which a reply or its results belong to.
    ``cwd`` is the working directory, on prompts. ``text`` of a reply is all that the model wrote,
    ``said`` the words outside of its actions.
    """

    type: RowKind
    uuid: str
    turn: str
    timestamp: str
    number: int = 0
    cwd: str = ""
    text: str = ""
    said: str = ""
    actions: tuple[RowAction, ...] = ()
    results: tuple[RowResult, ...] = ()
    model: str = ""


_decoder = msgspec.json.Decoder(Row)


class SessionFile:
    """The file of one session, open for the length of a turn; a context manager.

    Parameters:
        path: it is made, 0600, where it is not there.
        copy_of: the session that this one goes on from, copied where ``path`` is not there yet.

    Entering it raises ``OSError`` where it cannot be opened or made.
    """

    def __init__(self, path: Path, copy_of: Path | None = None) -> None:
        self._path = path
        self._copy_of = copy_of
        self._descriptor = -1
        self.rows: list[Row] = []
        self._known: set[str] = set()

    def __enter__(self) -> SessionFile:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._copy_of is not None and not self._path.exists():
            self._copy(self._copy_of)
        self._descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            torn = self._read()
            if torn:
                os.write(self._descriptor, b"\n")
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        empty = os.fstat(self._descriptor).st_size == 0
        os.close(self._descriptor)
        if empty:  # the turn has come to nothing, and a file without a row is no session
            self._path.unlink(missing_ok=True)

    def append(self, *rows: Row, durable: bool = True) -> list[Row]:
        """Write those rows that are not there yet and return them.

        ``durable``: they are on the disk then, and all before them. While a turn goes on that is
        not needed: its rows are made again from its facts.
        Raises ``OSError`` where the disk is too full: nothing of them counts as written then.
        """
        new: list[Row] = []
        for row in rows:
            if row.uuid not in self._known and row.uuid not in {one.uuid for one in new}:
                new.append(row)
        if new or durable:
            self._write(b"".join(msgspec.json.encode(row) + b"\n" for row in new), durable)
            self._take(new)
        return new

    def _write(self, data: bytes, durable: bool) -> None:
        size = os.fstat(self._descriptor).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._descriptor, left) :]
            if durable:
                os.fsync(self._descriptor)
        except OSError:
            # Half a row must not stay: the next one would be written behind it.
            os.ftruncate(self._descriptor, size)
            raise

    def _take(self, rows: list[Row]) -> None:
        self.rows += rows
        self._known.update(row.uuid for row in rows)

    def _read(self) -> bool:
        """Read the rows that are there; returns whether the last line was cut."""
        data = self._path.read_bytes()
        for row in read_rows(data):
            if row.uuid not in self._known:
                self._take([row])
        return bool(data) and not data.endswith(b"\n")

    def _copy(self, source: Path) -> None:
        """Copy whole rows only, and under another name until all are there."""
        data = b"".join(msgspec.json.encode(row) + b"\n" for row in read_rows(source.read_bytes()))
        made = self._path.with_suffix(".new")
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        made.replace(self._path)


def read_rows(data: bytes) -> Iterator[Row]:
    """Yield the rows among the lines; an invalid one, or one cut by a crash, is passed over."""
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
