"""The disk of STATE: room, and how long a commit takes. The databases on it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from podiumd.doctor.subject import Subject
from podiumd.observe.checks import Check, broken, ok, warn
from podiumd.runtime.maintenance.storage import usage
from podiumd.store.connection import FACTS_NAME, beside
from podiumd.store.index import INDEX_NAME, INDEX_SCHEMA
from podiumd.store.schema import APPLICATION_ID, MIGRATIONS
from podiumd.tools.files.plain_file import require_plain

_GIB: Final = 1 << 30
_TOO_LITTLE: Final = 100 * 1024 * 1024
_LITTLE: Final = _GIB
_SYNCS: Final = 5
_SLOW_SECONDS: Final = 0.1
_CHECK_SECONDS: Final = 20.0
_STEPS: Final = 100_000  # of SQLite's virtual machine, between two looks at the time


def space(subject: Subject) -> list[Check]:
    """Room for what the daemon writes."""
    place = _existing(subject.places.state)
    usage, files = shutil.disk_usage(place), os.statvfs(place)
    room = f"{usage.free / _GIB:.1f} GiB free of {usage.total / _GIB:.0f} at {place}"
    if usage.free < _TOO_LITTLE or (files.f_files and not files.f_favail):
        why = room if usage.free < _TOO_LITTLE else f"no more files can be made at {place}"
        return [broken("disk", why, "free some space: turns wait and nothing can be stored")]
    if usage.free < _LITTLE:
        return [warn("disk", room, "free some space before it is full")]
    return [ok("disk", room)]


def storage(subject: Subject) -> list[Check]:
    """Report the size of STATE, the largest parts first."""
    rows = usage(subject.places.state, subject.places.locks)
    parts = sorted(rows, key=lambda one: -(one.bytes or 0))
    told = [f"{one.part} {_megabytes(one.bytes)}" for one in parts if one.bytes != 0]
    uncounted = any(one.bytes is None for one in rows)
    total = sum(one.bytes or 0 for one in rows)
    words = f"{'more than ' if uncounted else ''}{_megabytes(total)} at {subject.places.state}"
    return [ok("storage", f"{words}: {', '.join(told)}" if told else words)]


def _megabytes(count: int | None) -> str:
    return "(too many files to count)" if count is None else f"{count / 1024 / 1024:.1f} MiB"


def latency(subject: Subject) -> list[Check]:
    """Measure how long the disk takes to store data for sure, which every decision waits for."""
    name, place = "disk latency", subject.places.state
    try:
        seconds = _sync_seconds(_existing(place))
    except OSError as error:
        return [warn(name, f"not measured at {place}: {error.strerror}", "see 'directories'")]
    words = f"{seconds * 1000:.1f} ms a commit"
    if seconds > _SLOW_SECONDS:
        return [warn(name, words, "put STATE on a local disk (PODIUM_HOME or XDG_STATE_HOME)")]
    return [ok(name, words)]


def _sync_seconds(directory: Path) -> float:
    """Measure a small write and its sync, in a file that never has a name; return the median.

    The result is in seconds.
    """
    took = []
    with _nameless(directory) as descriptor:
        for _ in range(_SYNCS):
            began = time.perf_counter()
            os.write(descriptor, bytes(4096))
            os.fsync(descriptor)
            took.append(time.perf_counter() - began)
    return median(took)


@contextmanager
def _nameless(directory: Path) -> Iterator[int]:
    if hasattr(os, "O_TMPFILE"):
        descriptor = os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            yield file.fileno()


def _existing(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.is_dir())


def databases(subject: Subject) -> list[Check]:
    """``facts.db``, the truth, and ``index.db``, which can be lost."""
    state, runs = subject.places.state, subject.daemon.pid is not None
    return [_facts(state / FACTS_NAME, runs), _index(state / INDEX_NAME, runs)]


def _facts(path: Path, daemon_runs: bool) -> Check:
    name = "facts.db"
    if not path.exists():
        return ok(name, "none yet: the first start makes it")
    fix = f"'podium down', then put a copy of {path} back, or move it (with -wal) away"
    try:
        with reading(path, daemon_runs) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID:
                return broken(name, f"{path} is a database of another program", fix)
            if schema > len(MIGRATIONS):
                known = f"this release knows up to {len(MIGRATIONS)}"
                fix = "install the newer Podium that wrote it"
                return broken(name, f"{path} has schema {schema}, and {known}", fix)
            verdict = _quick_check(connection)
            (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
    except (sqlite3.Error, OSError) as error:
        return broken(name, f"{path} cannot be read: {error}", fix)
    if verdict not in ("ok", ""):
        return broken(name, f"{path} is damaged: {verdict}", fix)
    size = f"{path.stat().st_size / 1024 / 1024:.1f} MiB, runs: {count}, schema {schema}"
    old = " (a start lifts it)" if schema < len(MIGRATIONS) else ""
    return ok(name, f"{'sound' if verdict else 'too large to check through'}: {size}{old}")


def _index(path: Path, daemon_runs: bool) -> Check:
    name = "index.db"
    if not path.exists():
        return ok(name, "none yet: a start makes it")
    try:
        with reading(path, daemon_runs) as connection:
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            verdict = _quick_check(connection)
            (count,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
    except (sqlite3.Error, OSError) as error:
        return warn(name, f"{path} cannot be read: {error}", "a restart makes it anew")
    if schema != INDEX_SCHEMA:
        return ok(name, f"of another release (schema {schema}): the next start makes it anew")
    if verdict not in ("ok", ""):
        return warn(name, f"{path} is damaged: {verdict}", "a restart makes it anew")
    return ok(name, f"{'sound' if verdict else 'too large to check through'}, sessions: {count}")


@contextmanager
def reading(path: Path, daemon_runs: bool) -> Iterator[sqlite3.Connection]:
    """Open a connection that leaves no trace beside the database.

    SQLite makes files beside a database in WAL mode even for a reader. Where a daemon runs they are
    there. Where none does, a database whose log is empty is read as it is, and one that a killed
    daemon left with a log is read from a copy. Raises ``OSError``, ``sqlite3.Error``.
    """
    log = beside(path, "-wal")
    require_plain(path, path.stat())
    if daemon_runs:
        with _connected(path, "mode=ro") as connection:
            yield connection
    elif not log.exists() or not log.stat().st_size:
        with _connected(path, "mode=ro&immutable=1") as connection:
            yield connection
    else:
        with tempfile.TemporaryDirectory(prefix="podium-doctor-") as directory:
            copy = Path(directory, path.name)
            shutil.copyfile(path, copy)
            shutil.copyfile(log, beside(copy, "-wal"))
            with _connected(copy, "mode=rw") as connection:
                yield connection


@contextmanager
def _connected(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection


def _quick_check(connection: sqlite3.Connection) -> str:
    """SQLite's own verdict: "ok", or what is wrong; empty where it takes too long."""
    until = time.monotonic() + _CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return ""
    finally:
        connection.set_progress_handler(None, 0)
    return str(verdict)
