"""A damaged ``facts.db``: named errors, true prefixes, other runs unaffected."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from podiumd.store.errors import FactDamaged, StoreError
from podiumd.store.facts import open_store
from podiumd.store.records import Ledger, StoredFact
from tests.long import sampled
from tests.store.support import a_fact, a_run, value_of

Log = dict[str, list[StoredFact]]


def _edit(directory: Path, statement: str, *parameters: object) -> None:
    """Change the database behind the store's back."""
    with closing(sqlite3.connect(directory / "facts.db", isolation_level=None)) as connection:
        assert connection.execute(statement, parameters).rowcount == 1


async def _two_runs(directory: Path) -> None:
    async with open_store(directory) as store:
        for number in range(1, 5):
            await store.append(a_run("a"), [a_fact(number)])
            await store.append(a_run("b"), [a_fact(-number)])


@pytest.mark.parametrize(
    "change",
    [
        "data = CAST('{\"value\":9}' AS BLOB)",
        "data = '{\"value\":3}'",
        "type = 'step.left'",
        "version = 2",
        "version = X'31'",
        "at = '2027-01-02T03:04:05.678Z'",
        "session_id = NULL",
        "session_id = 'session-2'",
        "session_id = CAST(X'FF' AS TEXT)",
        "checksum = X'00'",
        "pos = 77",
    ],
)
async def test_a_changed_fact_stops_its_run_with_the_facts_before_it(
    tmp_path: Path, change: str
) -> None:
    await _two_runs(tmp_path)
    _edit(tmp_path, f"UPDATE facts SET {change} WHERE run_id = 'a' AND seq = 3")
    async with open_store(tmp_path) as store:
        with pytest.raises(FactDamaged, match="fact 3 of run a") as raised:
            await store.events("a")
        assert (raised.value.run_id, raised.value.seq) == ("a", 3)
        assert raised.value.file == tmp_path / "facts.db"
        assert [value_of(f) for f in raised.value.prefix] == [1, 2]
        assert [value_of(f) for f in await store.events("a", limit=2)] == [1, 2]
        assert [value_of(f) for f in await store.events("b")] == [-1, -2, -3, -4]
        assert [value_of(f) for f in await store.events_after(0, 100)] == [
            *(1, -1, 2, -2),
            *(-3, 4, -4),
        ]


@pytest.mark.parametrize("seq", [1, 3, 4])
async def test_a_missing_fact_is_damage_even_at_the_end(tmp_path: Path, seq: int) -> None:
    await _two_runs(tmp_path)
    _edit(tmp_path, "DELETE FROM facts WHERE run_id = 'a' AND seq = ?", seq)
    async with open_store(tmp_path) as store:
        with pytest.raises(FactDamaged, match="is missing") as raised:
            await store.events("a")
        assert raised.value.seq == seq
        assert [f.seq for f in raised.value.prefix] == list(range(1, seq))
        assert len(await store.events("b")) == 4


async def test_a_page_of_damaged_facts_does_not_end_the_common_log(tmp_path: Path) -> None:
    await _two_runs(tmp_path)
    for seq in (2, 3, 4):
        _edit(tmp_path, "UPDATE facts SET type = 'x' WHERE run_id = 'a' AND seq = ?", seq)
    async with open_store(tmp_path) as store:
        assert [value_of(f) for f in await store.events_after(2, 2)] == [-2, -3]


@pytest.mark.parametrize("change", ["summary = '{}'", "kind = X'00'", "status = 'queued'"])
async def test_a_changed_run_row_says_that_it_is_not_intact(tmp_path: Path, change: str) -> None:
    await _two_runs(tmp_path)
    _edit(tmp_path, f"UPDATE runs SET {change} WHERE run_id = 'a'")
    async with open_store(tmp_path) as store:
        assert [(r.run_id, r.intact) for r in await store.open_runs()] == [
            ("b", True),
            ("a", False),
        ]
        row = await store.run("a")
        assert row is not None
        assert row.summary == b"null"
        await store.append(a_run("a"), [])
        assert await store.run("a") == a_run("a")
        assert len(await store.events("a")) == 4


async def test_a_run_row_that_counts_wrong_never_hands_out_a_seq_twice(tmp_path: Path) -> None:
    await _two_runs(tmp_path)
    _edit(tmp_path, "UPDATE runs SET last_seq = 2 WHERE run_id = 'a'")
    async with open_store(tmp_path) as store:
        await store.append(a_run("a"), [a_fact(5)])
        assert [value_of(f) for f in await store.events("a")] == [1, 2, 3, 4, 5]
        await store.append(a_run("b"), [a_fact(5)])


@pytest.mark.parametrize(
    "change",
    ["last_seq = 4000000000000", "last_seq = X'00'", "last_seq = 9, kind = CAST(X'ff' AS TEXT)"],
)
async def test_a_run_row_that_counts_wrong_makes_no_facts_of_its_run_missing(
    tmp_path: Path, change: str
) -> None:
    await _two_runs(tmp_path)
    _edit(tmp_path, f"UPDATE runs SET {change} WHERE run_id = 'a'")
    async with open_store(tmp_path) as store:
        assert [value_of(f) for f in await store.events("a")] == [1, 2, 3, 4]
        await store.append(a_run("a"), [a_fact(5)])
        assert [value_of(f) for f in await store.events("a")] == [1, 2, 3, 4, 5]
        row = await store.run("a")
        assert row is not None and row.intact


async def test_a_mark_that_is_no_longer_bytes_is_named(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [], mark=("session-1", b"{}"))
    _edit(tmp_path, "UPDATE marks SET mark = 5")
    async with open_store(tmp_path) as store:
        with pytest.raises(StoreError, match="'session-1' is damaged"):
            await store.mark("session-1")


LEDGERS = [Ledger(f"session-{n}", 2, bytes([n]) * 17 * 90, b"{}") for n in range(6)]


async def _history(directory: Path) -> Log:
    """Runs over several pages; the newest facts only in the write-ahead log, as after a crash."""
    live = directory / "live"
    async with open_store(live) as store:
        for number in range(120):
            run_id = f"run-{number % 6}"
            await store.append(
                a_run(run_id), [a_fact([number, "x" * (number * 7 % 300)])], mark=(run_id, b"{}")
            )
        await store.save_ledgers(LEDGERS)
    async with open_store(live) as store:
        for number in range(30):
            await store.append(a_run(f"run-{number % 6}"), [a_fact(number)])
        shutil.copytree(live, directory / "sound")
        return {f"run-{n}": await store.events(f"run-{n}") for n in range(6)}


async def _read_all(directory: Path, log: Log) -> tuple[int, int]:
    """Read everything; each fact must be a true one. Counts what was whole and what was refused."""
    whole = refused = 0
    try:
        async with open_store(directory) as store:
            for run_id, facts in log.items():
                try:
                    read = await store.events(run_id)
                    whole += 1
                except FactDamaged as error:
                    read = list(error.prefix)
                    refused += 1
                except StoreError:
                    refused += 1
                    continue
                # The log's own end may be lost with the file's; nothing may be untrue.
                assert read == facts[: len(read)]
            known = {fact.pos: fact for facts in log.values() for fact in facts}
            try:
                assert all(known[f.pos] == f for f in await store.events_after(0, 1000))
                await store.runs()
                await store.mark("run-1")
                assert await store.ledger("session-1") in (None, LEDGERS[1])
                gone = await store.ledgers_gone()
                assert all(one in LEDGERS for one in gone if one.intact)
                await store.last_pos()
                await store.append(a_run("after"), [a_fact()])
            except StoreError:
                refused += 1
    except StoreError:
        refused += 1
    return whole, refused


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "trials"), sampled([("facts.db", 30), ("facts.db", 150), ("facts.db-wal", 150)])
)
async def test_flipped_bytes_give_named_errors_and_never_a_false_fact(
    tmp_path: Path, name: str, trials: int
) -> None:
    log = await _history(tmp_path)
    chance = random.Random(1)
    content = (tmp_path / "sound" / name).read_bytes()
    whole = refused = 0
    for trial in range(trials):
        hurt = tmp_path / f"hurt-{trial}"
        shutil.copytree(tmp_path / "sound", hurt)
        (hurt / "facts.db-shm").unlink()
        changed = bytearray(content)
        for _ in range(chance.choice([1, 1, 20])):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        (hurt / name).write_bytes(changed)
        counts = await _read_all(hurt, log)
        whole, refused = whole + counts[0], refused + counts[1]
        shutil.rmtree(hurt)
    # Neither is all lost by one flip, nor does damage in the database go unseen.
    assert whole > 2 * trials
    assert refused > trials // 15 or name == "facts.db-wal"


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["facts.db", "facts.db-wal"]))
@pytest.mark.long("test_flipped_bytes_give_named_errors_and_never_a_false_fact")
async def test_truncated_files_give_named_errors_and_never_a_false_fact(
    tmp_path: Path, name: str
) -> None:
    log = await _history(tmp_path)
    size = (tmp_path / "sound" / name).stat().st_size
    chance = random.Random(2)
    cuts = {0, 1, 100, 4096, size - 1, size - 4096, *(chance.randrange(size) for _ in range(40))}
    for cut in sorted(cuts):
        hurt = tmp_path / f"hurt-{cut}"
        shutil.copytree(tmp_path / "sound", hurt)
        (hurt / "facts.db-shm").unlink()
        os.truncate(hurt / name, cut)
        whole, refused = await _read_all(hurt, log)
        assert whole + refused > 0
        shutil.rmtree(hurt)


async def test_a_file_damaged_under_the_open_store_gives_named_errors(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        for number in range(200):
            await store.append(a_run(f"run-{number % 5}"), [a_fact("x" * 400)])
    async with open_store(tmp_path) as store:
        path = tmp_path / "facts.db"
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(size - 4096))
        for number in range(5):
            with pytest.raises(StoreError):
                await store.events(f"run-{number}")
        with pytest.raises(StoreError):
            await store.events_after(0, 1000)
        with pytest.raises(StoreError):
            await store.append(a_run("new"), [a_fact()])
