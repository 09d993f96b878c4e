"""What one client has still to read: written at once where possible, else by a task."""

from __future__ import annotations

import socket

import trio


class Outbox:
    """Sends whole lines over a non-blocking socket without ever blocking the caller.

    Whoever adds a lot asks ``full`` and waits for ``room``; ``limit`` is in bytes.
    """

    def __init__(self, sock: socket.socket, limit: int) -> None:
        self._socket = sock
        self._limit = limit
        self._pending = bytearray()
        self._filled = trio.lowlevel.ParkingLot()
        self._drained = trio.lowlevel.ParkingLot()
        self._asleep = False
        self.broken = False

    @property
    def full(self) -> bool:
        return len(self._pending) > self._limit

    def put(self, data: bytes) -> None:
        """Send ``data``, which holds whole lines; after the client has gone it is dropped."""
        self.add(data)
        self.flush()

    def add(self, data: bytes) -> None:
        """Like ``put``, but leave the sending to ``flush``, or to the task after ``wake``."""
        if not self.broken:
            self._pending += data

    def flush(self) -> None:
        """Send at once what the socket takes; the task sends the rest."""
        if self._pending:
            del self._pending[: self._send(self._pending)]
            self.wake()

    def wake(self) -> None:
        """Have the task send what is pending once the caller is held up; cheap to repeat."""
        if self._asleep and self._pending:
            self._asleep = False
            self._filled.unpark_all()

    async def room(self) -> None:
        """Wait until less than the limit is pending, or the client has gone."""
        self.wake()
        while self.full and not self.broken:
            await self._drained.park()

    async def flushed(self) -> None:
        """Wait until everything is sent, or the client has gone."""
        while self._pending and not self.broken:
            await self._drained.park()

    async def run(self) -> None:
        """Send what could not be sent at once; runs until cancelled or the client has gone."""
        while not self.broken:
            if not self._pending:
                self._asleep = True
                await self._filled.park()
            else:  # the socket took no more
                await trio.lowlevel.wait_writable(self._socket)
            if self._pending:
                del self._pending[: self._send(self._pending)]
            self._drained.unpark_all()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self.broken = True
            self._pending.clear()
            self._filled.unpark_all()
            self._drained.unpark_all()
            return 0
