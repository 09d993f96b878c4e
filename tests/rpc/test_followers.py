"""Many who follow: what happens costs one task's turn and one send each, and nothing is lost.

Counts, at the door of a daemon whose runs and store are real.
"""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from podiumd.core.run import facts as f
from podiumd.rpc import connection, outbox
from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.listener import listening
from podiumd.rpc.server import RpcServer, serve_rpc
from podiumd.runtime import bus as bus_module
from podiumd.runtime.run_rows import row_of
from podiumd.store.records import NewFact, StoredFact
from podiumd.wire import event as events
from podiumd.wire.event import Event
from podiumd.wire.events import TurnOutput
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.plain import some
from tests.rpc.bare import bare_info
from tests.rpc.harness import request, wait_until
from tests.runtime.harness import Daemon, Json, Machine, running

SUBSCRIBE = request("events.subscribe")


class Door:
    """A daemon, and the socket that its clients come to."""

    def __init__(self, daemon: Daemon, server: RpcServer, path: Path) -> None:
        self.daemon = daemon
        self.server = server
        self._path = path
        self._sockets: list[socket.socket] = []

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()

    async def follower(self, line: bytes = SUBSCRIBE) -> Follower:
        """A client whose first request is answered, and which reads only when it is told to."""
        sock = socket.socket(socket.AF_UNIX)
        self._sockets.append(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(str(self._path))
        sock.setblocking(False)
        sock.send(line + b"\n")
        follower = Follower(sock)
        await follower.answered()
        return follower

    async def followers(self, many: int, line: bytes = SUBSCRIBE) -> list[Follower]:
        found = [await self.follower(line) for _ in range(many)]
        await trio.testing.wait_all_tasks_blocked()
        return found


class Follower:
    """A client that no task of the test's reads for: what happens wakes the daemon's alone."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._rest = b""
        self.told: list[Json] = []

    async def answered(self) -> None:
        await trio.lowlevel.wait_readable(self._socket)
        self.take()
        answer = self.told.pop(0)
        assert "result" in answer, answer

    def take(self, most: int = 1 << 20) -> int:
        """Read what is there; how many bytes that was."""
        try:
            data = self._socket.recv(most)
        except BlockingIOError:
            return 0
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.told += map(json.loads, lines)
        return len(data)

    async def hears(self, count: int) -> None:
        """Read until so much was told in all."""
        while len(self.told) < count:
            await trio.lowlevel.wait_readable(self._socket)
            assert self.take(), "the connection ended"

    async def ends(self) -> None:
        """Read to the end of the connection."""
        await trio.lowlevel.wait_readable(self._socket)
        while self.take():
            await trio.lowlevel.wait_readable(self._socket)

    @property
    def seqs(self) -> list[int]:
        events = [one["params"] for one in self.told if one["method"] in ("event", "run.event")]
        return [event["seq"] for event in events if "seq" in event]

    @property
    def words(self) -> list[str]:
        outputs = [one["params"] for one in self.told if one["params"]["type"] == "turn.output"]
        return [event["data"]["delta"] for event in outputs]


class Steps(trio.abc.Instrument):
    """Counts how often a task had its turn."""

    count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


@asynccontextmanager
async def door(tmp_path: Path, limits: RpcLimits | None = None) -> AsyncIterator[Door]:
    """A daemon with its socket."""
    path = tmp_path / "s"
    info = bare_info(socket=str(path))
    with listening(path, os.getuid()) as listener:
        async with running(Machine(tmp_path)) as daemon, trio.open_nursery() as nursery:
            server: RpcServer = await nursery.start(
                serve_rpc, daemon.service, info, listener, limits
            )
            place = Door(daemon, server, path)
            try:
                yield place
            finally:
                place.close()
            daemon.bus.close()
            server.stop()


def facts(first: int, count: int, run_id: str = "run", text: str = "x") -> list[StoredFact]:
    """Facts of a run as the store hands them to the bus."""
    data = msgspec.Raw(f.encode(f.AsideNoted(run_id=text, session_id="s")))
    return [
        StoredFact(
            run_id=run_id,
            seq=seq,
            pos=seq,
            type="aside.noted",
            version=1,
            at="2026-01-02T03:00:00.000Z",
            session_id="s",
            data=data,
        )
        for seq in range(first, first + count)
    ]


def words(text: str = "Hello", **more: Any) -> Event:
    said = some(TurnOutput, turn_id="t", kind="text", delta=text, **more)
    return Event(said, at="", run_id="run", session_id="s")


@pytest.fixture
def sends(monkeypatch: pytest.MonkeyPatch) -> list[outbox.Outbox]:
    """Whose socket was sent to, each time."""
    found: list[outbox.Outbox] = []
    send = outbox.Outbox._send

    def counted(box: outbox.Outbox) -> None:
        found.append(box)
        send(box)

    monkeypatch.setattr(outbox.Outbox, "_send", counted)
    return found


@pytest.mark.parametrize("many", [1, 20, 100])
async def test_what_happens_together_is_one_send_each_and_one_turn_of_one_task(
    tmp_path: Path, sends: list[outbox.Outbox], monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    written: list[object] = []
    encode = events._encode

    def counted(event: object) -> bytes:
        written.append(event)
        return encode(event)

    async with door(tmp_path) as place:
        bus = place.daemon.bus
        followers = await place.followers(many)
        monkeypatch.setattr(events, "_encode", counted)
        sends.clear()
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        bus.publish(facts(1, 4))
        bus.publish_transient("run", words())
        bus.publish(facts(5, 2))
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.remove_instrument(steps)
        assert len(written) == 7
        assert len(sends) == len(set(sends)) == many
        assert steps.count <= 2 + many // 64  # the sender's, by 64 sockets, and the test's own
        for follower in followers:
            assert follower.take() > 0
            assert follower.seqs == [1, 2, 3, 4, 5, 6]
            assert [one["params"]["type"] for one in follower.told].index("turn.output") == 4


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"types": ["run.ended"]}, []),
        ({"types": ["turn.output"]}, [None]),
        ({"types": ["turn.output", "aside.noted"]}, [1, 2, None]),
    ],
)
async def test_who_wants_nothing_of_it_is_not_sent_to(
    tmp_path: Path, sends: list[outbox.Outbox], wish: Json, told: list[int | None]
) -> None:
    async with door(tmp_path) as place:
        followers = await place.followers(3, request("events.subscribe", **wish))
        sends.clear()
        place.daemon.bus.publish(facts(1, 2))
        place.daemon.bus.publish_transient("run", words())
        await trio.testing.wait_all_tasks_blocked()
        assert len(sends) == (3 if told else 0)
        for follower in followers:
            follower.take()
            assert [one["params"].get("seq") for one in follower.told] == told


async def run_of(daemon: Daemon) -> str:
    """A run that stands at its turn."""
    run_id, _turn = await daemon.begun(daemon.machine.one_step())
    return run_id


async def store(daemon: Daemon, run_id: str, count: int, text: str = "x") -> None:
    """Have so many facts of a run happen together."""
    state = daemon.actor(run_id).state
    data = f.encode(f.AsideNoted(run_id=text, session_id=state.session_id))
    fact = NewFact("aside.noted", 1, state.started_at, state.session_id, data)
    await daemon.store.append(row_of(state), [fact] * count)


async def test_followers_of_a_run_are_told_of_it_alone_and_to_its_end(
    tmp_path: Path, sends: list[outbox.Outbox]
) -> None:
    async with door(tmp_path) as place:
        run_id, turn = await place.daemon.begun(place.daemon.machine.one_step())
        line = request("runs.events", run_id=run_id, after_seq=4, follow=True)
        followers = await place.followers(5, line)
        for follower in followers:
            follower.take()
            follower.told.clear()  # where the run stands
        sends.clear()
        place.daemon.bus.publish(facts(1, 4, run_id="another"))
        await trio.testing.wait_all_tasks_blocked()
        assert sends == []
        turn.says_text("Hello")
        turn.complete()
        await place.daemon.ended(run_id)
        for follower in followers:
            await follower.hears(5)
            types = [one["params"]["type"] for one in follower.told]
            assert types == [
                *("turn.output", "turn.ended", "outcome.parsed", "edge.taken", "run.ended")
            ]
            assert follower.seqs == [5, 6, 7, 8]
        await wait_until(lambda: place.daemon.bus.longest_queue == 0)
        place.daemon.bus.publish(facts(9, 1, run_id=run_id))
        await trio.testing.wait_all_tasks_blocked()
        for follower in followers:
            assert follower.take() == 0


@pytest.mark.parametrize("seed", sampled(range(8)))
@pytest.mark.parametrize("room", [600, 5_000, 4 << 20])
async def test_however_fast_one_reads_nothing_is_lost_doubled_or_out_of_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, seed: int
) -> None:
    """Handed over, queued for its task, thrown away and read from the store: in turn."""
    chance = random.Random(seed)
    monkeypatch.setattr(bus_module, "QUEUE_EVENTS", 24)
    async with door(tmp_path, RpcLimits(outbox_bytes=room, slow_seconds=HANG_SECONDS)) as place:
        run_id = await run_of(place.daemon)
        line = request("runs.events", run_id=run_id, after_seq=4, follow=True)
        slow = [await place.follower(), await place.follower(line)]
        stored = 0
        for number in range(60):
            count = chance.randrange(1, 9)
            await store(place.daemon, run_id, count, text="x" * chance.choice([1, 300, 3000]))
            stored += count
            place.daemon.bus.publish_transient(run_id, words(f"word {number}"))
            for follower in slow:
                if not chance.randrange(3):
                    follower.take(chance.choice([100, 5_000, 1 << 20]))
                elif not chance.randrange(8):
                    await follower.hears(len(follower.told) + 1)
        for follower in slow:
            while len(follower.seqs) < stored:
                await follower.hears(len(follower.told) + 1)
            assert follower.seqs == [*range(5, 5 + stored)]
        said = [f"word {number}" for number in range(60)]
        of_all, of_run = slow
        await of_run.hears(len(of_run.told) + len(said) - len(of_run.words))
        assert of_run.words == said
        assert of_all.words == [one for one in said if one in of_all.words]


async def test_what_was_read_from_the_store_is_not_told_again_when_the_bus_has_it(
    tmp_path: Path,
) -> None:
    """A fact is durable a moment before it is told: who comes in between has it already."""
    async with door(tmp_path) as place:
        run_id = await run_of(place.daemon)
        follower = await place.follower(request("events.subscribe", after=0))
        await follower.hears(4)
        await trio.testing.wait_all_tasks_blocked()
        stored = await place.daemon.store.events(run_id)
        place.daemon.bus.publish(stored)
        place.daemon.bus.publish([*stored[-1:], *facts(5, 1, run_id)])
        await follower.hears(5)
        assert follower.seqs == [1, 2, 3, 4, 5]


async def test_one_that_does_not_read_costs_the_others_nothing_and_is_bounded(
    tmp_path: Path, sends: list[outbox.Outbox]
) -> None:
    limits = RpcLimits(outbox_bytes=20_000, slow_seconds=0.01, flush_seconds=5)
    async with door(tmp_path, limits) as place:
        stalled, *others = await place.followers(4)
        for number in range(60):
            place.daemon.bus.publish(facts(2 * number + 1, 2, text="x" * 3000))
            await trio.testing.wait_all_tasks_blocked()
            for follower in others:
                follower.take()
            assert all(len(box._pending) < 40_000 for box in sends)
        await wait_until(lambda: place.server.followers() == 3)
        await stalled.ends()
        *told, closed = stalled.told
        assert [one["params"]["seq"] for one in told] == [*range(1, len(told) + 1)]
        assert len(told) < 120
        assert closed["method"] == "feed.closed"
        assert closed["params"] == {"feed": "event", "reason": "slow"}
        for follower in others:
            assert follower.seqs == [*range(1, 121)]


async def test_an_event_that_cannot_be_told_ends_its_followers_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with door(tmp_path) as place:
        first, second = await place.followers(2)
        (chooses,) = await place.followers(1, request("events.subscribe", types=["aside.noted"]))
        place.daemon.bus.publish_transient("run", words(part=object()))
        place.daemon.bus.publish(facts(1, 1))
        await wait_until(lambda: place.server.connections == 1)
        for follower in (first, second):
            await follower.ends()
            (closed,) = follower.told
            assert closed["params"] == {"feed": "event", "reason": "internal error"}
        await chooses.hears(1)
        assert chooses.seqs == [1]


async def test_after_the_word_that_a_feed_is_closed_no_other_feed_speaks(tmp_path: Path) -> None:
    """Though the task of the other has not heard yet that it is over."""
    async with door(tmp_path) as place:
        lines = [SUBSCRIBE, request("events.subscribe", types=["aside.noted"])]
        follower = await place.follower(b"\n".join(lines))
        await wait_until(lambda: follower.take() or len(follower.told))
        follower.told.clear()
        await trio.testing.wait_all_tasks_blocked()
        (served,) = place.server._connections
        assert isinstance(served, connection.Connection)
        served._cut_loose("event", "slow")
        place.daemon.bus.publish(facts(1, 3))
        await follower.ends()
        assert [one["method"] for one in follower.told] == ["feed.closed"]
