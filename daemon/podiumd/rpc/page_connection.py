"""A connection of a page: a WebSocket, one message a frame."""

from __future__ import annotations

from typing import Final, Protocol

import trio

from podiumd.rpc.adapter import INVALID_REQUEST, Adapter, error_line
from podiumd.rpc.connection import Connection, Server
from podiumd.rpc.context import RequestContext
from podiumd.wire.method import Scope

ROOM_BYTES: Final = 256 * 1024
"""Bytes that may wait for a page before its feeds wait; the gateway drops one that lets more than
some megabytes wait."""

_NOT_TEXT: Final = "Invalid request: a message is text, not bytes."


class Messages(Protocol):
    """A socket of messages, as the gateway hands it over. Nothing of it raises once the page has
    gone: then ``receive`` returns ``None``, and what is sent is dropped."""

    @property
    def pending(self) -> int: ...
    async def receive(self) -> str | bytes | None: ...
    def send(self, text: bytes) -> None: ...
    async def room(self) -> None: ...


class _PageOutbox:
    """Lines as messages. The socket takes all of them at once and sends as the client reads."""

    broken = False

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    @property
    def full(self) -> bool:
        return self._messages.pending > ROOM_BYTES

    def put(self, data: bytes) -> None:
        self.add(data)

    def add(self, data: bytes) -> None:
        for line in data.splitlines():
            self._messages.send(line)

    def offer(self, data: bytes) -> bool:
        if self._messages.pending + len(data) > ROOM_BYTES:
            return False
        self.add(data)
        return True

    def flush(self) -> None:
        """Do nothing: what was added is on its way."""

    def wake(self) -> None:
        """Do nothing: what was added is on its way."""

    async def room(self) -> None:
        await self._messages.room()

    async def flushed(self) -> None:
        """Leave it to the close of the socket, which sends what waits."""
        await trio.lowlevel.checkpoint()

    async def run(self) -> None:
        await trio.sleep_forever()


class PageConnection(Connection):
    """Serves one page; once it has gone, what it asked to have done is done before ``run`` ends."""

    def __init__(
        self,
        messages: Messages,
        first: str,
        server: Server,
        adapter: Adapter[RequestContext],
        caller: str,
        scope: Scope,
    ) -> None:
        """Take a socket; ``first`` is a message that was read of it already."""
        super().__init__(server, adapter, _PageOutbox(messages), caller, scope)
        self._messages = messages
        self._first = first
        self._receiving = trio.CancelScope()
        self._gone = False

    def _is_gone(self) -> bool:
        return self._gone

    def _hear_no_more(self) -> None:
        self._receiving.cancel()

    async def _read(self) -> None:
        await self._handle([self._first.encode()])
        while not self._closing:
            message: str | bytes | None = None
            with trio.CancelScope() as self._receiving:
                message = await self._messages.receive()
                self._gone = message is None
            if message is None:
                return
            self.heard_at = trio.current_time()
            if isinstance(message, bytes):
                self._outbox.put(error_line(INVALID_REQUEST, _NOT_TEXT))
            else:
                await self._handle([message.encode()])
