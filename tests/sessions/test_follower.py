"""Keeping in step with the disk: what is told, what is not told, and what cannot be read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.sessions import bulk, follower, table
from podiumd.sessions.watch import Changes
from tests.sessions import support
from tests.sessions.service import Home, Service, bytes_path, complaints, seqs, unwatched
from tests.sessions.support import line, lines, session_id


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, places: Collection[Path]) -> None:
    """Let a call of the system fail for some paths, as for who may not read them."""
    real: Callable[..., Any] = getattr(os, name)

    def refused(path: Any, *args: Any, **kwargs: Any) -> Any:
        if path in {str(place) for place in places}:
            raise PermissionError(13, "Permission denied", path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, name, refused)


async def take(service: Service, *files: Path, directories: Collection[Path] = ()) -> None:
    """Tell the follower of changes, as the watch does."""
    changes = Changes({str(path) for path in files}, {str(path) for path in directories})
    await service.follower._take(changes)


# -- what nobody tells -----------------------------------------------------------------------


async def test_without_watches_a_sweep_finds_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwatched(monkeypatch)
    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(follower, "FOLLOWED_SECONDS", 1000.0)
    home = Home(tmp_path)
    home.write(line(1))
    async with home.running() as service, service.following() as feed:
        home.write(line(2))
        assert seqs(await anext(feed)) == [2]
        home.write(line(3))
        assert seqs(await anext(feed)) == [3]


async def test_what_is_followed_is_looked_at_though_no_event_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwatched(monkeypatch)
    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 1000.0)
    monkeypatch.setattr(follower, "FOLLOWED_SECONDS", 0.01)
    home = Home(tmp_path)
    home.write(line(1))
    async with home.running() as service, service.following() as feed:
        home.write(line(2))
        assert seqs(await anext(feed)) == [2]


@pytest.mark.parametrize("followed", [False, True])
async def test_a_sweep_that_is_overdue_is_made_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, followed: bool
) -> None:
    """As when the watches run out long after the last sweep, or a sweep takes its time."""
    monkeypatch.setattr(follower, "FOLLOWED_SECONDS", 0.01)
    home = Home(tmp_path)
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


async def test_a_file_in_a_directory_that_appeared_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)
    async with home.running() as service:
        path = home.write(line(1), project="-new")
        results = path.with_suffix("") / "tool-results"
        results.mkdir(parents=True)
        (results / "1.txt").write_text("found")
        await take(service, directories=[path.parent])
        assert seqs(await service.page()) == [1]
        counts = await service.transcripts.companion_counts([session_id()])
        assert counts == {session_id(): {"tool_result": 1}}
        (results / "1.txt").unlink()
        await take(service, results / "1.txt", path.parent / "nothing.txt", tmp_path / "else.json")
        assert await service.transcripts.companion_counts([session_id()]) == {}


async def test_a_file_that_was_renamed_is_the_same_session_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)
    path = home.write(lines(1, 2))
    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2]
        other = home.path(project="-a-dev-app")
        other.parent.mkdir()
        path.rename(other)
        await take(service, path, other)
        page = await service.page()
        assert (seqs(page), page.generation) == ([1, 2], 1)
        assert (await service.row()).path == str(other)


async def test_a_file_whose_place_is_taken_by_something_else_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)
    path = home.write(line(1))
    async with home.running() as service:
        path.unlink()
        os.mkfifo(path)
        await take(service, path)
        assert (await service.row()).gone


async def test_a_change_below_a_directory_whose_name_is_not_utf8_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    directory = bytes_path(home.projects, b"-\xff")
    directory.mkdir()
    path = directory / f"{session_id()}.jsonl"
    path.write_bytes(line(1))
    async with home.running() as service, service.following() as feed:
        support.append(path, line(2))
        assert seqs(await anext(feed)) == [2]


async def test_a_file_that_is_there_is_not_marked_as_gone(tmp_path: Path) -> None:
    """Whatever was true when somebody looked: it is looked at once more while it is held."""
    home = Home(tmp_path)
    home.write(line(1))
    async with home.running() as service:
        await service.follower._lose([session_id()])
        assert not (await service.row()).gone


# -- many files ------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "size"), [(2, 10**9), (100, 1)])
async def test_a_tree_is_read_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, size: int
) -> None:
    monkeypatch.setattr(bulk, "BATCH_FILES", most)
    monkeypatch.setattr(bulk, "BATCH_BYTES", size)
    home = Home(tmp_path)
    for number in range(1, 8):
        home.write(lines(1, number), number)
    async with home.running() as service:
        rows, total = await service.transcripts.listing(None, 100, None)
        assert (len(rows), total) == (7, 7)
        for number in range(1, 8):
            assert (await service.row(number)).summary.messages == number


async def test_a_session_that_is_in_use_is_read_once_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)
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


# -- what cannot be read ---------------------------------------------------------------------


async def test_a_file_that_cannot_be_read_is_told_once_and_read_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)
    path = home.write(line(1))
    home.write(line(1), 2)
    with monkeypatch.context() as patch:
        refuse(patch, "open", [path])
        async with home.running() as service:
            await service.sweep()
            await take(service, path)
            assert await service.transcripts.count() == 1
            patch.undo()
            unwatched(monkeypatch)
            await service.sweep()
            assert seqs(await service.page()) == [1]
    assert complaints(caplog, "Session file cannot be read") == [
        {"path": str(path), "problem": "cannot be read: Permission denied"}
    ]
    assert complaints(caplog, "Sessions cannot be indexed") == []


async def test_sessions_in_a_directory_that_cannot_be_read_are_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)
    path = home.write(line(1))
    async with home.running() as service, service.following():
        refuse(monkeypatch, "scandir", [path.parent])
        refuse(monkeypatch, "stat", [path])
        for _ in range(2):
            await service.sweep()
            await take(service, path)
            await service.follower.look_again(session_id())
        assert not (await service.row()).gone
    told = complaints(caplog, "Session file cannot be read")
    assert [Path(fields["path"]) for fields in told] == [path.parent, path]
    assert complaints(caplog, "Sessions cannot be indexed") == []


async def test_a_file_that_vanishes_before_it_is_read_is_no_problem(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home(tmp_path)
    path = home.write(line(1))
    found = support.find(path)
    path.unlink()
    async with home.running() as service:
        await service.follower.refresh(found)
        assert await service.transcripts.count() == 0
    assert complaints(caplog, "Session file cannot be read") == []


async def test_what_is_wrong_in_a_file_is_told_once_also_over_restarts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home(tmp_path)
    home.write(line(1) + b"no json\n")
    for number in (2, 3):
        async with home.running() as service:
            home.write(line(number) + b"nor this\n")
            await service.sweep()
            assert len(seqs(await service.page())) == number
    told = complaints(caplog, "Session file has a fault")
    assert len(told) == 1
    assert told[0]["session_id"] == session_id() and "no JSON objects" in told[0]["problem"]


async def test_a_sweep_that_cannot_store_is_told_and_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unwatched(monkeypatch)
    home = Home(tmp_path)

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
