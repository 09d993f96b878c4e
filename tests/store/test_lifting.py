"""A database of an earlier release: lifted beside itself, never half, and kept as it was."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import sys
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
import trio

import podiumd
from podiumd.store import connection as connecting
from podiumd.store.errors import FactDamaged, StoreUnreadable
from podiumd.store.facts import Store, open_store
from podiumd.store.opening import open_facts
from podiumd.store.schema import MIGRATIONS, schema_version
from podiumd.tools import failpoints
from tests.long import spread
from tests.store.recorded import ENDED, FACTS, PROMPT, WAITING, recorded
from tests.store.support import a_fact, a_run

POINTS = ["lift.after-copy", "lift.after-swap", "lift.before-swap", "lift.half-swapped"]

CHILD = """
import pathlib, sys
from podiumd.store.opening import open_facts
open_facts(pathlib.Path(sys.argv[1]))
"""


async def lost_nothing(store: Store) -> None:
    """All that the release before had stored is there, and goes on."""
    assert await store.last_pos() == FACTS
    for run_id, count in ((PROMPT, 4), (ENDED, 14), (WAITING, 8)):
        assert len(await store.events(run_id)) == count
    assert [(run.run_id, run.intact) for run in await store.open_runs()] == [(WAITING, True)]
    assert await store.token("sessions.prompt", "recorded") is not None
    [fact] = await store.append(a_run("next"), [a_fact()])
    assert (fact.pos, fact.seq) == (FACTS + 1, 1)


async def test_what_the_release_before_wrote_is_lifted_and_all_of_it_is_found(
    tmp_path: Path,
) -> None:
    before = recorded(tmp_path).stat().st_ino
    told: list[int] = []
    async with open_store(tmp_path, on_lift=told.append) as store:
        await lost_nothing(store)
        [closed] = await store.named("question.closed", "", 10)
        assert closed.run_id == ENDED
        turns = await store.named("turn.intended", "", 10)
        assert sorted(fact.run_id for fact in turns) == sorted([PROMPT, ENDED, ENDED, WAITING])
    assert told == [60], "how many seconds it may take is told before it begins"
    copy = tmp_path / "facts.db.schema-2"
    assert copy.stat().st_ino == before, "no second copy was written"
    assert stat.S_IMODE((tmp_path / "facts.db").stat().st_mode) == 0o600
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_the_release_before_can_have_its_database_back(tmp_path: Path) -> None:
    recorded(tmp_path)
    async with open_store(tmp_path) as store:
        await store.append(a_run("next"), [a_fact()])
    (tmp_path / "facts.db.schema-2").rename(tmp_path / "facts.db")
    with closing(open_facts(tmp_path, MIGRATIONS[:2])) as connection:
        assert schema_version(connection) == 2
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (FACTS,)


def test_a_kill_is_tried_wherever_the_lift_has_a_point() -> None:
    assert [name for name in failpoints.names() if name.startswith("lift.")] == POINTS


@pytest.mark.parametrize("point", spread(POINTS, 2))
async def test_a_lift_that_was_killed_lost_nothing_and_is_begun_again(
    tmp_path: Path, point: str
) -> None:
    recorded(tmp_path)
    result = await trio.run_process(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(podiumd.__file__).parent.parent),
            "PODIUM_FAILPOINT": point,
        },
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    async with open_store(tmp_path) as store:
        await lost_nothing(store)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["facts.db", "facts.db.schema-2"]
    with closing(sqlite3.connect(tmp_path / "facts.db.schema-2")) as connection:
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (FACTS,)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


async def test_what_a_killed_daemon_left_in_its_log_is_lifted_too(tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    path = recorded(live)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO settings VALUES ('last', X'31')")
        shutil.copytree(live, tmp_path / "left")
    (tmp_path / "left" / "facts.db-shm").unlink()
    assert (tmp_path / "left" / "facts.db-wal").stat().st_size
    async with open_store(tmp_path / "left") as store:
        assert await store.setting("last") == b"1"
        await lost_nothing(store)


Usage = namedtuple("Usage", "total used free")


async def test_without_room_for_a_copy_nothing_is_begun_and_the_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorded(tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 3_000_000, 3_000_000))
    with pytest.raises(StoreUnreadable, match=r"needs 16 MB and has 3\. .*Free some space"):
        async with open_store(tmp_path):
            pass
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["facts.db"]


async def test_a_database_that_another_program_reads_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the log cannot be brought into the file while somebody looks at what was."""
    monkeypatch.setattr(connecting, "LOCK_WAIT_SECONDS", 0.0)
    path = recorded(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM facts").fetchone()
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("INSERT INTO settings VALUES ('last', X'31')")
            with pytest.raises(StoreUnreadable, match=r"another program has it open.*sqlite3"):
                async with open_store(tmp_path):
                    pass
    async with open_store(tmp_path) as store:
        assert await store.setting("last") == b"1"
        await lost_nothing(store)


async def test_where_a_file_can_have_one_name_alone_the_old_one_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, target: Path) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    recorded(tmp_path)
    monkeypatch.setattr(Path, "hardlink_to", refused)
    async with open_store(tmp_path) as store:
        await lost_nothing(store)
    copy = tmp_path / "facts.db.schema-2"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(open_facts(tmp_path, MIGRATIONS)), closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (FACTS,)


async def test_a_fact_that_is_damaged_is_lifted_as_it_is(tmp_path: Path) -> None:
    """Its checksum says so, and its run alone has lost something."""
    with closing(sqlite3.connect(recorded(tmp_path))) as connection:
        connection.execute("UPDATE facts SET data = X'7B' WHERE type = 'question.closed'")
        connection.commit()
    async with open_store(tmp_path) as store:
        assert await store.named("question.closed", "", 10) == []
        assert len(await store.events(WAITING)) == 8
        assert msgspec.json.decode((await store.runs(limit=1))[0].summary)["recipe"] == "note"


def _page_of(path: Path, pos: int) -> int:
    """The page of the file that a fact's row is in: a leaf of the table of facts."""
    with closing(sqlite3.connect(path)) as connection:
        (data,) = connection.execute("SELECT checksum FROM facts WHERE pos = ?", (pos,)).fetchone()
    return path.read_bytes().index(data) // 4096


async def test_a_page_that_cannot_be_read_is_lost_alone_and_what_was_stays_as_it_was(
    tmp_path: Path,
) -> None:
    """The run whose facts were there says so, as under the release before; the others go on."""
    path = recorded(tmp_path)
    page = _page_of(path, 7)
    content = bytearray(path.read_bytes())
    content[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    async with open_store(tmp_path) as store:
        lost = FACTS - len(await store.events_after(0, 100))
        assert 0 < lost < 14, "one page has some facts of one run"
        assert len(await store.events(PROMPT)) == 4
        assert len(await store.events(WAITING)) == 8
        with pytest.raises(FactDamaged, match="is missing"):
            await store.events(ENDED)
        assert len(await store.runs()) == 3
        assert await store.token("sessions.prompt", "recorded") is not None
        [fact] = await store.append(a_run("next"), [a_fact()])
        assert fact.pos == FACTS + 1
    assert (tmp_path / "facts.db.schema-2").read_bytes() == bytes(content)
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
