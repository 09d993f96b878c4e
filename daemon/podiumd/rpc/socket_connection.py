"""A connection of the Unix socket: lines in, lines out."""

from __future__ import annotations

import select
import socket
from typing import Final

import trio

from podiumd.rpc.adapter import INVALID_REQUEST, Adapter, error_line
from podiumd.rpc.connection import Connection, Server
from podiumd.rpc.context import RequestContext
from podiumd.rpc.lines import LineSplitter, LineTooLong
from podiumd.rpc.outbox import Outbox, Sender

LOCAL: Final = "local"
"""Who asks at the socket: it serves one person only."""

_CHUNK_BYTES: Final = 64 * 1024
_TURN_BYTES: Final = 16 * 1024  # before other tasks get theirs: some 150 requests, 1 ms
_DISCARD_SECONDS: Final = 2.0


class SocketConnection(Connection):
    """Serves one connected, non-blocking socket. The caller closes it."""

    def __init__(
        self,
        sock: socket.socket,
        server: Server,
        adapter: Adapter[RequestContext],
        sender: Sender,
    ) -> None:
        """Take a socket; ``sender`` sends for all connections of the server."""
        outbox = Outbox(sock, server.limits.outbox_bytes, sender)
        super().__init__(server, adapter, outbox, LOCAL, "all")
        self._socket = sock
        self._splitter = LineSplitter(self._limits.line_bytes)
        self._look = select.poll()
        self._look.register(sock, 0)  # what is asked for then: whether it hung up

    def _is_gone(self) -> bool:
        found = self._look.poll(0)  # empty nearly always
        return bool(found) and any(events & select.POLLHUP for _, events in found)

    def _hear_no_more(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RD)  # wakes the reader
        except OSError:
            pass  # the client was faster

    async def _read(self) -> None:
        taken = 0
        while not self._closing and not self._outbox.broken:
            if taken >= _TURN_BYTES:
                taken = 0
                await trio.lowlevel.checkpoint()
            try:  # without waiting first: a busy client has sent more by now, and waiting is dear
                chunk = self._socket.recv(_CHUNK_BYTES)
            except (BlockingIOError, InterruptedError):
                taken = 0
                await trio.lowlevel.wait_readable(self._socket)
                continue
            except OSError:
                return
            taken += len(chunk)
            self.heard_at = trio.current_time()
            try:
                lines = self._splitter.feed(chunk) if chunk else [self._splitter.finish()]
            except LineTooLong:
                await self._refuse_long_line()
                return
            if not chunk:
                await self._handle([line for line in lines if line])
                return
            await self._handle(lines)

    async def _refuse_long_line(self) -> None:
        """Answer, then read the rest away: a client that is still sending sees the answer."""
        longest = self._limits.line_bytes
        self._outbox.put(
            error_line(INVALID_REQUEST, f"Invalid request: a line is longer than {longest} bytes.")
        )
        self._closing = True
        with trio.move_on_after(_DISCARD_SECONDS):
            await self._outbox.flushed()
            self._socket.shutdown(socket.SHUT_WR)
            while self._discard():
                await trio.lowlevel.wait_readable(self._socket)

    def _discard(self) -> bool:
        try:
            return bool(self._socket.recv(_CHUNK_BYTES))
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
