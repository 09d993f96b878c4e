"""A TCP proxy that treats connections as bad networks do, by a schedule that a seed decides.

Each connection has a ``Fate``: in which pieces its bytes arrive, and what befalls it after so many
bytes of one direction: it is cut, it stalls and goes on, or it is half open (one side believes in
a connection that the other has lost). The same seed gives the same fates in the same order; when
all are used up the proxy passes everything on.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from socket import IPPROTO_TCP, SO_LINGER, SOL_SOCKET, TCP_NODELAY
from typing import Literal, NamedTuple

import trio

CHUNK = 65536
SINGLE_BYTES = 4096
"""How much of a direction comes byte by byte, where that is its fate: enough for every boundary
of a handshake and many frames."""

End = Literal["pass", "cut", "stall", "half-open"]
Pieces = Literal["whole", "bytes", "random"]
ENDS: tuple[End, ...] = ("cut", "stall", "half-open")
PIECES: tuple[Pieces, ...] = ("whole", "bytes", "random")
SPLITS = {"bytes": "split byte by byte", "random": "split at random"}


class Fate(NamedTuple):
    """What befalls one connection: ``end`` after ``after_bytes`` of what the server says
    (``downward``) or of what the phone says. ``seconds``: how long it stalls or stays half open.
    """

    end: End = "pass"
    after_bytes: int = 0
    downward: bool = True
    pieces: Pieces = "whole"
    seconds: float = 0.0


class Schedule:
    """``count`` fates; what they are is decided by ``seed`` alone."""

    def __init__(
        self, seed: int, count: int, *, most_bytes: int = 65536, most_seconds: float = 0.05
    ) -> None:
        self._random = random.Random(seed)
        self._left = count
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds

    def next(self) -> Fate:
        """The fate of the next connection."""
        if self._left == 0:
            return Fate()
        self._left -= 1
        chance = self._random
        # Early cuts (in handshakes and first frames) as often as late ones.
        after = int(self._most_bytes ** chance.random())
        end: End = chance.choices(ENDS, (6, 2, 2))[0]
        pieces: Pieces = chance.choices(PIECES, (5, 2, 3))[0]
        downward = chance.random() < 0.8
        return Fate(end, after, downward, pieces, chance.random() * self._most_seconds)


class CuttingProxy:
    """Listens at ``url``; ``done`` counts what was done to connections, by kind."""

    def __init__(self, host: str, port: int, schedule: Schedule, seed: int = 0) -> None:
        self.url = ""
        self.done: Counter[str] = Counter()
        self._target = (host, port)
        self._schedule = schedule
        self._random = random.Random(seed)
        self._live: dict[trio.SocketStream, None] = {}  # in the order of their making

    def cut_all(self) -> None:
        """Cut every connection that stands now."""
        for stream in tuple(self._live):
            self.done["cut"] += 1
            _reset(stream)

    def cut_one(self, chance: random.Random) -> None:
        """Cut one of the connections that stand now, if any does."""
        if self._live:
            self.done["cut"] += 1
            _reset(chance.choice(list(self._live)))

    async def serve(self, client: trio.SocketStream) -> None:
        """One connection of a phone, until its fate has found it."""
        fate = self._schedule.next()
        try:
            server = await trio.open_tcp_stream(*self._target)
        except OSError:
            self.done["refused"] += 1
            _reset(client)
            return
        self.done["connections"] += 1
        if fate.pieces != "whole":
            self.done[SPLITS[fate.pieces]] += 1
        for stream in (client, server):
            stream.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self._live[client] = None
        try:
            await self._join(client, server, fate)
        finally:
            self._live.pop(client, None)
            _reset(client)
            _reset(server)

    async def _join(self, client: trio.SocketStream, server: trio.SocketStream, fate: Fate) -> None:
        up, down = (Fate(pieces=fate.pieces), fate) if fate.downward else (fate, Fate())
        half_open = trio.Event()
        async with trio.open_nursery() as nursery:

            async def pump(source: trio.SocketStream, sink: trio.SocketStream, own: Fate) -> None:
                try:
                    over = await self._pump(source, sink, own, half_open)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    # While half open, what the deceived side says goes nowhere.
                    over = not half_open.is_set()
                if over:
                    nursery.cancel_scope.cancel()

            nursery.start_soon(pump, client, server, up)
            nursery.start_soon(pump, server, client, down)

    async def _pump(
        self, source: trio.SocketStream, sink: trio.SocketStream, fate: Fate, half_open: trio.Event
    ) -> bool:
        """Pass bytes on in one direction; returns whether the connection is over."""
        passed = 0
        waiting = fate.end != "pass"
        while data := bytes(await source.receive_some(CHUNK)):
            if waiting and passed + len(data) >= fate.after_bytes:
                waiting = False
                before, data = data[: fate.after_bytes - passed], data[fate.after_bytes - passed :]
                passed += len(before)
                await self._send(sink, before, fate.pieces, passed)
                self.done[fate.end] += 1
                if fate.end == "half-open":
                    half_open.set()
                    _reset(source)
                if fate.end != "cut":
                    await _pause(fate.seconds)
                if fate.end != "stall":
                    return True
            passed += len(data)
            await self._send(sink, data, fate.pieces, passed)
        await sink.send_eof()
        return False

    async def _send(
        self, sink: trio.SocketStream, data: bytes, pieces: Pieces, passed: int
    ) -> None:
        at = 0
        while at < len(data):
            if pieces == "bytes" and passed - len(data) + at < SINGLE_BYTES:
                size = 1
            elif pieces == "random":
                size = self._random.randrange(1, 2048)
            else:
                size = len(data) - at
            await sink.send_all(data[at : at + size])
            at += size


async def _pause(seconds: float) -> None:
    with trio.move_on_after(seconds):
        await trio.sleep_forever()


def _reset(stream: trio.SocketStream) -> None:
    """Close with a reset: the other side learns of it in the midst of whatever it does."""
    if stream.socket.fileno() >= 0:
        stream.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        stream.socket.close()


@asynccontextmanager
async def cutting_proxy(
    host: str, port: int, schedule: Schedule, seed: int = 0
) -> AsyncIterator[CuttingProxy]:
    """A listening proxy in front of ``host:port``; leaving cuts what still stands."""
    proxy = CuttingProxy(host, port, schedule, seed)
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, proxy.serve, 0, host="127.0.0.1"))
        proxy.url = f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        yield proxy
        nursery.cancel_scope.cancel()
