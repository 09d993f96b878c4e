"""The watchdog is fed while every part answers, and by nobody else."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from podiumd.host.notify import Notifier
from podiumd.host.watchdog import Part, keep_fed

PERIOD = 30.0


class Watchdog:
    """Notes when it was fed."""

    watchdog_seconds: float | None = PERIOD

    def __init__(self) -> None:
        self.fed: list[float] = []
        self._began = trio.current_time()

    def alive(self) -> None:
        self.fed.append(trio.current_time() - self._began)


async def answers() -> None:
    await trio.lowlevel.checkpoint()


class Sticky:
    """A part that answers until it is stuck."""

    def __init__(self) -> None:
        self.free = trio.Event()
        self.free.set()

    async def ask(self) -> None:
        await self.free.wait()


async def test_it_is_fed_three_times_a_period(autojump_clock: trio.testing.MockClock) -> None:
    watchdog = Watchdog()

    with trio.move_on_after(35):
        await keep_fed(watchdog, [Part("store", answers)])

    assert watchdog.fed == [0, 10, 20, 30]


async def test_a_part_that_is_stuck_starves_it_until_it_turns_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    watchdog, part = Watchdog(), Sticky()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_fed, watchdog, [Part("store", answers), Part("follower", part.ask)])
        await trio.sleep(5)
        part.free = trio.Event()
        await trio.sleep(100)
        starved = watchdog.fed[:]
        part.free.set()
        await trio.sleep(17)
        nursery.cancel_scope.cancel()

    assert starved == [0, 10, 20], "the last feed is at most a period after the last answer"
    assert watchdog.fed[len(starved) :] == [110, 120]


async def test_nobody_is_asked_where_no_watchdog_waits() -> None:
    async def never() -> None:
        raise AssertionError

    await keep_fed(Notifier(), [Part("store", never)])


async def test_what_was_not_fed_is_logged_once_with_the_part(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="podium")
    part = Sticky()
    part.free = trio.Event()

    with trio.move_on_after(200):
        await keep_fed(Watchdog(), [Part("follower", part.ask)])

    told = [record for record in caplog.records if "Watchdog" in record.getMessage()]
    assert [record.getMessage() for record in told] == ["Watchdog is not fed"]
    assert told[0].__dict__["podium"] == {"reason": "no answer from: follower"}
