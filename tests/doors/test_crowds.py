"""Whoever fills the doors with connections keeps the owner out of none."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack, suppress

import pytest
import trio

from tests.doors.house import House
from tests.gateway.harness import upgrade

SILENT = b""
HALF_A_HEAD = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_A_BODY = b"POST /v1/prompt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"


@pytest.mark.parametrize("said", [SILENT, HALF_A_HEAD, HALF_A_BODY, upgrade()])
async def test_strangers_of_this_machine_leave_the_port_to_the_owner(
    house: House, said: bytes
) -> None:
    phone = await house.connected()
    async with AsyncExitStack() as crowd:
        for _ in range(3):
            for _ in range(70):
                stream = await trio.open_tcp_stream("127.0.0.1", house.port)
                await crowd.enter_async_context(stream)
                with suppress(trio.BrokenResourceError):  # it had to make room already
                    await stream.send_all(said)
            assert (await house.mine.get("/metrics")).status == 200
            await (await house.connected()).say("ping")
        await phone.say("ping")
        await phone.until("pong")


async def test_idle_clients_of_the_socket_leave_it_to_the_owner(house: House) -> None:
    async with AsyncExitStack() as crowd:
        for _ in range(2):
            for _ in range(300):
                sock = crowd.enter_context(socket.socket(socket.AF_UNIX))
                path = str(house.podium.machine.socket)
                await trio.to_thread.run_sync(sock.connect, path)
            # The client waits where the line of those not yet accepted is full.
            assert (await house.podium.cli("status")).code == 0
            assert await house.podium.rpc("daemon.ping") == {"pong": True}
