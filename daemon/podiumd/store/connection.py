"""Opening the store's SQLite files: modes, pragmas, creation, the checks before use."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from podiumd.store.errors import DATABASE_ERRORS, StoreTooNew, StoreUnreadable, is_damage
from podiumd.store.schema import APPLICATION_ID, MIGRATIONS, Migration, migrate, schema_version

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS_NAME = "facts.db"

# A commit is on the disk when it returns (FULL; on macOS only fullfsync reaches the medium, and
# elsewhere those two do nothing). cell_size_check finds a damaged page before it is believed.
DURABLE_PRAGMAS: tuple[str, ...] = (
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "journal_size_limit = 16777216",
    "cell_size_check = ON",
    "trusted_schema = OFF",
)
READER_PRAGMAS: tuple[str, ...] = (
    "query_only = ON",
    "cell_size_check = ON",
    "trusted_schema = OFF",
)

# Nobody but a person's own SQLite shell should ever hold the lock.
LOCK_WAIT_SECONDS = 5.0

_WITH_IT = ("-wal", "-shm")


def _connect(path: Path, mode: str, pragmas: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=LOCK_WAIT_SECONDS,
        check_same_thread=False,
    )
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_writer(path: Path) -> sqlite3.Connection:
    """A connection that writes durably, in autocommit mode. Raises ``sqlite3.Error``."""
    return _connect(path, "rw", DURABLE_PRAGMAS)


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. Raises ``sqlite3.Error``.

    Text comes back even when it is not UTF-8, so that a checksum can judge it.
    """
    connection = _connect(path, "ro", READER_PRAGMAS)
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def make_private(directory: Path) -> None:
    """Make the directory, for its user alone, or take others' rights to it away."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(directory.stat().st_mode) & 0o077:
        directory.chmod(0o700)


def remove_database(path: Path) -> None:
    """Remove a database with the files that belong to it."""
    for name in (path, *(beside(path, suffix) for suffix in _WITH_IT)):
        name.unlink(missing_ok=True)


def beside(path: Path, suffix: str) -> Path:
    """The path with the suffix added to its name."""
    return path.with_name(path.name + suffix)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_facts(directory: Path, migrations: Sequence[Migration] = MIGRATIONS) -> sqlite3.Connection:
    """Open ``facts.db`` for writing, made or lifted to the newest schema as needed.

    Parameters: ``directory`` is STATE. Before a database of an earlier release is lifted it is
    copied to ``facts.db.schema-N``, which that release can open.
    Raises ``StoreUnreadable``, ``StoreTooNew``.
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
                _back_up(connection, path)
                migrate(connection, migrations)
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


def _back_up(connection: sqlite3.Connection, path: Path) -> None:
    copy = beside(path, f".schema-{schema_version(connection)}")
    remove_database(copy)
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(connect_writer(copy)) as target:
        connection.backup(target)
    sync_directory(path.parent)


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
