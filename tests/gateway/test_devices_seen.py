"""Who is connected, when devices were seen, and that it is stored without haste."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from podiumd.gateway.access import devices as pairing
from podiumd.gateway.access.devices import Devices
from podiumd.runtime.errors import NotFound
from podiumd.store.errors import StoreFull
from tests.gateway.kept import NOON, Clock, Kept
from tests.plain import plain


async def test_the_list_tells_who_is_connected_and_when_each_was_seen(
    devices: Devices, clock: Clock
) -> None:
    await devices.pair(None)
    clock.minutes = 1
    with devices.connected("phone"), devices.connected("phone"):
        clock.minutes = 2
        seen = devices.list()
    clock.minutes = 3

    assert plain(seen) == [
        {
            "device": "phone",
            "name": "phone",
            "paired_at": NOON,
            "last_seen": "2026-01-01T12:01:00.000Z",
            "connected": True,
        }
    ]
    (row,) = devices.list()
    assert not row.connected
    assert row.last_seen == "2026-01-01T12:02:00.000Z"


async def test_a_device_stays_connected_until_its_last_connection_ends(devices: Devices) -> None:
    await devices.pair(None)
    with devices.connected("phone"):
        with devices.connected("phone"):
            pass
        assert devices.list()[0].connected


async def test_a_device_revoked_after_its_check_does_not_connect(devices: Devices) -> None:
    await devices.pair(None)
    await devices.revoke("phone")

    with pytest.raises(NotFound), devices.connected("phone"):
        pass


async def test_the_end_of_a_revoked_connection_says_nothing_of_a_namesake(
    devices: Devices, clock: Clock
) -> None:
    await devices.pair(None)
    with devices.connected("phone"):
        await devices.revoke("phone")
        await devices.pair(None)
        clock.minutes = 5

    assert devices.list()[0].last_seen is None


async def test_when_devices_were_seen_is_stored_once_a_minute_and_at_the_end(
    devices: Devices, kept: Kept, clock: Clock, autojump_clock: trio.testing.MockClock
) -> None:
    await devices.pair(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.keep)
        for minute in range(1, 4):
            clock.minutes = minute
            with devices.connected("phone"):
                await trio.sleep(1)
        assert kept.writes == 2
        await trio.sleep(pairing.SEEN_SECONDS)
        assert kept.writes == 3
        assert kept.stored[0]["last_seen"] == "2026-01-01T12:03:00.000Z"
        clock.minutes = 9
        with devices.connected("phone"):
            nursery.cancel_scope.cancel()

    assert kept.writes == 4
    assert kept.stored[0]["last_seen"] == "2026-01-01T12:09:00.000Z"


async def test_nothing_seen_is_nothing_stored(
    devices: Devices, kept: Kept, autojump_clock: trio.testing.MockClock
) -> None:
    await devices.pair(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.keep)
        await trio.sleep(10 * pairing.SEEN_SECONDS)
        nursery.cancel_scope.cancel()

    assert kept.writes == 1


async def test_a_disk_that_hangs_does_not_hold_up_the_end(
    devices: Devices, kept: Kept, autojump_clock: trio.testing.MockClock
) -> None:
    await devices.pair(None)
    with devices.connected("phone"):
        kept.gate = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(devices.keep)
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            nursery.cancel_scope.cancel()

    assert trio.current_time() - began <= pairing.LAST_WRITE_SECONDS


async def test_what_the_disk_does_not_take_is_revoked_all_the_same_and_stored_later(
    devices: Devices, kept: Kept, autojump_clock: trio.testing.MockClock
) -> None:
    _, key = await devices.pair(None)
    kept.full = True

    with pytest.raises(StoreFull):
        await devices.revoke("phone")

    assert devices.check(key) is None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.keep)
        await trio.sleep(1)
        assert kept.writes == 3  # paired, revoked, and tried again
        kept.full = False
        await trio.sleep(pairing.SEEN_SECONDS)
        assert kept.stored == []
        nursery.cancel_scope.cancel()
