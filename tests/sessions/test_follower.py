"""Keeping in step with the disk: what is told, what is not told, and what cannot be read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection
from pathlib import Path

import pytest
import trio

from podiumd.sessions.index import bulk, follower, sweep_pause, table
from tests.sessions import support
from tests.sessions.service import Home, bytes_path, complaints, seqs
from tests.sessions.support import line, lines, session_id

# -- what nobody tells -----------------------------------------------------------------------


@pytest.mark.usefixtures("unwatched")
async def test_without_watches_a_sweep_finds_what_changed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_pause, "UNWATCHED_SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(follower, "FOLLOWED_SECONDS", 1000.0)
    home.write(line(1))
    async with home.running() as service, service.following() as feed:
        home.write(line(2))
        assert seqs(await anext(feed)) == [2]
        home.write(line(3))
        assert seqs(await anext(feed)) == [3]


@pytest.mark.usefixtures("unwatched")
async def test_what_is_followed_is_looked_at_though_no_event_comes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_pause, "UNWATCHED_SWEEP_SECONDS", 1000.0)
    monkeypatch.setattr(follower, "FOLLOWED_SECONDS", 0.01)
    home.write(line(1))
    async with home.running() as service, service.following() as feed:
        home.write(line(2))
        assert seqs(await anext(feed)) == [2]


@pytest.mark.parametrize("followed", [False, True])
async def test_a_sweep_that_is_overdue_is_made_at_once(
    home: Home, monkeypatch: pytest.MonkeyPatch, followed: bool
) -> None:
    """As when the watches run out long after the last sweep, or a sweep takes its time."""
    monkeypatch.setattr(follower, "FOLLOWED_SECONDS", 0.01)
    home.write(line(1))
    swept = trio.Event()
    sweep = follower.Follower._look_at_all

    async def noted(self: follower.Follower) -> Collection[int]:
        found = await sweep(self)
        swept.set()
        return found

    async with home.running() as service:
        monkeypatch.setattr(follower.Follower, "_look_at_all", noted)
        async with service.following():
            service.follower._swept -= 30
            service.follower._complete = False
            if followed:
                await swept.wait()
        service.follower.someone_follows.set()
        await swept.wait()


# -- what is told ----------------------------------------------------------------------------


@pytest.mark.usefixtures("unwatched")
async def test_a_file_in_a_directory_that_appeared_is_found(home: Home, tmp_path: Path) -> None:
    async with home.running() as service:
        path = home.write(line(1), project="-new")
        results = path.with_suffix("") / "tool-results"
        results.mkdir(parents=True)
        (results / "1.txt").write_text("found")
        await service.take(directories=[path.parent])
        assert seqs(await service.page()) == [1]
        counts = await service.transcripts.companion_counts([session_id()])
        assert counts == {session_id(): {"tool_result": 1}}
        (results / "1.txt").unlink()
        await service.take(results / "1.txt", path.parent / "nothing.txt", tmp_path / "else.json")
        assert await service.transcripts.companion_counts([session_id()]) == {}


@pytest.mark.usefixtures("unwatched")
async def test_a_file_that_was_renamed_is_the_same_session_there(home: Home) -> None:
    path = home.write(lines(1, 2))
    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2]
        other = home.path(project="-a-dev-app")
        other.parent.mkdir()
        path.rename(other)
        await service.take(path, other)
        page = await service.page()
        assert (seqs(page), page.generation) == ([1, 2], 1)
        assert (await service.row()).path == str(other)


@pytest.mark.usefixtures("unwatched")
async def test_a_file_whose_place_is_taken_by_something_else_is_gone(home: Home) -> None:
    path = home.write(line(1))
    async with home.running() as service:
        path.unlink()
        os.mkfifo(path)
        await service.take(path)
        assert (await service.row()).gone


async def test_a_change_below_a_directory_whose_name_is_not_utf8_is_told(home: Home) -> None:
    directory = bytes_path(home.projects, b"-\xff")
    directory.mkdir()
    path = directory / f"{session_id()}.jsonl"
    path.write_bytes(line(1))
    async with home.running() as service, service.following() as feed:
        support.append(path, line(2))
        assert seqs(await anext(feed)) == [2]


async def test_a_file_that_is_there_is_not_marked_as_gone(home: Home) -> None:
    """Whatever was true when somebody looked: it is looked at once more while it is held."""
    home.write(line(1))
    async with home.running() as service:
        await service.follower._lose([session_id()])
        assert not (await service.row()).gone


# -- many files ------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "size"), [(2, 10**9), (100, 1)])
async def test_a_tree_is_read_in_batches(
    home: Home, monkeypatch: pytest.MonkeyPatch, most: int, size: int
) -> None:
    monkeypatch.setattr(bulk, "BATCH_FILES", most)
    monkeypatch.setattr(bulk, "BATCH_BYTES", size)
    for number in range(1, 8):
        home.write(lines(1, number), number)
    async with home.running() as service:
        rows, total = await service.transcripts.listing(None, 100, None)
        assert (len(rows), total) == (7, 7)
        for number in range(1, 8):
            assert (await service.row(number)).summary.messages == number


@pytest.mark.usefixtures("unwatched")
async def test_a_session_that_is_in_use_is_read_once_it_is_free(home: Home) -> None:
    for number in (1, 2):
        home.write(line(1), number)
    async with home.running() as service, trio.open_nursery() as nursery:
        for number in (1, 2):
            home.write(line(2), number)
        async with service.follower.holding(session_id(1)):
            nursery.start_soon(service.sweep)
            while (await service.row(2)).summary.messages == 1:
                await trio.lowlevel.checkpoint()
            assert (await service.row(1)).summary.messages == 1
        while (await service.row(1)).summary.messages == 1:
            await trio.lowlevel.checkpoint()


# -- what cannot be stored -------------------------------------------------------------------


@pytest.mark.usefixtures("unwatched")
async def test_a_sweep_that_cannot_store_is_told_and_made_up_for(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:

    def fails(*args: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    async with home.running() as service:
        with monkeypatch.context() as patch:
            patch.setattr(table, "save", fails)
            home.write(line(1))
            await service.sweep()
            assert await service.transcripts.count() == 0
        await service.sweep()
        assert seqs(await service.page()) == [1]
    assert len(complaints(caplog, "Sessions cannot be indexed")) == 1
