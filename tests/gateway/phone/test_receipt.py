"""What a phone was told of the ends of recipes it is told again until it surely has it."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from podiumd.gateway.phone.feed.delivery_tracking import AGAIN_SECONDS, DeliveryTracking
from podiumd.gateway.websocket import Closed
from tests.gateway.phone.phone_server import PhoneClient, PhoneServer


async def ends(server: PhoneServer, recipe: str) -> None:
    """A recipe comes to its end."""
    run_id, turn = await server.daemon.begun(recipe)
    turn.complete()
    await server.daemon.ended(run_id)


async def back(server: PhoneServer, client: PhoneClient, key: str) -> PhoneClient:
    """The phone loses its connection and connects again."""
    client.hang_up()
    while server.hub.phones:
        await wait_all_tasks_blocked()
    again = server.dial()
    again.say("connect", api_key=key, protocol_version="0.5.0")
    return again


async def test_what_still_waits_for_a_phone_is_told_again_whatever_it_says(
    server: PhoneServer, one: str
) -> None:
    """P-2.9: a message of it may have been on the way for long."""
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    client.take(100_000)
    await ends(server, one)
    await client.hears("recipe_exited")
    await client.caught_up()
    again = await back(server, client, key)
    await again.hears("recipe_exited")


async def test_a_phone_that_answers_no_ping_is_told_again(server: PhoneServer, one: str) -> None:
    """P-2.9: its socket took everything, and nobody was there any more."""
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    client.doze()
    await ends(server, one)
    await client.hears("recipe_exited")
    await client.caught_up()
    again = await back(server, client, key)
    await again.hears("recipe_exited")


async def test_a_phone_that_has_it_is_not_told_again(server: PhoneServer, one: str) -> None:
    _, key = await server.devices.pair(None)
    await ends(server, one)
    client = await server.connected(key)
    (end,) = await server.daemon.service.ended_recipes(0, 1000, 1)
    while (device := server.devices.check(key)) is None or device.told_pos < end.pos:
        await wait_all_tasks_blocked()
    client = await back(server, client, key)
    await client.caught_up()
    await client.caught_up()  # the first may have been answered before the key was shown
    assert client.of("recipe_exited") == []


class Told:
    """A phone that answers pings when it is told to, and what was noted of it."""

    def __init__(self) -> None:
        self.noted: list[int] = []
        self.asked = 0
        self.gone = False
        self._send, self._receive = trio.open_memory_channel[None](9)

    async def delivered(self) -> None:
        self.asked += 1
        await self._receive.receive()
        if self.gone:
            raise Closed

    async def note(self, position: int) -> None:
        await trio.lowlevel.checkpoint()
        self.noted.append(position)

    async def answer(self) -> None:
        self._send.send_nowait(None)
        await wait_all_tasks_blocked()


async def test_what_is_sent_after_the_ping_is_not_proved_by_it(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    told = Told()
    receipt = DeliveryTracking(told.delivered, told.note)
    nursery.start_soon(receipt.keep)
    receipt.sent(3)
    await wait_all_tasks_blocked()
    for position in (4, 5, 6):  # a busy daemon puts nothing off for ever
        receipt.sent(position)
    await told.answer()
    assert told.noted == [3] and told.asked == 1
    await trio.sleep(AGAIN_SECONDS)
    await wait_all_tasks_blocked()
    assert told.asked == 2
    await told.answer()
    assert told.noted == [3, 6]


async def test_of_a_phone_that_has_gone_nothing_is_noted(nursery: trio.Nursery) -> None:
    told = Told()
    receipt = DeliveryTracking(told.delivered, told.note)
    nursery.start_soon(receipt.keep)
    receipt.sent(3)
    told.gone = True
    await told.answer()
    receipt.sent(4)
    await wait_all_tasks_blocked()
    assert told.noted == [] and told.asked == 1
