"""The mark of a session is read once, and anew after whatever may have written it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.store import marks
from podiumd.store.errors import StoreFailed
from podiumd.store.facts import Store, open_store
from podiumd.store.marks import Marks
from tests.store.support import a_fact, a_run


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose marks are read from the database."""
    keys: list[str] = []
    real = Store._value

    async def value(self: Store, query: str, key: str) -> bytes | None:
        keys.append(key)
        return await real(self, query, key)

    monkeypatch.setattr(Store, "_value", value)
    return keys


async def test_a_mark_is_read_once_until_it_is_written(tmp_path: Path, reads: list[str]) -> None:
    async with open_store(tmp_path) as store:
        for _ in range(2):
            assert await store.mark("s") is None
        assert reads == ["s"]
        for value in (b"1", b"2"):
            await store.append(a_run(), [a_fact(1)], mark=("s", value))
            for _ in range(2):
                assert await store.mark("s") == value
        assert reads == ["s"] * 3
        await store.append(a_run(), [a_fact(2)])
        assert await store.mark("s") == b"2" and reads == ["s"] * 3


async def test_one_that_is_forgotten_is_none(tmp_path: Path, reads: list[str]) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact(1)], mark=("of nobody", b"1"))
        assert await store.mark("of nobody") == b"1"
        await store.forget_marks(["of nobody"])
        assert await store.mark("of nobody") is None


async def test_what_may_or_may_not_have_been_written_is_read_anew(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(tmp_path) as store:
        real = store._writer.submit

        async def stored_and_failed(*given: Any) -> Any:
            await real(*given)
            raise StoreFailed(tmp_path, "nobody knows")

        assert await store.mark("s") is None
        monkeypatch.setattr(store._writer, "submit", stored_and_failed)
        with pytest.raises(StoreFailed):
            await store.append(a_run(), [a_fact(1)], mark=("s", b"1"))
        assert await store.mark("s") == b"1"


async def test_what_was_read_before_a_write_is_not_kept_after_it() -> None:
    known, read, written = Marks(), trio.Event(), trio.Event()

    async def slow() -> bytes:
        read.set()
        await written.wait()
        return b"old"

    async def new() -> bytes:
        return b"new"

    async def ask() -> None:
        assert await known.get("s", slow) == b"old"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await read.wait()
        with known.changing("s"):
            pass
        written.set()
    assert await known.get("s", new) == b"new"


async def test_no_more_are_kept_than_have_room(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "MOST_KEPT", 2)
    async with open_store(tmp_path) as store:
        for session in ("a", "b", "a", "c", "a", "b"):
            await store.mark(session)
    assert reads == ["a", "b", "c", "b"]
