"""Whoever fills the doors with connections keeps the owner out of none."""

from __future__ import annotations

import json
import socket
from contextlib import AsyncExitStack, suppress

import pytest
import trio

from podiumd.rpc.limits import RpcLimits
from tests.doors.house import House
from tests.gateway.harness import upgrade

SILENT = b""
HALF_A_HEAD = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_A_BODY = b"POST /v1/prompt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"

ASKS = """
format = 1
id = "asks"
label = "Ask"
description = "Ask, then go on"
initial = "go"

[steps.go]
gate = "Go on?"
prompt = "Hello."
allow = []

[steps.go.on]
complete = { exit = "done", class = "completed" }
"""


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


async def test_followers_leave_the_socket_to_the_owner(house: House) -> None:
    """With as many as may follow, what the owner has to see, say and end is seen, said, ended."""
    podium = house.podium
    recipes = podium.machine.podium_home / "recipes"
    recipes.mkdir(exist_ok=True)
    (recipes / "asks.toml").write_text(ASKS)
    run = await podium.rpc(
        "runs.start", recipe="asks", agent="scripted", working_directory=str(house.project)
    )
    subscribe = b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}\n'
    async with AsyncExitStack() as crowd:
        answers = []
        for _ in range(RpcLimits().followers + 1):
            stream = await trio.open_unix_socket(str(podium.machine.socket))
            await crowd.enter_async_context(stream)
            await stream.send_all(subscribe)
            answers.append(await stream.receive_some(65536))
        assert all(b'"result"' in answer for answer in answers[:-1])
        assert b"248 connections follow something" in answers[-1]
        assert (await podium.cli("status")).code == 0
        questions = await podium.cli("questions", "--json")
        (question,) = json.loads(questions.out)
        assert question["run_id"] == run["run_id"]
        assert (await podium.cli("answer", question["question_id"], "no")).code == 0
        assert (await podium.cli("down")).code == 0
