"""Keeping in step with the disk: what is told, what is not told, and what cannot be read."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trio

from podiumd.sessions.index import bulk, compare, follower, table
from podiumd.sessions.index.compare import Changes
from podiumd.sessions.index.follower import pause_after
from podiumd.sessions.index.tree import Root
from podiumd.sessions.index.watch import TreeWatch
from podiumd.sessions.log import reading
from tests.patience import HANG_SECONDS
from tests.sessions import support
from tests.sessions.service import Home, Service, bytes_path, complaints, seqs
from tests.sessions.support import append, line, lines, session_id

# -- what nobody tells -----------------------------------------------------------------------


@pytest.mark.usefixtures("unwatched")
async def test_without_watches_a_sweep_finds_what_changed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 0.01)
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
    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 1000.0)
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


# -- at the start the list is right before anything is watched, and nothing falls between ----


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Nothing is watched before this is set."""
    may_arm = Event()
    arm = TreeWatch.arm

    def late(self: TreeWatch) -> None:
        assert may_arm.wait(HANG_SECONDS)
        arm(self)

    monkeypatch.setattr(TreeWatch, "arm", late)
    return may_arm


async def test_the_list_does_not_wait_for_the_watch(home: Home, gate: Event) -> None:
    home.write(line(1))
    async with home.running(complete=False) as service:
        await service.transcripts.complete()
        assert await service.transcripts.count() == 1
        gate.set()


async def test_what_changes_before_it_is_watched_is_found(home: Home, gate: Event) -> None:
    home.write(line(1))
    async with home.running(complete=False) as service:
        await service.transcripts.complete()
        home.write(line(2))
        home.write(line(1), 2)
        gate.set()
        async with service.follower._sweeping:
            assert (await service.row()).summary.messages == 2
            assert await service.transcripts.count() == 2


async def test_who_waits_for_the_first_look_goes_before_the_watch_is_armed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arming holds up all threads for a while. Whose turn it is, is chance: so more than once."""
    order: list[str] = []
    arm = TreeWatch.arm

    def asked(self: TreeWatch) -> Callable[[], None]:
        order.append("arm")
        return partial(arm, self)

    # What is noted is when the event loop takes hold of it, not when a thread gets round to it.
    monkeypatch.setattr(TreeWatch, "arm", property(asked))
    for _ in range(12):
        order.clear()
        async with home.running(complete=False) as service:
            await service.transcripts.complete()
            order.append("complete")
            async with service.follower._sweeping:
                assert order == ["complete", "arm"]


# -- how long to wait before the whole tree is looked at again -------------------------------


@pytest.mark.parametrize(
    ("cost", "pause"), [(0.0, 60.0), (0.3, 60.0), (0.5, 100.0), (1.5, 300.0), (60.0, 900.0)]
)
def test_looks_cost_half_a_percent_of_a_processor_while_everything_is_watched(
    cost: float, pause: float
) -> None:
    assert pause_after(cost, complete=True) == pytest.approx(pause)


@pytest.mark.parametrize("cost", [0.0, 60.0])
def test_what_is_not_watched_is_looked_at_soon_whatever_it_costs(cost: float) -> None:
    assert pause_after(cost, complete=False) == 2.0


async def test_the_next_look_comes_the_later_the_more_the_last_has_cost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(line(1))
    async with home.running() as service:
        seconds = count()
        monkeypatch.setattr(follower, "process_time", lambda: float(next(seconds)))
        await service.follower._sweep()

        cost = service.follower._cost
        assert cost == 3, "the watch, the look itself, and whether all is watched"
        assert service.follower._pause == pause_after(cost, complete=True) == pytest.approx(600)
        service.follower._complete = False
        assert service.follower._pause == 2.0


# -- what the sessions cost, however many there are: by counts of what is read and listed ----


SIZES = (10, 200)

A_PROJECT = 5


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts bytes of transcripts that were read, and directories that were listed."""
    counts: Counter[str] = Counter()
    read, listed = reading._read, os.scandir

    def reads(fd: int, size: int, offset: int) -> bytes:
        data = read(fd, size, offset)
        counts["bytes"] += len(data)
        return data

    def lists(path: Any) -> Any:
        counts["listings"] += 1
        return listed(path)

    monkeypatch.setattr(reading, "_read", reads)
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lists)
        yield counts


def fill(home: Home, sessions: int) -> None:
    for number in range(1, sessions + 1):
        home.write(line(1) + line(2), number, project=f"-app-{number // A_PROJECT}")
        beside = home.path(number, f"-app-{number // A_PROJECT}").with_suffix("") / "subagents"
        beside.mkdir(parents=True)
        (beside / "agent-1.jsonl").write_bytes(b"{}\n")


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("sessions", SIZES)
async def test_a_look_at_what_is_as_it_was_reads_nothing_lists_once_and_keeps_nothing(
    home: Home, done: Counter[str], monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 3600.0)
    fill(home, sessions)
    directories = 1 + sum(path.is_dir() for path in home.projects.rglob("*"))
    async with home.running() as service:
        done.clear()
        known = await service.index.ask(table.known)
        found, changes = compare.look([Root("claude", home.projects)], known, 1, lambda: None)
    assert done == {"listings": directories}
    assert (changes, found.sessions, found.companions) == (Changes(), [], [])
    assert len(found.same) == len(found.same_companions) == sessions


@pytest.mark.usefixtures("unwatched")
async def test_an_append_costs_as_much_among_many_sessions_as_among_few(
    tmp_path: Path, done: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 3600.0)
    costs = []
    for sessions in SIZES:
        home = Home(tmp_path / str(sessions))
        fill(home, sessions)
        async with home.running() as service:
            costs.append(await grow(service, done))
    assert costs[0] == costs[1]


async def grow(service: Service, done: Counter[str]) -> tuple[Counter[str], int]:
    """What is read and listed for a line more in a session, and how many rows are written."""
    await service.page()
    path = Path((await service.row()).path)
    assert path.stem == session_id()
    connection = service.index._connection
    done.clear()
    before = connection.total_changes
    append(path, line(3))
    await service.take(path)
    assert service.opened().last_seq == 3
    return Counter(done), connection.total_changes - before


# -- after each look at all sessions what it took is free for others -------------------------


async def test_a_look_gives_back_what_it_took(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[None] = []
    monkeypatch.setattr(follower, "give_back", lambda: given.append(None))
    home.write(line(1))
    async with home.running() as service:
        given.clear()
        await service.sweep()
        assert given == [None]


def test_another_c_library_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    follower.give_back()
    monkeypatch.setattr(follower, "_TRIM", None)
    follower.give_back()
