"""However many write at once, one is let in for each pass of the loop, and nobody is forgotten."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.turnstile import FairReadGate
from podiumd.gateway.websocket import FEW_BYTES, READ_BYTES, _Wire
from tests.load.thin_phone import masked_frame


class Passes(trio.abc.Instrument):
    """Counts the passes of the loop; pytest-trio hands a fixture of this kind to trio."""

    def __init__(self) -> None:
        self.count = 0

    def before_io_wait(self, timeout: float) -> None:
        self.count += 1


@pytest.fixture
def passes() -> Passes:
    return Passes()


@pytest.fixture
async def turnstile(nursery: trio.Nursery) -> AsyncIterator[FairReadGate]:
    turnstile = FairReadGate()
    nursery.start_soon(turnstile.run)
    yield turnstile
    nursery.cancel_scope.cancel()


async def test_who_comes_alone_does_not_wait(turnstile: FairReadGate, passes: Passes) -> None:
    before = passes.count
    await turnstile.enter()

    assert passes.count == before


async def test_of_many_one_is_let_in_each_pass_in_the_order_of_their_coming(
    turnstile: FairReadGate, passes: Passes
) -> None:
    came: list[tuple[int, int]] = []

    async def come(number: int) -> None:
        await turnstile.enter()
        came.append((passes.count, number))

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(come, number)

    assert len({at for at, _ in came}) == 20, "no two in one pass"
    assert sorted(number for _, number in came) == list(range(20))


async def test_who_goes_away_in_the_line_holds_nobody_up(turnstile: FairReadGate) -> None:
    came: list[str] = []

    async def come(name: str, scope: trio.CancelScope) -> None:
        with scope:
            await turnstile.enter()
            came.append(name)

    names = [f"phone {number}" for number in range(5)]
    scopes = {name: trio.CancelScope() for name in names}
    async with trio.open_nursery() as nursery:
        await turnstile.enter()  # the others stand in line
        for name, scope in scopes.items():
            nursery.start_soon(come, name, scope)
        for name in names[:3]:
            scopes[name].cancel()

    assert sorted(came) == names[3:]


class Sized(OutboxStream):
    """Notes how much is asked for at once."""

    def __init__(self, sock: socket.socket) -> None:
        raw = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
        super().__init__(raw, raw.socket.close, sock)
        self.asked: list[int | None] = []

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        self.asked.append(max_bytes)
        return await super().receive_some(max_bytes)


class Shut:
    """A gate that lets nobody in before it is opened."""

    def __init__(self) -> None:
        self.opened = trio.Event()

    async def enter(self) -> None:
        await self.opened.wait()


@asynccontextmanager
async def reading(gate: Shut, data: bytes) -> AsyncIterator[tuple[Sized, list[bytes]]]:
    """A phone that has written something, and what is made of it read by read."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    got: list[bytes] = []
    with theirs:
        stream = Sized(ours)
        wire = _Wire(stream, b"", GatewayLimits(), trio.Semaphore(1), gate)
        wire.message_bytes = len(data)
        wire.open(lambda: None)

        async def read() -> None:
            while sum(map(len, got)) < len(data):
                got.append(bytes(await wire.receive_some()))

        theirs.sendall(data)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            yield stream, got
        await stream.aclose()


async def test_what_a_phone_writes_stays_in_the_kernel_until_its_turn_comes() -> None:
    gate = Shut()
    async with reading(gate, masked_frame(b"ping")) as (stream, _):
        assert stream.asked == []
        gate.opened.set()

    assert stream.asked == [FEW_BYTES]


async def test_small_messages_are_read_a_few_at_a_time_and_a_large_one_in_large_parts() -> None:
    gate = Shut()
    gate.opened.set()
    small, large = masked_frame(b"ping") * 1000, masked_frame(bytes(40_000))
    async with reading(gate, small + large) as (stream, got):
        pass

    assert b"".join(got) == small + large
    few = [size for size in stream.asked if size == FEW_BYTES]
    assert len(few) >= len(small) // FEW_BYTES
    assert stream.asked[len(few) :] == [READ_BYTES, READ_BYTES, stream.asked[-1]]
