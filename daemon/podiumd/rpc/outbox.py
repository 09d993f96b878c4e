"""Unread output of clients: written at once where possible, else by a task."""

from __future__ import annotations

import socket
from collections import deque
from typing import Final

import trio

_OUTBOXES_TOGETHER: Final = 64  # sent without a pause, 0.3 ms; then the others have their turn


class Sender:
    """Send what outboxes were given since it last had its turn.

    One task for all of them: many outboxes with the same lines wake it once, and all that has
    happened until its turn comes leaves together.
    """

    def __init__(self) -> None:
        self._due: deque[Outbox] = deque()
        self._filled = trio.lowlevel.ParkingLot()

    def due(self, outbox: Outbox) -> None:
        """Have an outbox flushed; the caller sees to it that it is due once."""
        self._due.append(outbox)
        if len(self._due) == 1:
            self._filled.unpark_all()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            if self._due:
                await trio.lowlevel.checkpoint()
            else:
                await self._filled.park()
            for _ in range(min(len(self._due), _OUTBOXES_TOGETHER)):
                self._due.popleft().flush()


class Outbox:
    """Send whole lines over a non-blocking socket without ever blocking the caller.

    A caller that adds a lot asks ``full`` and waits for ``room``; ``limit`` is in bytes. ``sender``
    sends for it while its socket takes all, then its own task does.
    """

    def __init__(self, sock: socket.socket, limit: int, sender: Sender) -> None:
        self._socket = sock
        self._limit = limit
        self._sender = sender
        self._pending: bytes | bytearray = b""  # as it was given while there is one
        self._filled = trio.lowlevel.ParkingLot()
        self._drained = trio.lowlevel.ParkingLot()
        self._asleep = False
        self._due = False
        self.broken = False

    @property
    def full(self) -> bool:
        return len(self._pending) > self._limit

    def put(self, data: bytes) -> None:
        """Send ``data``, which holds whole lines; after the client has gone it is dropped."""
        self.add(data)
        self.flush()

    def add(self, data: bytes) -> None:
        """Like ``put``, but leave the sending to ``flush``, or to the tasks after ``wake``."""
        if self.broken:
            return
        if not self._pending:
            self._pending = data
            return
        if isinstance(self._pending, bytes):
            self._pending = bytearray(self._pending)
        self._pending += data

    def offer(self, data: bytes) -> bool:
        """Add ``data`` and ``wake``, unless that would make it full; whether it was taken."""
        if len(self._pending) + len(data) > self._limit:
            return False
        self.add(data)
        self.wake()
        return True

    def flush(self) -> None:
        """Send at once what the socket takes; the task sends the rest."""
        self._due = False
        if self._pending:
            self._send()
            if self._drained:
                self._drained.unpark_all()
            if self._pending and self._asleep:
                self._asleep = False
                self._filled.unpark_all()

    def wake(self) -> None:
        """Have what is pending sent once the caller is held up; cheap to repeat."""
        if self._asleep and self._pending and not self._due:
            self._due = True
            self._sender.due(self)

    async def room(self) -> None:
        """Wait until less than the limit is pending, or the client has gone."""
        self.wake()
        while self.full and not self.broken:
            await self._drained.park()

    async def flushed(self) -> None:
        """Wait until everything is sent, or the client has gone."""
        self.wake()
        while self._pending and not self.broken:
            await self._drained.park()

    async def run(self) -> None:
        """Send what could not be sent at once; runs until cancelled or the client has gone."""
        while not self.broken:
            if self._pending:  # the socket took no more
                await trio.lowlevel.wait_writable(self._socket)
                self.flush()
            else:
                self._asleep = True
                await self._filled.park()

    def _send(self) -> None:
        try:
            sent = self._socket.send(self._pending)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.broken = True
            self._pending = b""
            self._filled.unpark_all()
            return
        if sent == len(self._pending):
            self._pending = b""
            return
        if isinstance(self._pending, bytes):
            self._pending = bytearray(self._pending)
        del self._pending[:sent]
