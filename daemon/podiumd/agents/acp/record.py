"""The record of a session whose agent's own files are not read: a file that Podium writes.

After a turn its spool is read once more, and what was said and done goes to the end of the file. A
row that a crash has left unclear is simply written again: one that the file has already is passed
over, for its uuid follows from its turn and its place in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from podiumd.agents.acp.dialect import AcpDialect
from podiumd.agents.acp.rows import Rows
from podiumd.agents.acp.script import FILE, Before, stored
from podiumd.drivers.agent_process import SPOOL
from podiumd.drivers.spool import SpoolReader
from podiumd.formats.acp.session import Row
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.durable_file import sync_directory

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_MADE: Final = 3
"""Directories above a record whose names may be new: of the agent, of all agents', STATE."""


class _Known(msgspec.Struct, frozen=True):
    type: str = ""
    uuid: str = ""
    text: str = ""


def keep(directory: Path, turn_id: str, file: Path) -> None:
    """Write the turn of this directory into its session's record, durably; again is harmless.

    Blocks; raises ``OSError``. Nothing is written of a turn whose prompt has not arrived.
    """
    script = stored(str(directory))
    if script is None:
        return
    rows = Rows(script)
    dialect = AcpDialect(script, rows)
    for line in _lines(directory / SPOOL):
        dialect.feed(line)
    if not dialect.taken_up:
        return
    times = (_time(directory / FILE), _time(directory / SPOOL))
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, _FLAGS, 0o600)
    try:
        before = file.read_bytes()
        made = rows.made(turn_id, times, first=not before)
        _append(descriptor, before, made)
    finally:
        os.close(descriptor)
    for above in file.parents[:_MADE]:
        sync_directory(above)  # also where an earlier daemon died before it was
    failpoint("record.after-write")


def last_words(file: Path) -> Before | None:
    """Return the last prompt in a record, and the last words after it; ``None``: there is none.

    Blocks.
    """
    asked, said = None, ""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return None
    for line in lines:
        row = _read(line)
        if row is not None and row.type == "prompt":
            asked, said = row.text, ""
        elif row is not None and row.type == "reply":
            said = row.text
    return None if asked is None else Before(asked, said)


def _append(descriptor: int, before: bytes, rows: list[Row]) -> None:
    known = {row.uuid for line in before.split(b"\n") if (row := _read(line)) is not None}
    new = [msgspec.json.encode(row) + b"\n" for row in rows if row.uuid not in known]
    torn = b"" if before.endswith(b"\n") or not before else b"\n"
    failpoint("record.before-write")
    left = memoryview(torn + b"".join(new))
    try:
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, len(before))  # half a row must not stay
        raise


def _read(line: bytes) -> _Known | None:
    try:
        return msgspec.json.decode(line, type=_Known)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _lines(path: Path) -> Iterator[bytes]:
    try:
        spool = SpoolReader(path)
    except FileNotFoundError:
        return
    try:
        while not spool.at_end:
            for line in spool.read():
                yield line.data
    finally:
        spool.close()


def _time(path: Path) -> str:
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
