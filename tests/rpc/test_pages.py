"""A page over a WebSocket: the socket's methods, one message a frame, as far as its scope goes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from podiumd.core.run import facts as f
from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.page_connection import ROOM_BYTES
from podiumd.wire.method import Scope
from tests.rpc.harness import PING, Harness, request, served, wait_until

PONG = {"jsonrpc": "2.0", "result": {"pong": True}, "id": 1}


class Page:
    """The far end of a socket of messages, and that socket."""

    def __init__(self) -> None:
        self._say, self._heard = trio.open_memory_channel[str | bytes](100)
        self._told, self._read = trio.open_memory_channel[bytes](100_000)
        self.pending = 0
        self.roomy = trio.Event()
        self.ended = trio.Event()

    # -- as the daemon has it

    async def receive(self) -> str | bytes | None:
        try:
            return await self._heard.receive()
        except trio.EndOfChannel:
            return None

    def send(self, text: bytes) -> None:
        assert b"\n" not in text
        self._told.send_nowait(text)

    async def room(self) -> None:
        if self.pending:
            await self.roomy.wait()

    # -- as the page has it

    def say(self, message: bytes) -> None:
        self._say.send_nowait(message.decode())

    def say_bytes(self, message: bytes) -> None:
        self._say.send_nowait(message)

    def leave(self) -> None:
        self._say.close()

    async def message(self) -> Any:
        return json.loads(await self._read.receive())

    async def ask(self, message: bytes) -> Any:
        self.say(message)
        return await self.message()


@asynccontextmanager
async def page_of(
    daemon: Harness, scope: Scope = "all", first: bytes = PING, caller: str = "tablet"
) -> AsyncIterator[Page]:
    page = Page()

    async def serve(*, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await daemon.server.serve_page(page, first.decode(), caller, scope)
        page.ended.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(serve)
        yield page
        page.leave()
        await page.ended.wait()


async def test_a_message_is_answered_by_a_message_the_first_one_too(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, page_of(daemon) as page:
        assert await page.message() == PONG
        assert await page.ask(PING) == PONG
        batch = await page.ask(b"[" + PING + b",\n" + PING + b"]")
        assert batch == [PONG, PONG]


async def test_an_answer_to_a_question_bears_the_name_of_the_device(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, page_of(daemon, "answer") as page:
        await page.message()
        await page.ask(request("questions.answer", question_id="q", answer="yes"))
        assert ("answer", ("q", "yes", None, "tablet")) in daemon.service.calls


async def test_what_its_scope_does_not_open_is_refused_and_reaches_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, page_of(daemon, "look") as page:
        await page.message()
        answer = await page.ask(request("questions.answer", question_id="q", answer="yes"))
        assert answer["error"]["code"] == -32009
        assert answer["error"]["data"] == {"scope": "answer"}
        assert not [call for call in daemon.service.calls if call[0] == "answer"]


async def test_bytes_are_no_message(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, page_of(daemon) as page:
        await page.message()
        page.say_bytes(PING)
        answer = await page.message()
        assert (answer["error"]["code"], answer["id"]) == (-32600, None)
        assert await page.ask(PING) == PONG


async def test_each_event_is_a_message_after_the_answer(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, page_of(daemon) as page:
        await page.message()
        for n in range(3):
            daemon.service.publish(f.StepEntered, step_count=n)
        answer = await page.ask(request("events.subscribe", 1, after=0))
        assert "pos" in answer["result"]
        events = [await page.message() for _ in range(3)]
        assert [event["params"]["seq"] for event in events] == [1, 2, 3]


async def test_a_page_that_does_not_read_holds_up_its_own_feed_alone(tmp_path: Path) -> None:
    limits = RpcLimits(slow_seconds=60)
    async with served(tmp_path, limits) as daemon, page_of(daemon) as page:
        await page.message()
        await page.ask(request("events.subscribe", 1, after=0))
        page.pending = ROOM_BYTES + 1
        for n in range(3):
            daemon.service.publish(f.StepEntered, step_count=n)
        assert (await page.message())["params"]["seq"] == 1
        await trio.testing.wait_all_tasks_blocked()
        async with daemon.client() as other:
            assert await other.result("daemon.ping") == {"pong": True}
        page.pending = 0
        page.roomy.set()
        assert [(await page.message())["params"]["seq"] for _ in range(2)] == [2, 3]


async def test_a_page_that_goes_leaves_no_feed_and_what_it_asked_for_is_done(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as daemon:
        async with page_of(daemon) as page:
            await page.message()
            await page.ask(request("events.subscribe", 1, after=0))
            page.say(request("runs.cancel", 2, run_id="run-1"))
            page.leave()
            await wait_until(lambda: ("cancel", "run-1") in daemon.service.calls)
            await wait_until(lambda: daemon.service.open_feeds == 0)
            assert not page.ended.is_set()
            daemon.service.gate.set()
        assert daemon.server.connections == 0


async def test_a_page_is_notified_that_the_daemon_stops(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, page_of(daemon) as page:
        await page.message()
        daemon.server.stop("interrupt")
        told = await page.message()
        assert (told["method"], told["params"]) == ("daemon.stopping", {"turns": "interrupt"})
        await page.ended.wait()


async def test_where_there_is_no_room_a_page_is_refused(tmp_path: Path) -> None:
    limits = RpcLimits(connections=1)
    async with served(tmp_path, limits) as daemon, daemon.client() as client:
        await client.result("events.subscribe", after=0)  # it follows, so it keeps its place
        async with page_of(daemon) as page:
            answer = await page.message()
            assert (answer["error"]["code"], answer["id"]) == (-32008, None)
            await page.ended.wait()
