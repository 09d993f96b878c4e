"""The one way bytes leave a connection: whole pieces, in order, without blocking the sender.

What the socket does not take at once waits here for a writer task. On plain TCP a piece is
written directly when nothing waits; over TLS (and in memory) always by the writer. Large pieces
are kept as they were handed in, so that one frame to many phones is in memory once.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import trio

from podiumd.gateway.limits import KIB, GatewayLimits

_JOINED_BYTES: Final = 16 * KIB  # small pieces that wait are joined up to this size
_SMALL_BYTES: Final = 1 * KIB
_RECORD_BYTES: Final = 16 * KIB  # over TLS: one record, the step in which a stall is measured
_LINGER_BYTES: Final = 8 * 1024 * KIB
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_UNSENT_BYTES: Final = 128 * KIB
"""Bytes that the kernel may hold for a client beside those under way to it; else it takes
megabytes, and it is only after those that ``pending`` shows that a client does not read."""


class OutboxStream(trio.abc.Stream):
    """A stream whose ``put`` never blocks; ``run`` is its writer task.

    ``transport`` carries the bytes. ``direct`` is its socket when that may be written to as it
    is (plain TCP). ``hang_up`` closes the transport at once, without waiting for anything.
    ``pending`` is what the transport has not taken yet, in bytes; ``fault`` why the connection
    was given up, ``None`` while it was not.
    """

    def __init__(
        self,
        transport: trio.abc.Stream,
        hang_up: Callable[[], None],
        direct: socket.socket | None = None,
        limits: GatewayLimits | None = None,
    ) -> None:
        self._transport = transport
        self._hang_up = hang_up
        self._direct = direct
        if direct is not None and direct.family in _INTERNET:
            with suppress(OSError):  # the client was quicker: its end is noticed later
                direct.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
        self._limits = limits or GatewayLimits()
        self._waiting: deque[bytes | bytearray | memoryview] = deque()
        self._unread = b""
        self._taken = 0
        self._filled = trio.lowlevel.ParkingLot()
        self._progress = trio.lowlevel.ParkingLot()
        self._ending = False
        self._closed = False
        self._over = trio.Event()
        self.pending = 0
        self.fault: str | None = None
        self.heard = 0
        self._listening_since: float | None = None
        self.unread_input = False

    # -- out

    @property
    def gone(self) -> bool:
        """Return whether nothing can leave any more."""
        return self._closed or self.fault is not None

    def put(self, data: bytes) -> None:
        """Send ``data`` after all that was put before; after the end it is dropped.

        A client that already lets more than ``most_pending_bytes`` wait is given up instead.
        """
        if self._ending or self.fault is not None:
            return
        if self._direct is not None and not self._waiting:
            try:
                count = self._direct.send(data)
            except (BlockingIOError, InterruptedError):
                count = 0
            except OSError:
                self.abort("the client has gone")
                return
            if count == len(data):
                return
            self._keep(memoryview(data)[count:])
        elif self.pending > self._limits.most_pending_bytes:
            self.abort("the client does not read what it is sent")
        elif data:
            self._keep(data)

    def _keep(self, piece: bytes | memoryview) -> None:
        self.pending += len(piece)
        last = self._waiting[-1] if self._waiting else None
        if len(piece) > _SMALL_BYTES:
            self._waiting.append(piece)
        elif isinstance(last, bytearray) and len(last) < _JOINED_BYTES:
            last += piece
        else:
            self._waiting.append(bytearray(piece))
        self._filled.unpark_all()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Put ``data`` and wait until the transport has taken it. Cancelled while it waits, it
        has been put all the same: never half of it.

        Raises ``trio.BrokenResourceError`` when the connection was given up, and
        ``trio.ClosedResourceError`` after ``aclose``.
        """
        await trio.lowlevel.checkpoint()
        self._check()
        self.put(bytes(data))
        target = self._taken + self.pending
        while self._taken < target and not self.gone:
            await self._progress.park()
        if self.fault is not None:
            raise trio.BrokenResourceError(self.fault)

    async def wait_send_all_might_not_block(self) -> None:
        await self.room()

    async def room(self) -> None:
        """Wait until less than ``room_bytes`` is pending.

        Raises like ``send_all``.
        """
        await trio.lowlevel.checkpoint()
        while self.pending >= self._limits.room_bytes and not self.gone:
            await self._progress.park()
        self._check()

    async def flushed(self) -> None:
        """Wait until nothing is pending, or the connection was given up."""
        while self.pending and not self.gone:
            await self._progress.park()

    def _check(self) -> None:
        if self.fault is not None:
            raise trio.BrokenResourceError(self.fault)
        if self._ending:
            raise trio.ClosedResourceError

    async def run(self) -> None:
        """Send what could not be sent at once; returns when the connection has ended."""
        while not self.gone:
            if not self._waiting:
                await self._filled.park()
                continue
            try:
                if self._direct is None:
                    await self._write_record()
                else:
                    await self._write_socket(self._direct)
            except trio.TooSlowError:
                self.abort("the client takes no byte of what waits for it")
            except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
                self.abort("the client has gone")

    async def _write_record(self) -> None:
        first = self._waiting[0]
        rest = memoryview(bytes(first) if isinstance(first, bytearray) else first)
        record = rest[:_RECORD_BYTES]
        self._replace_first(rest[len(record) :])  # later small pieces join others, not this one
        with trio.fail_after(self._limits.stall_seconds):
            await self._transport.send_all(record)
        self._advance(len(record))

    async def _write_socket(self, sock: socket.socket) -> None:
        with trio.fail_after(self._limits.stall_seconds):
            await trio.lowlevel.wait_writable(sock)
        while self._waiting:
            first = self._waiting[0]
            try:
                count = sock.send(first)
            except (BlockingIOError, InterruptedError):
                return
            if count < len(first):
                # A copy of what is joined, for a view would keep it from growing.
                kept = bytes(first) if isinstance(first, bytearray) else first
                self._replace_first(memoryview(kept)[count:])
            else:
                self._waiting.popleft()
            self._advance(count)

    def _replace_first(self, rest: memoryview) -> None:
        if rest:
            self._waiting[0] = rest
        else:
            self._waiting.popleft()

    def _advance(self, count: int) -> None:
        if self.fault is None:
            self._taken += count
            self.pending -= count
        self._progress.unpark_all()

    # -- in

    def unread(self, data: bytes) -> None:
        """Give back what was received but belongs to the next reader."""
        self._unread = data + self._unread

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Return what has arrived; empty at the end.

        Nothing is received from a client that lets ``room_bytes`` of its answers wait: else one
        that asks on and on without reading would have us keep them all.
        """
        await self._answers_taken()
        if self._unread:
            await trio.lowlevel.checkpoint()
            count = len(self._unread) if max_bytes is None else max_bytes
            given, self._unread = self._unread[:count], self._unread[count:]
            return given
        with self._listening():
            data = await self._transport.receive_some(max_bytes)
        self.heard += len(data)
        return data

    async def arrival(self, max_bytes: int) -> None:
        """Wait until ``receive_some`` has something to return, be it the end.

        What has arrived stays where it is, so that it costs no time before its turn; where it
        cannot be seen there (over TLS), up to ``max_bytes`` of it are taken. Raises like
        ``receive_some``.
        """
        await self._answers_taken()
        if self._unread:
            await trio.lowlevel.checkpoint()
        elif self._direct is None:
            self.unread(bytes(await self.receive_some(max_bytes)))
        elif self._direct.fileno() < 0:
            raise trio.ClosedResourceError
        else:
            with self._listening():
                await trio.lowlevel.wait_readable(self._direct)

    async def _answers_taken(self) -> None:
        while self.pending >= self._limits.room_bytes and not self.gone:
            await self._progress.park()

    @contextmanager
    def _listening(self) -> Iterator[None]:
        self._listening_since = trio.current_time()
        try:
            yield
        finally:
            self._listening_since = None

    def listened_since(self, time: float) -> bool:
        """Return whether a task has waited for bytes to arrive all the time since ``time``."""
        return self._listening_since is not None and self._listening_since <= time

    # -- the end

    def abort(self, reason: str) -> None:
        """Give the connection up at once, with what was pending."""
        if self.gone:
            return
        self.fault = reason
        self._hang_up()
        self._forget()

    async def aclose(self) -> None:
        """Take no more, send what is pending (within ``close_seconds``), close the transport.

        With ``unread_input`` the rest of it is first discarded for a moment: closing a socket
        that holds unread bytes would reset it, and the client lose our last words. Called
        again, it waits for the first call.
        """
        if self._ending:
            await self._over.wait()
            return
        self._ending = True
        try:
            with trio.move_on_after(self._limits.close_seconds):
                await self.flushed()
                if self.unread_input and not self.gone:
                    await self._linger()
            with trio.move_on_after(self._limits.close_seconds):
                if self.pending == 0 and self.fault is None:
                    await self._transport.aclose()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client was quicker
        finally:
            sent = self.pending == 0 and self.fault is None
            self._closed = True
            self._forget()
            self._over.set()
            if sent:
                await trio.aclose_forcefully(self._transport)
            else:
                self._hang_up()

    async def _linger(self) -> None:
        if isinstance(self._transport, trio.abc.HalfCloseableStream):
            await self._transport.send_eof()
        discarded = 0
        with trio.move_on_after(self._limits.linger_seconds):
            while discarded < _LINGER_BYTES and (data := await self._transport.receive_some()):
                discarded += len(data)

    def _forget(self) -> None:
        self._waiting.clear()
        self.pending = 0
        self._filled.unpark_all()
        self._progress.unpark_all()
