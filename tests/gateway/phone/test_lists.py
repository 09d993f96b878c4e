"""The list of sessions is made once for all who ask for it at a moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from podiumd.gateway.phone.feed import lists
from podiumd.gateway.phone.feed.lists import SessionLists
from podiumd.runtime.service import Service
from podiumd.wire.sessions import SessionsPage


class Slow:
    """A service whose list is made when the test says so; each has a total of its own."""

    def __init__(self) -> None:
        self.asked = 0
        self.may = trio.Semaphore(0)
        self.take_time: Callable[[], None] = lambda: None

    async def sessions_list(self, *_: object) -> SessionsPage:
        self.asked += 1
        total = self.asked
        await self.may.acquire()
        self.take_time()
        return SessionsPage(sessions=(), total=total)


class Asking:
    def __init__(self) -> None:
        self.slow = Slow()
        self.lists = SessionLists(cast(Service, self.slow))
        self.got: dict[str, bytes] = {}
        self.recent: dict[str, bytes] = {}

    async def ask(self, name: str, recents: int = 5) -> None:
        lists = await self.lists.frames(recents, 100_000)
        self.got[name], self.recent[name] = lists.session_list, lists.recent_sessions

    async def seconds(self, name: str) -> float:
        """Ask; returns how long that took."""
        asked_at = trio.current_time()
        await self.ask(name)
        return trio.current_time() - asked_at

    def takes(self, seconds: float, clock: MockClock, times: int) -> None:
        """Let so many listings be made, each of which holds the loop up so long."""
        self.slow.take_time = partial(clock.jump, seconds)
        self.slow.may = trio.Semaphore(times)


async def test_all_who_wait_behind_one_share_the_next() -> None:
    asking = Asking()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.ask, "first")
        await wait_all_tasks_blocked()
        for number in range(10):
            nursery.start_soon(asking.ask, f"late {number}")
        await wait_all_tasks_blocked()
        asking.slow.may.release()
        asking.slow.may.release()

    assert asking.slow.asked == 2
    assert b'"total_count":1' in asking.got.pop("first")
    assert len(set(asking.got.values())) == 1
    assert b'"total_count":2' in next(iter(asking.got.values()))


async def test_each_kind_of_phone_gets_its_own_of_one_listing() -> None:
    asking = Asking()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.ask, "five", 5)
        nursery.start_soon(asking.ask, "ten", 10)
        await wait_all_tasks_blocked()
        asking.slow.may.release()

    assert asking.slow.asked == 1
    assert b'"limit":5' in asking.recent["five"] and b'"limit":10' in asking.recent["ten"]


async def test_the_next_one_waits_until_the_loop_has_been_free_for_others(
    autojump_clock: MockClock,
) -> None:
    asking = Asking()
    asking.takes(0.01, autojump_clock, times=3)
    await asking.ask("first")
    assert await asking.seconds("second") == pytest.approx(0.1)
    await trio.sleep(1)
    assert await asking.seconds("much later") == pytest.approx(0.01)


async def test_a_list_that_took_long_is_not_waited_for_any_longer_than_that(
    autojump_clock: MockClock,
) -> None:
    asking = Asking()
    asking.takes(5.0, autojump_clock, times=2)
    await asking.ask("first")
    assert await asking.seconds("second") == pytest.approx(lists.MOST_REST_SECONDS + 5)


async def test_who_makes_it_and_goes_away_leaves_it_to_the_next(
    autojump_clock: MockClock,
) -> None:
    asking = Asking()
    gone = trio.CancelScope()

    async def leave() -> None:
        with gone:
            await asking.ask("gone")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.ask, "before")
        await wait_all_tasks_blocked()
        nursery.start_soon(leave)
        await wait_all_tasks_blocked()
        nursery.start_soon(asking.ask, "other")
        await wait_all_tasks_blocked()
        asking.slow.may.release()  # for the one before; the next is being made
        await wait_all_tasks_blocked()
        gone.cancel()
        await wait_all_tasks_blocked()
        asking.slow.may.release()

    assert set(asking.got) == {"before", "other"}
    assert asking.slow.asked == 3
