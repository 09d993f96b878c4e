"""Opening ``facts.db``: made, checked before use, lifted where an earlier release wrote it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from podiumd.store.connection import (
    FACTS_NAME,
    beside,
    connect_writer,
    make_private,
    remove_database,
    sync_directory,
)
from podiumd.store.errors import DATABASE_ERRORS, StoreTooNew, StoreUnreadable, is_damage
from podiumd.store.lifting import lift
from podiumd.store.schema import (
    APPLICATION_ID,
    INCREMENTAL,
    MIGRATIONS,
    Migration,
    migrate,
    schema_version,
)


def open_facts(
    directory: Path,
    migrations: Sequence[Migration] = MIGRATIONS,
    on_lift: Callable[[int], None] = lambda _seconds: None,
) -> sqlite3.Connection:
    """Open ``facts.db`` for writing, made or lifted to the newest schema as needed.

    Parameters: ``directory`` is STATE. ``on_lift`` is called with the seconds that it may take to
    lift a database of an earlier release, which stays as ``facts.db.schema-N``: that release can
    open it. Raises ``StoreUnreadable``, ``StoreTooNew``.
    """
    path = directory / FACTS_NAME
    with _named_errors(path):
        make_private(directory)
        if not os.path.lexists(path):
            _create(path, migrations)
        _refuse_what_is_no_database(path)
        connection = connect_writer(path)
        try:
            _check(connection, path, len(migrations))
            if schema_version(connection) < len(migrations):
                lift(connection, path, migrations, on_lift)
                connection = connect_writer(path)
        except BaseException:
            connection.close()
            raise
        return connection


def _create(path: Path, migrations: Sequence[Migration]) -> None:
    """Make the database under another name first: half a file never bears the real one."""
    if beside(path, "-wal").exists():
        raise StoreUnreadable(
            path,
            f"it is missing, but {path.name}-wal, which belongs to it, is there",
            f"Put {path.name} back beside it, or move {path.name}-wal away to begin anew.",
        )
    draft = beside(path, ".new")
    remove_database(draft)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(connect_writer(draft)) as connection:
        connection.execute(INCREMENTAL)  # first: it holds where nothing is in the file yet
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreUnreadable(
                path,
                f"its file system does not support SQLite's write-ahead log (got {mode!r})",
                "Put the state directory on a local disk (XDG_STATE_HOME or PODIUM_HOME).",
            )
        migrate(connection, migrations)
    draft.rename(path)
    sync_directory(path.parent)


def _refuse_what_is_no_database(path: Path) -> None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreUnreadable(
            path, "it is not a regular file", f"Move it away, or put the real {path.name} there."
        )
    if status.st_size == 0:
        raise StoreUnreadable(
            path,
            "it is empty, which a Podium database never is",
            f"Put a copy of {path.name} back, or move it away to begin anew.",
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        path.chmod(0o600)


def _check(connection: sqlite3.Connection, path: Path, known: int) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise StoreUnreadable(
            path,
            "it is a database of another program, or its first page is damaged",
            f"Put Podium's own {path.name} back, or move this one away to begin anew.",
        )
    found = schema_version(connection)
    if found > known:
        raise StoreTooNew(path, found, known)
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if found < 1 or mode != "wal":
        raise StoreUnreadable(path, "its first page is damaged", _RESTORE.format(name=path.name))
    connection.execute("SELECT max(pos) FROM facts").fetchone()
    connection.execute("SELECT max(number) FROM runs").fetchone()


_RESTORE = "Put a copy of {name} back, or move it (with {name}-wal) away to begin anew."


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise StoreUnreadable(
            path,
            f"permission denied ({error.filename})",
            f"Make {path.parent} and what is in it belong to the user who runs Podium.",
        ) from error
    except OSError as error:
        raise StoreUnreadable(
            path, str(error), f"Look at {path.parent} and its disk; nothing was changed."
        ) from error
    except DATABASE_ERRORS as error:
        fix = _RESTORE.format(name=path.name)
        if not is_damage(error):
            fix = f"See that {path} and the files beside it can be read and written by you."
        raise StoreUnreadable(path, str(error), fix) from error
