"""A phone that costs next to nothing: a blocking socket, and frames made by hand.

A test or a benchmark may hold a thousand of them in one process. It knows of the protocol what a
load needs: the handshake, the key, subscribing, whole text frames, and answers to pings.
"""

from __future__ import annotations

import json
import select
import socket
import struct
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests.patience import HANG_SECONDS

RECEIVED_AT_ONCE = 1 << 20
NO_MASK = bytes(4)
"""A mask of zeros is one like any other, and leaves the payload as it is."""

_UPGRADE = (
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA


class NoAnswer(Exception):
    """The gateway did not answer as it should; the text says what was waited for."""


def masked_frame(payload: bytes, opcode: int = _TEXT) -> bytes:
    """A whole message of a client's."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0xFE, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0xFF, size)
    return head + NO_MASK + payload


def message(type: str, /, **fields: Any) -> bytes:
    """A message of the protocol in its frame."""
    return masked_frame(json.dumps({"type": type, **fields}).encode())


class ThinPhone:
    """One connection. ``lines`` are messages nobody has taken yet, ``closed`` says that no more
    will come; ``code`` and ``reason`` are those of the gateway's close frame, if it sent one.

    Parameters: ``receive_buffer`` is the kernel's, in bytes, for a phone that will not read.
    """

    def __init__(self, port: int, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.lines: list[bytes] = []
        self.closed = False
        self.code: int | None = None
        self.reason = ""
        self._rest = bytearray()
        self._poll = select.poll()
        try:
            self.socket.connect(("127.0.0.1", port))
            self._open(port)
        except BaseException:
            self.socket.close()
            raise
        self._poll.register(self.socket, select.POLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.socket.close()

    def fileno(self) -> int:
        """For ``select``."""
        return self.socket.fileno()

    def _open(self, port: int) -> None:
        self.socket.settimeout(HANG_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(_UPGRADE.format(port=port).encode())
        answer = bytearray()
        while b"\r\n\r\n" not in answer:
            chunk = self.socket.recv(4096)
            if not chunk:
                raise NoAnswer(f"the connection was closed: {bytes(answer[:300])!r}")
            answer += chunk
        head, _, rest = bytes(answer).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101 "):
            raise NoAnswer(f"no WebSocket, but {head[:300]!r}")
        self._take(rest)

    # -- what it says ------------------------------------------------------------------------

    def say(self, type: str, /, **fields: Any) -> None:
        """Send a message."""
        self.socket.sendall(message(type, **fields))

    def log_in(self, key: str) -> Self:
        """Show the key; returns once the phone is in and has been told everything."""
        self.say("connect", api_key=key, protocol_version="0.5.0")
        self.hear("connected")
        self.catch_up()
        return self

    def follow(self, session_id: str, from_offset: int | None = None) -> Json:
        """Follow a session; returns what it is answered with."""
        cursor = {} if from_offset is None else {"from_offset": from_offset}
        self.say("subscribe", session_id=session_id, **cursor)
        return self.hear("session_history")

    def catch_up(self) -> None:
        """Return once all that was said before has been handled; what came is forgotten."""
        self.say("ping")
        self.hear("pong")
        self.lines.clear()

    # -- what it hears -----------------------------------------------------------------------

    def hear(self, type: str) -> Json:
        """Wait for the next message of a type; others before it are passed over."""
        mark = json.dumps(type).encode()

        def fits(line: bytes) -> bool:
            return mark in line and json.loads(line)["type"] == type

        return self.wait_for(fits, type)

    def wait_for(self, fits: Callable[[bytes], bool], what: str) -> Json:
        """Wait for the next message that fits. Raises ``NoAnswer``."""
        while True:
            while self.lines:
                line = self.lines.pop(0)
                if fits(line):
                    found: Json = json.loads(line)
                    return found
            if self.closed:
                raise NoAnswer(f"no {what}, but closed with {self.code} {self.reason}")
            if not self.receive(HANG_SECONDS):
                raise NoAnswer(f"no {what}, but nothing")

    def receive(self, seconds: float) -> bool:
        """Wait for bytes and take the whole messages off them; says whether any came in time."""
        if self.closed or not self._poll.poll(max(0.0, seconds * 1000)):
            return False
        try:
            chunk = self.socket.recv(RECEIVED_AT_ONCE)
            self.closed = not chunk
            self._take(chunk)
        except (ConnectionResetError, BrokenPipeError):
            self.closed = True
        return not self.closed

    def _take(self, data: bytes) -> None:
        rest = self._rest
        rest += data
        at = 0
        while len(rest) - at >= 2:
            size, start = rest[at + 1], at + 2
            if size >= 126:
                width = 2 if size == 126 else 8
                if len(rest) < start + width:
                    break
                size = int.from_bytes(rest[start : start + width], "big")
                start += width
            if len(rest) < start + size:
                break
            self._frame(rest[at] & 0x0F, bytes(rest[start : start + size]))
            at = start + size
        del rest[:at]

    def _frame(self, opcode: int, payload: bytes) -> None:
        if opcode == _TEXT:
            self.lines.append(payload)
        elif opcode == _PING:
            self.socket.sendall(masked_frame(payload, _PONG))
        elif opcode == _CLOSE and len(payload) >= 2:
            self.code = int.from_bytes(payload[:2], "big")
            self.reason = payload[2:].decode()


Json = dict[str, Any]
