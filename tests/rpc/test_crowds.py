"""More clients than there is room for: who follows nothing and waits for nothing makes room."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import trio

from podiumd.rpc.limits import RpcLimits
from tests.rpc.harness import Client, request, served, wait_until


async def turned_away(client: Client) -> Any:
    """What a client is told that has to go."""
    refused = await client.message()
    assert refused["error"]["code"] == -32008 and refused["id"] is None
    assert await client.line() is None
    return refused["error"]["message"]


async def test_the_client_that_is_idle_for_longest_makes_room(tmp_path: Path) -> None:
    async with (
        served(tmp_path, RpcLimits(connections=2)) as daemon,
        daemon.client() as first,
        daemon.client() as second,
    ):
        for client in (first, second, first):
            assert await client.result("daemon.ping") == {"pong": True}
        async with daemon.client() as third:
            assert await third.result("daemon.ping") == {"pong": True}
            assert "idle for longest" in await turned_away(second)
            assert await first.result("daemon.ping") == {"pong": True}


async def test_one_that_never_said_anything_makes_room_too(tmp_path: Path) -> None:
    async with served(tmp_path, RpcLimits(connections=1)) as daemon, daemon.client() as silent:
        await wait_until(lambda: daemon.server.connections == 1)
        async with daemon.client() as owner:
            assert await owner.result("daemon.ping") == {"pong": True}
            await turned_away(silent)


async def test_who_follows_or_waits_stays_and_then_the_newest_is_refused(tmp_path: Path) -> None:
    async with (
        served(tmp_path, RpcLimits(connections=2)) as daemon,
        daemon.client() as follower,
        daemon.client() as waiting,
    ):
        assert await follower.result("events.subscribe") == {"pos": 0}
        await waiting.send(request("runs.cancel", 7, run_id="run-1") + b"\n")
        await wait_until(lambda: daemon.service.calls)
        async with daemon.client() as late:
            assert "try again" in await turned_away(late)
        daemon.service.gate.set()
        assert (await waiting.message())["id"] == 7
        async with daemon.client() as again:
            assert await again.result("daemon.ping") == {"pong": True}
            await turned_away(waiting)


async def test_a_hundred_idle_clients_that_come_again_keep_nobody_out(tmp_path: Path) -> None:
    async with served(tmp_path, RpcLimits(connections=8)) as daemon:
        for _ in range(5):
            streams = [await trio.open_unix_socket(str(daemon.path)) for _ in range(20)]
            async with daemon.client() as owner:
                assert await owner.result("daemon.ping") == {"pong": True}
            for stream in streams:
                await stream.aclose()


async def test_who_follows_leaves_connections_to_those_who_ask(tmp_path: Path) -> None:
    async with (
        served(tmp_path, RpcLimits(connections=4, followers=1)) as daemon,
        daemon.client() as first,
        daemon.client() as second,
    ):
        await first.result("events.subscribe")
        await first.result("events.subscribe")  # it has its place already
        for method, params in (
            ("events.subscribe", {}),
            ("runs.events", {"run_id": "run-1", "follow": True}),
            ("sessions.subscribe", {"session_id": "s"}),
        ):
            error = (await second.call(method, **params))["error"]
            assert error["code"] == -32008
            assert "1 connections follow" in error["message"] and "last 3" in error["message"]
        assert await second.result("daemon.ping") == {"pong": True}
        await first.stream.aclose()
        await wait_until(lambda: daemon.server.connections == 1)
        assert await second.result("events.subscribe") == {"pos": 0}


async def test_as_many_begin_to_follow_at_once_as_may(tmp_path: Path) -> None:
    async with (
        served(tmp_path, RpcLimits(connections=8, followers=2)) as daemon,
        AsyncExitStack() as entered,
    ):
        clients = [await entered.enter_async_context(daemon.client()) for _ in range(5)]
        for client in clients:
            await client.send(request("events.subscribe") + b"\n")
        answers = [await client.message() for client in clients]
        assert ["result" in answer for answer in answers].count(True) == 2
