"""A home that an earlier release has left: its daemon was killed in the middle of two turns.

``python -m tests.recorded.earlier FILE``, run with this folder in a checkout of that release,
writes such a home as an archive. ``unpacked`` puts it somewhere else, with the same length of path:
what says where something is, transcripts and checksums included, then speaks of the new place, and
of a time some minutes ago: nothing is over or forgotten for what has passed since it was left.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from podiumd.runtime.clock import Clock
from podiumd.store.records import checksum
from tests.recorded import scenario
from tests.recorded.world import World, world

ARCHIVE: Final = Path(__file__).parents[1] / "fixtures" / "state-51073c6.tar.gz"
_CHECKED: Final = (
    ("facts", "pos", "data", "pos, run_id, seq, type, version, at, session_id"),
    (
        *("runs", "run_id", "summary"),
        "run_id, kind, status, session_id, working_directory, started_at, ended_at, last_seq",
    ),
)
"""Tables whose rows have a checksum: their keys, the column with the data, the others in it."""

_TIME: Final = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MONO: Final = re.compile(rb'"mono":([0-9.]+)')
_AGO: Final = timedelta(minutes=5)

LEFT_OUT: Final = ("bin", "podium.sock", "stderr", "sound.pcm")


def leave(made: World) -> None:
    """Play runs of each kind, and kill the daemon and its agents while two of them are at work."""
    scenario.finished(made)
    scenario.at_a_gate(made)
    scenario.in_a_talk(made)
    made.main.call("gateway.pair", name="A phone")
    native = {"agent": "native", "working_directory": made.project("calc")}
    made.main.call("sessions.prompt", text="Mend it.", **native)
    doors = [made.held("calc")]
    outside = scenario.begin(made, "outside", "outside", agent="claude")
    doors.append(made.held("outside"))
    agent = made.until(outside, "turn.started")["pid"]
    made.daemon.process.kill()
    made.daemon.process.wait()
    os.kill(agent, signal.SIGKILL)
    for door in doors:
        os.close(door)


def pack(home: Path, archive: Path) -> None:
    """Write a home into an archive; what it holds says itself where it was."""
    for name in ("facts.db", "index.db"):
        with closing(sqlite3.connect(home / "state" / name)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for started in home.glob("state/turns/*/mcp.json"):  # by a program of this checkout
        program = f"{Path(sys.executable).parent}/"
        started.write_text(started.read_text().replace(program, "/usr/bin/"))
    (home / "was").write_text(str(home))
    with tarfile.open(archive, "w:gz", compresslevel=9) as packed:
        for path in sorted(home.iterdir()):
            if path.name not in LEFT_OUT:
                packed.add(path, path.name)


def _as_it_is(member: tarfile.TarInfo, _path: str) -> tarfile.TarInfo:
    return member


@contextmanager
def unpacked(archive: Path = ARCHIVE) -> Iterator[Path]:
    """The home, somewhere else."""
    home = Path(tempfile.mkdtemp(prefix="podium-recorded-", dir="/tmp"))
    try:
        with tarfile.open(archive) as packed:
            packed.extraction_filter = _as_it_is
            packed.extractall(home)
        move(home)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def move(home: Path) -> None:
    """Have the files of a home speak of where it is now."""
    was, now = (home / "was").read_bytes(), os.fsencode(home)
    assert len(was) == len(now)
    moves = [(was, now), (Path(os.fsdecode(was)).name.encode(), home.name.encode())]
    later = _later(home / "state" / "facts.db")
    _move_facts(home / "state" / "facts.db", was, now, later)
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name != "facts.db":
            text = path.read_bytes()
            changed = text
            for old, new in moves:
                changed = changed.replace(old, new)
            changed = _moved_on(changed, later)
            if changed != text:
                path.write_bytes(changed)
    [folder] = (home / ".claude" / "projects").iterdir()
    folder.rename(folder.with_name(str(home / "shop").replace("/", "-")))


def _later(path: Path) -> timedelta:
    """How far to move times on, so that the last fact is some minutes old."""
    with closing(sqlite3.connect(path)) as connection:
        [(last,)] = connection.execute("SELECT max(at) FROM facts")
    return datetime.now(UTC) - _AGO - datetime.fromisoformat(last)


def _moved_on(text: bytes, later: timedelta) -> bytes:
    def moved(found: re.Match[bytes]) -> bytes:
        at = datetime.fromisoformat(found[0].decode()) + later
        return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3].encode() + b"Z"

    return _TIME.sub(moved, text)


def _mono_moved_on(text: bytes, seconds: float) -> bytes:
    return _MONO.sub(lambda found: b'"mono":%.6f' % (float(found[1]) + seconds), text)


def _move_facts(path: Path, was: bytes, now: bytes, later: timedelta) -> None:
    """Each row is first found to match its checksum, then gets that of the new place."""
    with closing(sqlite3.connect(path)) as connection:
        for table, key, data, fields in _CHECKED:
            rows = connection.execute(f"SELECT {data}, checksum, {fields} FROM {table}").fetchall()
            told = [float(mono) for text, *_ in rows for mono in _MONO.findall(text)]
            on = Clock().mono() - _AGO.total_seconds() - max(told, default=0.0)
            for text, stored, *row in rows:
                assert checksum(text, *row) == stored, (table, row)
                moved = _moved_on(text.replace(was, now), later)
                moved = _mono_moved_on(moved, on)
                there = [
                    _moved_on(os.fsencode(one).replace(was, now), later).decode()
                    if isinstance(one, str)
                    else one
                    for one in row
                ]
                columns = ", ".join(f"{name} = ?" for name in fields.split(", "))
                connection.execute(
                    f"UPDATE {table} SET {data} = ?, checksum = ?, {columns} WHERE {key} = ?",
                    (moved, checksum(moved, *there), *there, row[0]),
                )
        connection.commit()


if __name__ == "__main__":
    with world() as made:
        leave(made)
        pack(made.home, Path(sys.argv[1]))
