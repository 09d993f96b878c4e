"""A request's head, read within bounds and judged before anything else is."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote

import h11

from podiumd.gateway.outbox import OutboxStream

_END: Final = re.compile(rb"\n\r?\n")
_ABSOLUTE: Final = re.compile(r"(?:https?|wss?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_SHOWN_BYTES: Final = re.compile(r""":? *(?:bytearray\()?\bb['"].*""", re.DOTALL)
_MOST_FIELDS: Final = 100
_TLS_HANDSHAKE: Final = b"\x16"  # the type of its first record


class BadHead(Exception):
    """The input is no request we serve: ``status`` to answer with, a sentence that says why."""

    def __init__(self, status: int, detail: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class NotHttp(Exception):
    """The input is not even meant as HTTP (a TLS handshake, say): there is nothing to answer."""


class Head:
    """A request line and its headers.

    ``hosts`` is whom the client thinks it speaks to (an absolute target may name another than
    the Host header), ``headers`` have lower-case names; ``protocol`` has read the head and
    nothing after it.
    """

    def __init__(self, request: h11.Request, protocol: h11.Connection) -> None:
        self.protocol = protocol
        self.method = request.method.decode("ascii")
        self.version = request.http_version
        self.headers: Mapping[str, str] = _joined(request)
        authority, path_and_query = _target(request)
        named = self.headers["host"]
        self.hosts = (named,) if authority is None else (named, authority)
        path, _, query = path_and_query.partition("?")
        self.path, self.query = _decoded(path, query)

    @property
    def wants_websocket(self) -> bool:
        """Return whether this asks for the WebSocket protocol."""
        return "websocket" in _tokens(self.headers.get("upgrade", ""))


async def read_head(stream: OutboxStream, limit: int) -> Head | None:
    """Read the next head, of at most ``limit`` bytes; ``None`` when the client has ended before
    one.

    Bytes received beyond it are given back to the stream. Raises ``BadHead``, ``NotHttp``, and what
    ``receive_some`` raises. The caller bounds the time.
    """
    buffer = bytearray()
    received = 0
    while (end := _END.search(buffer)) is None:
        if received >= limit:
            raise BadHead(431, f"The request's head is larger than {limit} bytes.")
        data = await stream.receive_some(limit - received)
        if not data:
            if buffer:
                raise BadHead(400, "The connection ended within a request's head.")
            return None
        received += len(data)
        buffer += data
        if not buffer.strip(b"\r\n"):
            buffer.clear()  # blank lines may come before a request
        elif buffer[0] in b"\r\n":
            del buffer[: len(buffer) - len(buffer.lstrip(b"\r\n"))]
        if buffer.startswith(_TLS_HANDSHAKE):
            raise NotHttp("a TLS handshake on a port that speaks plain HTTP")
        if buffer and buffer[0] <= 0x20:
            raise BadHead(400, "This is not HTTP.")
    stream.unread(bytes(buffer[end.end() :]))
    return parse_head(bytes(buffer[: end.end()]))


def parse_head(raw: bytes) -> Head:
    """Parse the head in ``raw``, which ends with its blank line. Raises ``BadHead``."""
    protocol = h11.Connection(h11.SERVER)
    protocol.receive_data(raw)
    try:
        event = protocol.next_event()
    except h11.RemoteProtocolError as error:
        raise BadHead(
            error.error_status_hint, f"Malformed request: {broken_rule(error)}."
        ) from None
    assert isinstance(event, h11.Request), "a whole head was handed in"
    names = [name for name, _ in event.headers]
    if event.http_version not in {b"1.0", b"1.1"}:
        raise BadHead(505, "This port speaks HTTP/1.1.")
    if b"host" not in names:
        raise BadHead(400, "The request has no Host header.")
    if b"transfer-encoding" in names and b"content-length" in names:
        raise BadHead(
            400, "The request has Content-Length and Transfer-Encoding: only one may be there."
        )
    if names.count(b"origin") > 1:
        raise BadHead(400, "The request has more than one Origin header.")
    return Head(event, protocol)


def broken_rule(error: h11.RemoteProtocolError) -> str:
    """Return the parser's words for a rule of HTTP that a client broke, without the bytes of the
    client that some of them show as Python writes them."""
    return _SHOWN_BYTES.sub("", str(error))


def check_upgrade(head: Head) -> str:
    """Return the key of a head that opens a WebSocket (RFC 6455, section 4.2.1). Raises
    ``BadHead``."""
    headers = head.headers
    if head.method != "GET" or head.version != b"1.1":
        raise BadHead(400, "A WebSocket is opened by GET of HTTP/1.1.")
    if "upgrade" not in _tokens(headers.get("connection", "")):
        raise BadHead(400, "A WebSocket is opened with Connection: Upgrade.")
    if "transfer-encoding" in headers or headers.get("content-length", "0").strip("0"):
        raise BadHead(400, "The request that opens a WebSocket may have no body.")
    if headers.get("sec-websocket-version") != "13":
        hint = (("Sec-WebSocket-Version", "13"),)
        raise BadHead(426, "This port speaks version 13 of the WebSocket protocol.", hint)
    key = headers.get("sec-websocket-key", "")
    try:
        nonce = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        nonce = b""
    if len(nonce) != 16:
        raise BadHead(400, "Sec-WebSocket-Key has to be 16 bytes in base64.")
    return key


def _joined(request: h11.Request) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in request.headers:
        text = name.decode("ascii")
        added = value.decode("latin-1")
        headers[text] = f"{headers[text]}, {added}" if text in headers else added
    return headers


def _tokens(value: str) -> set[str]:
    return {token.strip().lower() for token in value.split(",")}


def _target(request: h11.Request) -> tuple[str | None, str]:
    """Return the authority in an absolute target, and the path with its query."""
    target = request.target.decode("ascii")
    if target.startswith("/") or (target == "*" and request.method == b"OPTIONS"):
        return None, target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise BadHead(400, "The request's target is no path.")
    rest = absolute[2]
    return absolute[1], rest if rest.startswith("/") else f"/{rest}"


def _decoded(path: str, query: str) -> tuple[str, dict[str, str]]:
    try:
        decoded = unquote(path, errors="strict")
        fields = parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise BadHead(400, "The request's target is not UTF-8, or has too many fields.") from None
    if "\0" in decoded:
        raise BadHead(400, "The request's target holds a zero byte.")
    return decoded, dict(fields)
