"""A client of ``POST /agui`` over h11, which reads its events as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import h11
import trio
from ag_ui.core import RunAgentInput

from tests.gateway.agui.checked import checked, frames
from tests.gateway.routes.client import Answer, Client
from tests.patience import HANG_SECONDS

Json = dict[str, Any]


def asking(thread: str, *messages: str | Json, run: str = "run-1", **fields: Any) -> Json:
    """A ``RunAgentInput`` as the published models write it; a text is the user's message."""
    listed = [
        {"id": f"m-{number}", "role": "user", "content": message}
        if isinstance(message, str)
        else message
        for number, message in enumerate(messages)
    ]
    value = {"threadId": thread, "runId": run, "messages": listed} | fields
    sent: Json = RunAgentInput.model_validate(value).model_dump(mode="json", by_alias=True)
    return sent


def resolved(interrupt: Json, payload: object, status: str = "resolved") -> list[Json]:
    """What answers one interrupt."""
    return [{"interruptId": interrupt["id"], "status": status, "payload": payload}]


class Stream:
    """One request that is under way. ``events`` are all that have come."""

    def __init__(self, transport: trio.SocketStream) -> None:
        self._transport = transport
        self._peer = h11.Connection(h11.CLIENT)
        self._body = bytearray()
        self._head: h11.Response | None = None
        self.over = False
        self.cut = False

    @property
    def events(self) -> list[Json]:
        whole = bytes(self._body[: self._body.rfind(b"\n\n") + 2])
        return frames(whole) if whole else []

    @property
    def answer(self) -> Answer:
        """What came, as that of any other route."""
        assert self._head is not None
        headers = {n.decode(): value.decode("latin-1") for n, value in self._head.headers}
        return Answer(self._head.status_code, headers, bytes(self._body))

    async def send(self, request: h11.Request, body: bytes) -> None:
        data = self._peer.send(request) or b""
        data += self._peer.send(h11.Data(data=body)) or b""
        await self._transport.send_all(data + (self._peer.send(h11.EndOfMessage()) or b""))

    async def read(self) -> None:
        """Read a little more."""
        try:
            event = self._peer.next_event()
        except h11.RemoteProtocolError:
            self.over = self.cut = True
            return
        if event is h11.NEED_DATA:
            try:
                self._peer.receive_data(bytes(await self._transport.receive_some(65_536)))
            except trio.BrokenResourceError:
                self._peer.receive_data(b"")
        elif isinstance(event, h11.Response):
            self._head = event
        elif isinstance(event, h11.Data):
            self._body += event.data
        elif isinstance(event, h11.EndOfMessage):
            self.over = True

    async def hears(self, type: str, count: int = 1) -> Json:
        """Read on to the so manieth event of a type."""
        with trio.fail_after(HANG_SECONDS):
            while len(found := [e for e in self.events if e["type"] == type]) < count:
                assert not self.over, self.events
                await self.read()
        return found[count - 1]

    async def rest(self) -> list[Json]:
        """Read to the end: a whole stream, valid and in order."""
        with trio.fail_after(HANG_SECONDS):
            while not self.over:
                await self.read()
        assert self.answer.status == 200, self.answer
        assert self.answer.headers["content-type"] == "text/event-stream"
        assert not self.cut, self.events
        return checked(self.events)

    async def broken_off(self) -> list[Json]:
        """Read to where it breaks off."""
        with trio.fail_after(HANG_SECONDS):
            while not self.over:
                await self.read()
        assert self.cut
        return checked(self.events, whole=False)


@asynccontextmanager
async def stream(client: Client, value: object, **headers: str) -> AsyncIterator[Stream]:
    """Ask; the connection is closed at the end, whatever has come by then."""
    body = json.dumps(value).encode()
    given = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "text/event-stream",
        "authorization": f"Bearer {client.key}",
        "content-length": str(len(body)),
    } | headers
    request = h11.Request(method="POST", target="/agui", headers=list(given.items()))
    transport = await trio.open_tcp_stream("127.0.0.1", client.port)
    try:
        found = Stream(transport)
        await found.send(request, body)
        yield found
    finally:
        transport.socket.close()


async def told(client: Client, value: object) -> list[Json]:
    """The whole stream of a request."""
    async with stream(client, value) as found:
        return await found.rest()


def interrupts(events: list[Json]) -> list[Json]:
    """What the run waits for at its end."""
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "interrupt", events[-1]
    found: list[Json] = outcome["interrupts"]
    return found
