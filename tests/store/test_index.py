"""``index.db`` can always be opened: what is not sound is made anew."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from podiumd.store.index import INDEX_SCHEMA, open_index


def _with_a_row(directory: Path) -> Path:
    with closing(open_index(directory)[0]) as connection:
        connection.execute("INSERT INTO meta VALUES ('kept', 'yes')")
    return directory / "index.db"


def _rows(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT key, value FROM meta").fetchall()


def test_a_missing_index_is_made_for_its_user_alone(tmp_path: Path) -> None:
    connection, fresh = open_index(tmp_path / "state")
    with closing(connection):
        connection.execute("INSERT INTO meta VALUES ('a', 'b')")
        assert fresh
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "state").iterdir()}
        assert modes == {"index.db": 0o600, "index.db-wal": 0o600, "index.db-shm": 0o600}


def test_a_sound_index_is_kept(tmp_path: Path) -> None:
    _with_a_row(tmp_path)
    connection, fresh = open_index(tmp_path)
    with closing(connection):
        assert not fresh
        assert _rows(connection) == [("kept", "yes")]


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 500)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _bad_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


def _other_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {INDEX_SCHEMA + 1}")


def _half_made(path: Path) -> None:
    path.rename(path.with_name("index.db.new"))


@pytest.mark.parametrize("spoil", [_garbage, _empty, _bad_page, _other_schema, _half_made])
def test_an_index_that_is_not_sound_is_made_anew(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(_with_a_row(tmp_path))
    connection, fresh = open_index(tmp_path)
    with closing(connection):
        assert fresh
        assert _rows(connection) == []
    assert [path.name for path in tmp_path.iterdir()] == ["index.db"]
