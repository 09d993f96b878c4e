"""Following a session: what was, then what comes, to everybody and without a gap."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.sessions.index import logs, watch
from podiumd.sessions.log import messages, open_log
from tests.long import sampled
from tests.sessions.service import Home, Service, collect, seqs, told
from tests.sessions.support import line, lines, session_id


async def test_subscribers_that_enter_at_any_moment_of_a_burst_miss_nothing(home: Home) -> None:
    home.write(lines(1, 3))
    last, found = 203, list[list[int]]()

    async def subscribe(service: Service, limit: int) -> None:
        async with service.following(limit=limit) as feed:
            found.append(await collect(feed, last))

    async with home.running() as service, trio.open_nursery() as nursery:
        for number in range(4, last + 1):
            home.write(line(number))
            if number % 8 == 0:
                nursery.start_soon(subscribe, service, number % 5 + 1)
            await trio.lowlevel.checkpoint()
    assert len(found) == 25
    for numbers in found:
        assert numbers == list(range(numbers[0], last + 1))


@pytest.mark.parametrize("size", [10, 100_000])
async def test_many_subscribers_have_a_message_decoded_once(
    home: Home, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Whether it is read in the event loop or aside."""
    decoded: list[int] = []
    decode = messages._decode

    def counted(*args: object) -> object:
        made = decode(*args)  # type: ignore[arg-type]
        decoded.append(made.seq)
        return made

    monkeypatch.setattr(messages, "_decode", counted)
    home.write(line(1))
    found: list[list[int]] = []
    async with home.running() as service:

        async def subscribe() -> None:
            async with service.following() as feed:
                found.append(await collect(feed, 3))

        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(subscribe)
            await wait_all_tasks_blocked()
            home.write(line(2, "x" * size))
            home.write(line(3, "y" * size))
        assert found == [[1, 2, 3]] * 30
        assert sorted(decoded) == [1, 2, 3]


async def test_a_cache_that_is_full_costs_only_the_reading(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_log, "CACHE_BYTES", 500)
    home.write(lines(1, 8))
    async with home.running() as service:
        for after in (0, 3, 6):
            assert seqs(await service.page(after)) == list(range(after + 1, 9))
        assert seqs(await service.page(limit=1)) == [8]
        assert 0 < service.opened()._cached_bytes <= 500


async def test_a_page_that_follows_the_cache_with_a_gap_takes_its_place(home: Home) -> None:
    home.write(lines(1, 2))
    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2]
        home.write(lines(3, 5))
        await service.sweep()
        assert seqs(await service.page(limit=2)) == [6, 7]
        assert seqs(await service.page(limit=3)) == [5, 6, 7]
        assert seqs(await service.page(0)) == [1, 2, 3, 4, 5, 6, 7]


async def test_a_subscriber_that_reads_nothing_costs_nothing_and_loses_nothing(home: Home) -> None:
    home.write(line(1))
    async with home.running() as service, service.following() as stalled:
        async with service.following() as quick:
            for number in range(2, 600):
                home.write(line(number))
            assert await collect(quick, 599) == list(range(1, 600))
        assert await collect(stalled, 599) == list(range(1, 600))


@pytest.mark.parametrize("appends", sampled([1_000, 10_000]))
async def test_appends_in_a_burst_are_all_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, appends: int
) -> None:
    """Over more files than the watch tells one by one: the rest is found by a sweep."""
    monkeypatch.setattr(watch, "MOST_PATHS", 20)
    files = range(1, 41)
    messages = range(1, appends // len(files) + 2)
    for number in files:
        home.write(line(1), number)
    found: dict[int, list[int]] = {}
    async with home.running() as service, trio.open_nursery() as nursery:

        async def subscribe(number: int, ready: Callable[[], None]) -> None:
            async with service.following(number=number) as feed:
                ready()
                found[number] = await collect(feed, len(messages))

        ready: list[None] = []
        everybody = trio.Event()

        def one_more() -> None:
            ready.append(None)
            if len(ready) == len(files):
                everybody.set()

        for number in files:
            nursery.start_soon(subscribe, number, one_more)
        await everybody.wait()
        for message in messages[1:]:
            for number in files:
                home.write(line(message), number)
            await trio.lowlevel.checkpoint()
    assert found == {number: list(messages) for number in files}


async def test_more_sessions_are_followed_than_logs_are_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "KEPT_OPEN", 2)
    for number in range(1, 6):
        home.write(line(1), number)
    async with (
        home.running() as service,
        service.following(number=1) as one,
        service.following(number=2) as two,
        service.following(number=3) as three,
    ):
        for number, feed in ((1, one), (2, two), (3, three)):
            home.write(line(2), number)
            assert await collect(feed, 2) == [1, 2]
        for number in (4, 5):
            assert seqs(await service.page(number=number)) == [1]
        assert len(service.logs.followed) == 3
        assert service.logs.get(session_id(4)) is None


async def test_logs_that_nobody_uses_are_closed_and_opened_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "KEPT_OPEN", 2)
    for number in range(1, 6):
        home.write(lines(1, number), number)
    async with home.running() as service:
        for _ in range(2):
            for number in range(1, 6):
                assert seqs(await service.page(number=number)) == list(range(1, number + 1))
        assert [service.logs.get(session_id(number)) is None for number in range(1, 6)] == [
            *[True] * 3,
            *[False] * 2,
        ]
        home.write(line(2), 1)  # to one that is closed
        await service.sweep()
        assert seqs(await service.page(number=1)) == [1, 2]


async def test_a_feed_ends_when_the_service_does(home: Home) -> None:
    home.write(line(1))
    ended: list[bool] = []

    async def subscribe(service: Service, task_status: trio.TaskStatus[None]) -> None:
        async with service.following() as feed:
            task_status.started()
            async for _ in feed:
                pytest.fail("nothing happened")
            ended.append(True)

    async with trio.open_nursery() as nursery, home.running() as service:
        # That the service ends first is what this is about.
        await nursery.start(subscribe, service)
        await wait_all_tasks_blocked()
    assert ended == [True]


@pytest.mark.usefixtures("unwatched")
async def test_a_notification_says_how_far_the_log_goes(home: Home) -> None:
    home.write(line(1))
    async with home.running() as service, service.following() as feed:
        home.write(lines(2, 300))
        await service.sweep()
        first, second = await anext(feed), await anext(feed)
        assert (first.session_id, first.generation) == (session_id(), 1)
        assert (first.next_seq, first.last_seq) == (257, 301)
        assert (second.next_seq, second.last_seq) == (301, 301)
        assert len(told(first)) == 256
