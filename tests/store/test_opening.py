"""Opening ``facts.db``: what is refused and what is said then, migrations, backups."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from podiumd.store import connection as connecting
from podiumd.store.errors import StoreTooNew, StoreUnreadable
from podiumd.store.facts import open_store
from podiumd.store.opening import open_facts
from podiumd.store.schema import APPLICATION_ID, MIGRATIONS, schema_version
from podiumd.store.writing import Decision, put_setting
from tests.store.support import a_fact, a_run, value_of

RELEASE_1 = Path(__file__).with_name("facts-v1.sql")


async def _history(directory: Path) -> Path:
    async with open_store(directory) as store:
        for number in range(20):
            await store.append(a_run(f"run-{number}"), [a_fact("x" * 500)])
    return directory / "facts.db"


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database\n" * 1000)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    os.truncate(path, 5000)


def _bad_first_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)


def _bad_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_garbage, "not a database"),
        (_empty, "empty"),
        (_cut, "malformed"),
        (_bad_first_page, "malformed"),
        (_bad_version, "first page is damaged"),
        (_directory, "not a regular file"),
        (_another_program, "another program"),
    ],
)
async def test_a_file_that_is_no_sound_database_refuses_to_open_and_is_left_alone(
    tmp_path: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    path = await _history(tmp_path)
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreUnreadable, match=reason) as raised:
        async with open_store(tmp_path):
            pass
    assert raised.value.file == path
    assert str(path) in str(raised.value)
    assert raised.value.fix in str(raised.value)
    assert (path.read_bytes() if path.is_file() else None) == before


async def test_a_missing_database_whose_log_is_there_refuses_to_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "facts.db-wal").write_bytes(b"what was acknowledged last")
    with pytest.raises(StoreUnreadable, match=r"facts.db-wal, which belongs to it"):
        async with open_store(tmp_path):
            pass
    assert not (tmp_path / "facts.db").exists()


async def test_a_state_directory_that_is_a_file_refuses_to_open(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StoreUnreadable, match="state"):
        async with open_store(tmp_path / "state"):
            pass


@contextmanager
def _as_someone_without_rights() -> Iterator[None]:
    """Root may read everything, so for a moment the test is somebody else."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


async def test_a_database_without_permission_says_whose_it_should_be(tmp_path: Path) -> None:
    path = await _history(tmp_path)
    tmp_path.chmod(0)
    try:
        with _as_someone_without_rights(), pytest.raises(StoreUnreadable) as raised:
            async with open_store(tmp_path):
                pass
    finally:
        tmp_path.chmod(0o700)
    assert "permission denied" in raised.value.reason
    assert str(path) in str(raised.value)
    assert "belong to the user who runs Podium" in raised.value.fix


async def test_a_new_database_can_give_its_pages_back(tmp_path: Path) -> None:
    with closing(open_facts(tmp_path)) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


async def test_a_creation_that_was_cut_off_is_begun_again(tmp_path: Path) -> None:
    for name in ("facts.db.new", "facts.db.new-wal", "facts.db.new-shm"):
        (tmp_path / name).write_bytes(b"half")
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact()])
    assert [path.name for path in tmp_path.iterdir()] == ["facts.db"]


async def test_a_file_system_without_a_write_ahead_log_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database in memory answers as one does on a file system where WAL cannot work."""
    connect = connecting.connect_writer

    def connect_in_memory(path: Path) -> sqlite3.Connection:
        connect(path).close()
        return sqlite3.connect(":memory:", isolation_level=None)

    monkeypatch.setattr("podiumd.store.opening.connect_writer", connect_in_memory)
    with pytest.raises(StoreUnreadable, match="write-ahead log"):
        async with open_store(tmp_path):
            pass


async def test_a_newer_schema_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = await _history(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")
    known = f"up to {len(MIGRATIONS)}"
    with pytest.raises(StoreTooNew, match=rf"schema 9.*{known}.*newer") as raised:
        async with open_store(tmp_path):
            pass
    assert (raised.value.found, raised.value.known) == (9, len(MIGRATIONS))


# What a coming release may do.
NEXT = len(MIGRATIONS) + 1


def _next(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE settings ADD COLUMN note TEXT")


def _after_next_fails(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE unfinished (a)")
    raise sqlite3.OperationalError("no space")


async def test_an_older_schema_is_copied_and_then_lifted(tmp_path: Path) -> None:
    await _history(tmp_path)
    copy = tmp_path / f"facts.db.schema-{len(MIGRATIONS)}"
    copy.write_bytes(b"of an attempt that was cut off")
    with closing(open_facts(tmp_path, (*MIGRATIONS, _next))) as connection:
        assert schema_version(connection) == NEXT
        connection.execute("SELECT note FROM settings")
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (20,)
    (tmp_path / "facts.db").unlink()
    copy.rename(tmp_path / "facts.db")
    async with open_store(tmp_path) as store:
        assert await store.last_pos() == 20


async def test_a_migration_that_fails_leaves_the_schema_before_it(tmp_path: Path) -> None:
    await _history(tmp_path)
    with pytest.raises(StoreUnreadable, match="no space"):
        open_facts(tmp_path, (*MIGRATIONS, _next, _after_next_fails))
    with closing(open_facts(tmp_path, (*MIGRATIONS, _next))) as connection:
        assert schema_version(connection) == NEXT
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE name = 'unfinished'")
        assert tables.fetchall() == []


async def test_the_log_of_release_1_is_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(RELEASE_1.read_text())
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    async with open_store(tmp_path) as store:
        [open_run] = await store.open_runs()
        assert (open_run.run_id, open_run.intact) == ("run-b", True)
        facts = await store.events_after(0, 100)
        assert [(f.pos, f.run_id, f.seq, f.type) for f in facts] == [
            (1, "run-a", 1, "run.started"),
            (2, "run-b", 1, "run.started"),
            (3, "run-a", 2, "turn.ended"),
            (4, "run-a", 3, "run.ended"),
            (5, "run-b", 2, "turn.intended"),
        ]
        assert value_of(facts[2]) == ["déjà vu", None, 1.5]
        assert await store.events("run-a") == [facts[0], facts[2], facts[3]]
        assert (await store.token("runs.start", "token-1")) is not None
        assert await store.setting("orchestration") == b"true"
        assert await store.mark("session-1") == b'{"size":42}'
        [fact] = await store.append(a_run("run-b"), [a_fact()])
        assert (fact.pos, fact.seq) == (6, 3)


RELEASE_1_MIGRATIONS = MIGRATIONS[:1]


def _written_by_release_1(directory: Path) -> None:
    with closing(open_facts(directory, RELEASE_1_MIGRATIONS)) as connection:
        for number in range(20):
            decision = Decision(
                directory / "facts.db",
                a_run(f"run-{number % 3}"),
                (a_fact(number),),
                ("runs.start", f"token-{number}", "digest"),
                ("session-1", b'{"size":%d}' % number),
                begins=True,
            )
            connection.execute("BEGIN")
            decision(connection)
            connection.execute("COMMIT")
        put_setting(connection, "orchestration", b"true")


async def test_a_lifted_database_is_too_new_for_release_1_and_its_copy_is_not(
    tmp_path: Path,
) -> None:
    _written_by_release_1(tmp_path)
    async with open_store(tmp_path):
        pass
    with pytest.raises(StoreTooNew, match=r"schema 4.*up to 1.*newer"):
        open_facts(tmp_path, RELEASE_1_MIGRATIONS)
    copy = tmp_path / "facts.db.schema-1"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    copy.rename(tmp_path / "facts.db")
    with closing(open_facts(tmp_path, RELEASE_1_MIGRATIONS)) as connection:
        assert schema_version(connection) == 1
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (20,)


RELEASED = {
    1: "f0f3d2d63c5f08cc",
    2: "71e8d11d01c68056",
    3: "ccc6669233fbce80",
    4: "2e2f76e7c89bac05",
}
"""What each entry of the schema does to a database, as a digest. It has lifted databases of people:
a digest is written for a new entry, and never changed."""


def test_an_entry_of_the_schema_that_was_released_does_what_it_did() -> None:
    named = b'{"session_id": "one", "agent_session_id": "own"}'
    done: dict[int, str] = {}
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for number, entry in enumerate(MIGRATIONS, start=1):
            statements: list[str] = []
            connection.set_trace_callback(statements.append)
            entry(connection)
            connection.set_trace_callback(None)
            done[number] = hashlib.sha256("\n".join(statements).encode()).hexdigest()[:16]
            if number == 1:
                fact = (1, "run", 1, "session.named", 1, "", "one", named, b"")
                connection.execute("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", fact)
    assert done == RELEASED
