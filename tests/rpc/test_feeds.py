"""Feeds: in order, without hole or repeat, bounded, and one client's fault is its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podiumd.core.run import facts as f
from podiumd.rpc.limits import RpcLimits
from podiumd.runtime.errors import Refused
from tests.rpc.harness import PING, request, served, wait_until


async def test_following_a_run_has_no_hole_and_no_repeat(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        for n in range(3):
            daemon.service.publish(f.StepEntered, step_count=n)
        page = await client.result("runs.events", run_id="run-1", follow=True)
        assert [event["seq"] for event in page["events"]] == [1, 2, 3] and page["next_seq"] == 3
        for n in range(3, 50):
            daemon.service.publish(f.StepEntered, step_count=n)
        daemon.service.publish(f.RunEnded)
        seen = [await client.message() for _ in range(48)]
        assert {message["method"] for message in seen} == {"run.event"}
        assert [message["params"]["seq"] for message in seen] == list(range(4, 52))
        await wait_until(lambda: daemon.service.open_feeds == 0)
        assert await client.result("daemon.ping") == {"pong": True}


async def test_following_an_ended_run_opens_no_feed(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.RunEnded)
        page = await client.result("runs.events", run_id="run-1", follow=True)
        assert page["events"][-1]["type"] == "run.ended" and daemon.service.open_feeds == 0


async def test_the_answer_comes_before_the_first_notification(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.StepEntered)
        batch = b"[" + request("events.subscribe", 1, after=0) + b"," + PING + b"]"
        answers = await client.ask(batch)
        assert {answer["id"] for answer in answers} == {1}
        assert (await client.message())["method"] == "event"


async def test_each_feed_of_several_lines_sent_at_once_begins_after_its_own_answer(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.StepEntered)
        lines = [request("events.subscribe", n, after=0) + b"\n" for n in range(3)]
        await client.send(b"".join(lines))
        messages = [await client.message() for _ in range(6)]
        assert [message["id"] for message in messages if "id" in message] == [0, 1, 2]
        for end in range(6):  # no feed has spoken before its answer
            told = sum("method" in message for message in messages[:end])
            assert told <= end - told


async def test_subscribing_begins_now_and_filters_by_type(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.RunStarted)
        assert await client.result("events.subscribe", types=["run.paused"]) == {"pos": 1}
        daemon.service.publish(f.RunResumed)
        daemon.service.publish(f.RunPaused)
        message = await client.message()
        assert message["method"] == "event" and message["params"]["pos"] == 3


async def test_a_type_that_no_event_has_is_refused_and_those_that_there_are_named(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        answer = await client.call("events.subscribe", types=["run.ended", "run.endedd"])
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"] == {"parameter": "types"}
        words, _, listed = answer["error"]["message"].rstrip(".").partition("; there are: ")
        assert words == "There is no event 'run.endedd'" and daemon.service.open_feeds == 0
        assert await client.result("events.subscribe", types=listed.split(", ")) == {"pos": 0}
        assert {"run.ended", "turn.output", "snapshot"} < set(listed.split(", "))


async def test_a_feed_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.feed_failure = ValueError("planted secret")
        answer = await client.call("events.subscribe")
        assert answer["error"]["code"] == -32603 and "planted" not in json.dumps(answer)


async def test_a_slow_subscriber_is_cut_loose_with_a_reason(tmp_path: Path) -> None:
    limits = RpcLimits(outbox_bytes=10_000, slow_seconds=0.01, flush_seconds=5)
    async with (
        served(tmp_path, limits) as daemon,
        daemon.client() as slow,
        daemon.client() as other,
    ):
        await slow.result("events.subscribe")
        for _ in range(40):
            daemon.service.publish(f.StepEntered, step="x" * 20_000)
        await wait_until(lambda: daemon.service.open_feeds == 0)
        assert await other.result("daemon.ping") == {"pong": True}
        seen = []
        while (line := await slow.line()) is not None:
            seen.append(json.loads(line))
        positions = [message["params"]["pos"] for message in seen[:-1]]
        assert positions == list(range(1, len(positions) + 1)) and len(positions) < 40
        assert seen[-1]["method"] == "feed.closed"
        assert seen[-1]["params"] == {"feed": "event", "reason": "slow"}


async def test_a_subscriber_that_vanishes_leaves_nothing_behind(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon:
        async with daemon.client() as client:
            await client.result("events.subscribe")
            assert daemon.service.open_feeds == 1
        await wait_until(lambda: daemon.server.connections == 0)
        assert daemon.service.open_feeds == 0


async def test_a_subscriber_that_closes_its_side_is_let_go_at_once(tmp_path: Path) -> None:
    """Whether it will ever read could not be told, and its place would be taken for good."""
    async with served(tmp_path, RpcLimits(connections=1)) as daemon:
        async with daemon.client() as client:
            await client.result("events.subscribe")
            await client.stream.send_eof()
            assert await client.line() is None
        await wait_until(lambda: daemon.server.connections == 0)
        assert daemon.service.open_feeds == 0


async def test_a_feed_that_is_opened_by_the_last_line_is_answered_and_not_begun(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.RunStarted)
        await client.send(b"[" + request("events.subscribe", 1, after=0) + b"]")
        await client.stream.send_eof()
        assert await client.message() == [{"jsonrpc": "2.0", "result": {"pos": 0}, "id": 1}]
        assert await client.line() is None
        assert daemon.service.open_feeds == 0


async def test_a_daemon_that_stops_tells_followers_what_has_happened(tmp_path: Path) -> None:
    """The last events of a feed are not lost with its connection."""
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result("events.subscribe")
        for _ in range(100):
            daemon.service.publish(f.StepEntered, step="x" * 20_000)
        daemon.service.publish(f.RunEnded)
        daemon.service.close()
        daemon.server.stop("interrupt")
        told = []
        while (line := await client.line()) is not None:
            told.append(json.loads(line))
        assert [one["params"]["pos"] for one in told if one["method"] == "event"] == [
            *range(1, 102)
        ]
        (stopping,) = [one for one in told if one["method"] == "daemon.stopping"]
        assert stopping["params"] == {"turns": "interrupt"}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (RuntimeError("planted"), "internal error"),
        (OSError("planted"), "internal error"),
        (Refused("Not this one."), "Not this one."),
        (None, "internal error"),
    ],
)
async def test_a_fault_in_a_feed_ends_that_connection_alone(
    tmp_path: Path, fault: Exception | None, reason: str
) -> None:
    """Whether the feed raises, or gives what is no JSON."""
    async with served(tmp_path) as daemon, daemon.client() as client, daemon.client() as other:
        await client.result("events.subscribe")
        daemon.service.break_feeds(fault)
        closed = await client.message()
        assert closed["method"] == "feed.closed"
        assert closed["params"] == {"feed": "event", "reason": reason}
        assert await client.line() is None
        assert daemon.service.open_feeds == 0
        assert await other.result("daemon.ping") == {"pong": True}


async def test_clients_that_have_gone_while_they_waited_take_no_room_from_others(
    tmp_path: Path,
) -> None:
    async with (
        served(tmp_path, RpcLimits(connections=2)) as daemon,
        daemon.client() as done,
        daemon.client() as gone,
    ):
        await done.send(request("runs.cancel", 7, run_id="run-1") + b"\n")
        await done.stream.send_eof()  # it asks no more and waits for its answer
        await gone.send(request("runs.cancel", 8, run_id="run-1") + b"\n")
        await wait_until(lambda: len(daemon.service.calls) == 2)
        await gone.stream.aclose()
        async with daemon.client() as next_one:
            assert await next_one.result("daemon.ping") == {"pong": True}
            await wait_until(lambda: daemon.server.connections == 2)
            daemon.service.gate.set()
            assert "result" in await done.message()
