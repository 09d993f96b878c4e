"""Ledgers: the numbers of messages that no transcript can tell any more."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from podiumd.store.errors import StoreError, StoreFailed
from podiumd.store.facts import open_store
from podiumd.store.records import Ledger
from podiumd.tools import failpoints

REWRITTEN = Ledger("rewritten", 2, b"seventeen bytes.." * 3)
GONE = Ledger("gone", 3, b"seventeen bytes..", b'{"session_id":"gone"}')
EMPTY = Ledger("empty", 1, b"", b"")


async def test_ledgers_survive_a_restart_and_only_those_of_gone_sessions_are_listed(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        assert await store.ledger("gone") is None
        assert await store.ledgers_gone() == []
        await store.save_ledgers([REWRITTEN, GONE, EMPTY])
    async with open_store(tmp_path) as store:
        assert await store.ledger("rewritten") == REWRITTEN
        assert await store.ledger("gone") == GONE
        assert await store.ledger("nobody") is None
        assert await store.ledgers_gone() == [EMPTY, GONE]


async def test_a_ledger_takes_the_place_of_its_session_s_last_one(tmp_path: Path) -> None:
    back = Ledger("gone", 4, b"seventeen bytes.." * 2)
    async with open_store(tmp_path) as store:
        await store.save_ledgers([GONE, REWRITTEN])
        await store.save_ledgers([back])
        assert await store.ledger("gone") == back
        assert await store.ledger("rewritten") == REWRITTEN
        assert await store.ledgers_gone() == []


async def test_a_forgotten_ledger_is_no_more_and_the_others_stay(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.save_ledgers([GONE, REWRITTEN])
        await store.forget_ledger("gone", "gone")
        await store.forget_ledger("nobody", "nobody")
    async with open_store(tmp_path) as store:
        assert await store.ledger("gone") is None
        assert await store.ledgers_gone() == []
        assert await store.ledger("rewritten") == REWRITTEN


async def test_no_ledgers_are_saved_without_complaint(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.save_ledgers([])
        assert await store.ledgers_gone() == []


@pytest.mark.usefixtures("failing")
async def test_ledgers_are_stored_all_or_none(tmp_path: Path) -> None:
    newer = [Ledger("gone", 9, b""), Ledger("rewritten", 9, b"")]
    async with open_store(tmp_path) as store:
        await store.save_ledgers([GONE, REWRITTEN])
        failpoints.arm("store.before-commit:1:error")
        with pytest.raises(StoreFailed, match="failpoint"):
            await store.save_ledgers(newer)
        assert [await store.ledger("gone"), await store.ledger("rewritten")] == [GONE, REWRITTEN]
        await store.save_ledgers(newer)
        assert [await store.ledger("gone"), await store.ledger("rewritten")] == newer


@pytest.mark.parametrize(
    "change",
    [
        "generation = 4",
        "generation = X'33'",
        "entries = CAST('seventeen bytes,,' AS BLOB)",
        "entries = 'seventeen bytes..'",
        "row = CAST('{}' AS BLOB)",
        "row = 5",
        "checksum = X'00'",
        # The same bytes, with the border between the two fields elsewhere.
        "entries = CAST('' AS BLOB), row = CAST(entries || row AS BLOB)",
    ],
)
async def test_a_damaged_ledger_is_named_and_takes_no_other_with_it(
    tmp_path: Path, change: str
) -> None:
    async with open_store(tmp_path) as store:
        await store.save_ledgers([EMPTY, GONE])
    with closing(sqlite3.connect(tmp_path / "facts.db", isolation_level=None)) as connection:
        statement = f"UPDATE ledgers SET {change} WHERE session_id = 'gone'"
        assert connection.execute(statement).rowcount == 1
    async with open_store(tmp_path) as store:
        with pytest.raises(StoreError, match="ledger of session gone is damaged") as raised:
            await store.ledger("gone")
        assert raised.value.file == tmp_path / "facts.db"
        assert await store.ledgers_gone() == [EMPTY, Ledger("gone", 0, b"", None, intact=False)]
        await store.save_ledgers([GONE])
        assert await store.ledgers_gone() == [EMPTY, GONE]
