"""Lifting ``facts.db`` of an earlier release to this one's schema, beside it.

A compact copy is made and lifted; whole and on the disk it takes the name, and the database as it
was keeps another, under which the earlier release can have it back. Killed anywhere in between,
the next start finds the old one untouched and begins again.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from podiumd.observe.logs import log
from podiumd.store.connection import (
    beside,
    connect_writer,
    remove_database,
    sync_directory,
    sync_file,
)
from podiumd.store.errors import DATABASE_ERRORS, StoreUnreadable, is_damage
from podiumd.store.salvage import salvage
from podiumd.store.schema import INCREMENTAL, Migration, migrate, schema_version
from podiumd.tools.failpoints import failpoint

_MEGABYTE = 1_000_000
_MORE = 1.1
"""Size of the lifted copy at most, as a share of the old one's: it has more indexes."""
_SPARE = 16 * _MEGABYTE
_SLOWEST = 5 * _MEGABYTE
"""Bytes a second that a disk is trusted with: copied, read again, indexed and synced."""
_LEAST_SECONDS = 60


def lift(
    connection: sqlite3.Connection,
    path: Path,
    migrations: Sequence[Migration],
    on_lift: Callable[[int], None],
) -> None:
    """Put a lifted copy in the place of the database, which stays as ``facts.db.schema-N``.

    Parameters: ``connection`` writes to the database, in autocommit mode, and is closed here.
    ``on_lift`` is called with the seconds that it may take. Raises ``StoreUnreadable``,
    ``OSError``, ``sqlite3.Error``; the database is then as it was.
    """
    draft, version = beside(path, ".new"), schema_version(connection)
    remove_database(draft)
    size = path.stat().st_size + _size(beside(path, "-wal"))
    _require_room(path, size)
    most = _LEAST_SECONDS + size // _SLOWEST
    on_lift(most)
    log("Lifting facts.db", schema=len(migrations), megabytes=size // _MEGABYTE, seconds_most=most)
    with closing(connection):
        lost = _copy(connection, draft, migrations[:version])
    failpoint("lift.after-copy")
    with closing(connect_writer(draft)) as lifted:
        migrate(lifted, migrations)
        lifted.execute("PRAGMA journal_mode = WAL").fetchone()
    sync_file(draft)
    failpoint("lift.before-swap")
    _swap(path, draft, beside(path, f".schema-{version}"))
    failpoint("lift.after-swap")
    if lost:
        told = f"what could not be read of it is missing, {lost} times; the copy is as it was"
        log("Damaged facts.db lifted", "error", note=told, copy=f"{path.name}.schema-{version}")
    log("Lifted facts.db", schema=len(migrations), earlier=f"{path.name}.schema-{version}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _require_room(path: Path, size: int) -> None:
    needed, free = int(size * _MORE) + _SPARE, shutil.disk_usage(path.parent).free
    if free < needed:
        raise StoreUnreadable(
            path,
            f"this release has another schema and makes a copy in it, for which {path.parent} needs"
            f" {needed // _MEGABYTE} MB and has {free // _MEGABYTE}",
            "Free some space and start again; nothing was changed, and the release before still"
            " opens it.",
        )


def _copy(connection: sqlite3.Connection, draft: Path, migrations: Sequence[Migration]) -> int:
    """Write a compact copy, and leave nothing of the database outside its file; returns how often
    something of it could not be read."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    lost = 0
    try:
        connection.execute(INCREMENTAL)  # a setting that the copy alone takes
        connection.execute("VACUUM INTO ?", (str(draft),))
    except DATABASE_ERRORS as error:
        if not (is_damage(error) or isinstance(error, sqlite3.IntegrityError)):
            raise
        os.truncate(draft, 0)
        lost = salvage(connection, draft, migrations)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return lost


def _swap(path: Path, draft: Path, copy: Path) -> None:
    """Give the old database the name of the copy, and the draft its own.

    There is no moment without a whole ``facts.db``: it has both names before it loses one.
    """
    if _size(beside(path, "-wal")):
        raise StoreUnreadable(
            path,
            "another program has it open, and what was written last is not in it yet",
            f"End what has {path} open (a shell of sqlite3?), and start again.",
        )
    for suffix in ("-wal", "-shm"):  # of the old one; the new one must not find them
        beside(path, suffix).unlink(missing_ok=True)
    remove_database(copy)
    try:
        copy.hardlink_to(path)
    except OSError:  # a file system without a second name
        shutil.copyfile(path, copy)
        copy.chmod(0o600)
        sync_file(copy)
    sync_directory(path.parent)
    failpoint("lift.half-swapped")
    draft.rename(path)
    sync_directory(path.parent)
