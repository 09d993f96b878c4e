"""The WebSocket of a phone, without a socket: bytes go in and out, whole messages too.

Its library is another than the gateway's, so that neither excuses the other.
"""

from __future__ import annotations

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, PayloadTooBig, ProtocolError
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class Link:
    """One connection. The caller sends what ``output`` gives, and hands in what it receives."""

    def __init__(self, url: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        uri = parse_uri(websocket_url(url))
        self.host, self.port, self.secure = uri.host, uri.port, uri.secure
        self._protocol = ClientProtocol(uri, max_size=None)
        self._pieces: list[bytes] = []
        self._opcode = Opcode.TEXT
        request = self._protocol.connect()
        for name, value in headers:
            if name in request.headers:
                del request.headers[name]
            request.headers[name] = value
        self._protocol.send_request(request)

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._protocol.state is State.OPEN

    @property
    def refusal(self) -> str:
        """Why the server did not open a WebSocket; empty: nothing of the kind."""
        problem = self._protocol.handshake_exc
        if isinstance(problem, InvalidStatus):
            status = problem.response
            return f"the server answered {status.status_code} {status.reason_phrase}"
        if problem is not None and isinstance(problem.__cause__, EOFError):
            return "the server closed the connection before it answered"
        return "" if problem is None else str(problem)

    @property
    def close_code(self) -> int | None:
        """The code the server closed with; 1006 without one; ``None`` while nothing is closed."""
        said = self._protocol.close_rcvd
        return self._protocol.close_code if said is None else said.code

    @property
    def close_reason(self) -> str:
        """The words the server closed with."""
        said = self._protocol.close_rcvd
        return "" if said is None else said.reason

    @property
    def violation(self) -> str:
        """What the server sent against the WebSocket standard; empty: nothing."""
        problem = self._protocol.parser_exc
        return str(problem) if isinstance(problem, ProtocolError | PayloadTooBig) else ""

    def send(self, text: str) -> None:
        """One text message; lost where the connection is not, or no longer, open."""
        if self.is_open:
            self._protocol.send_text(text.encode())

    def send_binary(self, data: bytes) -> None:
        """One binary message; lost as a text would be."""
        if self.is_open:
            self._protocol.send_binary(data)

    def ping(self) -> None:
        """A ping of the WebSocket itself."""
        if self.is_open:
            self._protocol.send_ping(b"podium")

    def close(self) -> None:
        """Begin the closing handshake."""
        if self.is_open:
            self._protocol.send_close(1000)

    def received(self, data: bytes) -> list[str | bytes]:
        """Bytes from the server; returns the messages that are whole now."""
        self._protocol.receive_data(data)
        messages: list[str | bytes] = []
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                messages += self._assembled(event)
        return messages

    def ended(self) -> None:
        """The server will send no more bytes."""
        self._protocol.receive_eof()

    def output(self) -> list[bytes]:
        """What is to be sent now; an empty piece asks for the end of sending."""
        return self._protocol.data_to_send()

    def _assembled(self, frame: Frame) -> list[str | bytes]:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return []
        if frame.opcode is not Opcode.CONT:
            self._opcode = frame.opcode
        self._pieces.append(bytes(frame.data))
        if not frame.fin:
            return []
        whole = b"".join(self._pieces)
        self._pieces.clear()
        if self._opcode is Opcode.TEXT:
            try:
                return [whole.decode()]
            except UnicodeDecodeError:
                pass  # handed on as it is: whoever reads it finds that it is no text
        return [whole]


def websocket_url(url: str) -> str:
    """An address as people write it (``host:port``, ``https://host``), as a WebSocket's.

    Raises:
        ValueError: the scheme is none of HTTP's or WebSocket's, or there is no host.
    """
    scheme, found, rest = url.partition("://")
    if not found:
        scheme, rest = "ws", url
    if scheme not in SCHEMES or not rest.strip("/"):
        raise ValueError(f"'{url}' is no address of a gateway: one is 'ws://127.0.0.1:8080'")
    return f"{SCHEMES[scheme]}://{rest}"
