"""A small gateway, true to the protocol, that the tests of the phone itself talk to.

It keeps a log a session, answers a first subscription with the newest window and later ones with
what follows the cursor, and pushes what is added. Whatever else a test needs, it puts into
``answers``: a type of message, and what to send back.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid5

import trio
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from tests.phone_app.fields import Json

KEY = "untethered-0123456789abcdef0123456789abcdef"
SESSION = "5e551000-0000-4000-8000-000000000001"
OTHER = "5e551000-0000-4000-8000-000000000002"
STAMP = "2026-11-22T08:00:00.000Z"
WINDOW = 50


def hello(version: str = "0.5.0") -> Json:
    return {
        "type": "hello",
        "message": "Welcome",
        "version": version,
        "auth_version": 1,
        "instructions": "Send connect with api_key.",
    }


def row(session_id: str, count: int = 1) -> Json:
    return {
        "session_id": session_id,
        "name": "a session",
        "working_directory": "/home/ada/project",
        "last_modified": 1_795_000_000_000,
        "message_count": count,
        "provider": "claude",
    }


def message(session_id: str, seq: int, role: str, text: str) -> Json:
    identity = str(uuid5(UUID(session_id), str(seq)))
    return {
        "session_id": session_id,
        "seq": seq,
        "offset": seq - 1,
        "uuid": identity,
        "id": identity,
        "type": role,
        "role": role,
        "text": text,
        "timestamp": STAMP,
        "provider": "claude",
    }


def history(session_id: str, messages: list[Json], next_seq: int, *, complete: bool = True) -> Json:
    """The superset frame that every app can read."""
    return {
        "type": "session_history",
        "session_id": session_id,
        "messages": messages,
        "first_seq": messages[0]["seq"] if messages else None,
        "last_seq": messages[-1]["seq"] if messages else None,
        "next_seq": next_seq,
        "is_complete": complete,
        "gap": None,
        "next_offset": next_seq - 1,
        "end_of_file": complete,
        "file_signature": "1",
        "total_count": next_seq - 1,
    }


class Visitor:
    """One connection: what it subscribed to, and up to where it was told."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.protocol = ServerProtocol(max_size=None)
        self.negotiated = "0.4.0"
        self.legacy = False
        self.at: dict[str, int] = {}
        self.wake = trio.Event()
        self.stray = b""

    def stray_bytes(self, data: bytes) -> None:
        """Bytes that are no frame of the protocol's making."""
        self.stray += data
        self.wake.set()

    def send(self, frame: Json) -> None:
        if self.protocol.state is State.OPEN:
            self.protocol.send_text(json.dumps(frame).encode())
            self.wake.set()


class FakeGateway:
    """Serves any number of phones; ``heard`` are the messages of all, in order, ``pieces`` those
    of speech."""

    def __init__(self, page: int = 20) -> None:
        self.page = page
        self.hello = hello()
        self.logs: dict[str, list[Json]] = {SESSION: [], OTHER: []}
        self.heard: list[Json] = []
        self.pieces: list[bytes] = []
        self.socket_pings = 0
        self.answers: dict[str, Callable[[Json], list[Json]]] = {}
        self.visitors: list[Visitor] = []
        self.url = ""
        self.port = 0

    def add(self, session_id: str, role: str, text: str) -> None:
        """Write a message to the log and push it to who is subscribed, up to date and not of before
        all versions."""
        log = self.logs.setdefault(session_id, [])
        log.append(message(session_id, len(log) + 1, role, text))
        for visitor in self.visitors:
            if visitor.at.get(session_id) == len(log) - 1 and not visitor.legacy:
                self._tell(visitor, session_id, len(log) - 1)

    def push(self, frame: Json) -> None:
        """Send a frame to everyone."""
        for visitor in self.visitors:
            visitor.send(frame)

    def hang_up(self) -> None:
        """Close every connection in order."""
        for visitor in self.visitors:
            visitor.protocol.send_close(1001, "going away")
            visitor.wake.set()

    async def _serve(self, stream: trio.abc.Stream) -> None:
        visitor = Visitor(stream)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, visitor)
                await self._read(visitor)
                nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # phones may go at any time
        finally:
            if visitor in self.visitors:
                self.visitors.remove(visitor)

    async def _write(self, visitor: Visitor) -> None:
        while True:
            await visitor.wake.wait()
            visitor.wake = trio.Event()
            stray, visitor.stray = visitor.stray, b""
            for piece in [*visitor.protocol.data_to_send(), *([stray] if stray else [])]:
                if piece:
                    await visitor.stream.send_all(piece)
                else:
                    await visitor.stream.aclose()

    async def _read(self, visitor: Visitor) -> None:
        while data := await visitor.stream.receive_some(65536):
            visitor.protocol.receive_data(bytes(data))
            for event in visitor.protocol.events_received():
                if isinstance(event, Request):
                    visitor.protocol.send_response(visitor.protocol.accept(event))
                    visitor.send(self.hello)
                elif isinstance(event, Frame) and event.opcode is Opcode.PING:
                    self.socket_pings += 1
                elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    self._hear(visitor, json.loads(bytes(event.data)))
                elif isinstance(event, Frame) and event.opcode is Opcode.BINARY:
                    self.pieces.append(bytes(event.data))
            visitor.wake.set()

    def _hear(self, visitor: Visitor, frame: Json) -> None:
        self.heard.append(frame)
        kind = frame["type"]
        if kind in self.answers:
            for answer in self.answers[kind](frame):
                visitor.send(answer)
        elif kind == "connect":
            self._connect(visitor, frame)
        elif kind == "ping":
            visitor.send({"type": "pong"})
        elif kind == "subscribe":
            self._subscribe(visitor, frame)
        elif kind == "unsubscribe":
            visitor.at.pop(frame["session_id"], None)

    def _connect(self, visitor: Visitor, frame: Json) -> None:
        if frame.get("api_key") != KEY:
            visitor.send({"type": "auth_error", "message": "Authentication failed"})
            visitor.protocol.send_close(1008)
            return
        visitor.legacy = "protocol_version" not in frame
        visitor.negotiated = frame.get("protocol_version", "0.4.0")
        self.visitors.append(visitor)
        visitor.send(
            {
                "type": "connected",
                "message": "Connected",
                "session_id": frame.get("session_id"),
                "negotiated_protocol_version": visitor.negotiated,
            }
        )
        rows = [row(session_id, len(log)) for session_id, log in self.logs.items() if log]
        visitor.send({"type": "session_list", "sessions": rows, "total_count": len(rows)})
        recents = [one | {"last_modified": STAMP} for one in rows]
        visitor.send({"type": "recent_sessions", "sessions": recents, "limit": 5})

    def _subscribe(self, visitor: Visitor, frame: Json) -> None:
        session_id = frame["session_id"]
        if session_id not in self.logs:
            words = f"Session not found: {session_id}"
            visitor.send({"type": "error", "message": words, "session_id": session_id})
            return
        log = self.logs[session_id]
        if visitor.legacy:
            ids = [one["id"] for one in log]
            seen = frame.get("last_message_id")
            after = ids.index(seen) + 1 if seen in ids else 0
        else:
            after = frame["from_offset" if visitor.negotiated == "0.5.0" else "last_seq"]
        if after == 0:
            after = max(0, len(log) - WINDOW)
            self._tell(visitor, session_id, after, WINDOW)
        else:
            self._tell(visitor, session_id, after, self.page)

    def _tell(self, visitor: Visitor, session_id: str, after: int, most: int = WINDOW) -> None:
        log = self.logs[session_id]
        end = min(len(log), after + most)
        if end < len(log) and (visitor.legacy or visitor.negotiated == "0.5.0"):
            after, end = max(after, len(log) - WINDOW), len(log)
        complete = end == len(log)
        frame = history(session_id, log[after:end], end + 1, complete=complete)
        visitor.send(frame | {"next_seq": len(log) + 1})
        visitor.at.pop(session_id, None)
        if complete:
            visitor.at[session_id] = end


@asynccontextmanager
async def fake_gateway(
    page: int = 20, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeGateway]:
    """A listening gateway with two empty sessions."""
    gateway = FakeGateway(page)
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        gateway.port = listener.socket.getsockname()[1]
        gateway.url = f"{'wss' if tls else 'ws'}://127.0.0.1:{gateway.port}"
        served: trio.abc.Listener[trio.abc.Stream] = listener
        if tls is not None:
            served = trio.SSLListener(listener, tls, https_compatible=True)
        await nursery.start(trio.serve_listeners, gateway._serve, [served])
        yield gateway
        nursery.cancel_scope.cancel()
