"""HTTP/1.1 over h11: one exchange of a request and its response, whole or in events."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

import h11
import msgspec
import trio

from podiumd.gateway.http.head import BadHead, Head, broken_rule
from podiumd.gateway.limits import KIB, GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.pace import Pace
from podiumd.observe.logs import log
from podiumd.wording import sentence

_NO_BODY: Final = {204, 304}
_AHEAD_BYTES: Final = 4 * KIB
_COMMENT: Final = b": keep-alive\n\n"

KEEPALIVE_SECONDS: Final = 15.0
"""Without an event; what stands between us and the client gives up on a silence of a minute."""


class Response(msgspec.Struct, frozen=True):
    """A handler's answer; ``headers`` are beside those of the connection and the body."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class Problem(Exception):
    """An answer that is an error, as RFC 9457 words it: ``application/problem+json``.

    ``detail`` is for a person, and becomes a sentence if it is none.
    """

    def __init__(
        self,
        status: int,
        title: str = "",
        detail: str = "",
        headers: tuple[tuple[str, str], ...] = (),
        **more: object,
    ) -> None:
        super().__init__(title or detail or str(status))
        self.status = status
        self.title = title or HTTPStatus(status).phrase
        self.detail = sentence(detail or self.title)
        self.headers = headers
        self.more = more

    def response(self) -> Response:
        """Return this problem as a response."""
        fields: dict[str, object] = {"type": "about:blank", "title": self.title}
        fields["status"] = self.status
        fields["detail"] = self.detail
        body = msgspec.json.encode(fields | self.more)
        return Response(self.status, body, "application/problem+json", self.headers)


class TooLarge(Problem):
    """The body is larger than the handler takes; ``limit`` in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, detail=f"The body is larger than {limit} bytes.")


class ClientGone(Exception):
    """The client ended the connection within its request: nothing waits for an answer."""


class Streamed:
    """The return value of a handler that has sent its answer itself, through ``Request.stream``."""


STREAMED: Final = Streamed()
Answer = Response | Streamed


class Request:
    """A request. ``path`` is decoded, ``headers`` have lower-case names, ``peer`` is the client's
    address. ``stopping`` is set when the gateway stops: an answer that is still being streamed is
    to come to its end, at once."""

    def __init__(
        self,
        head: Head,
        body: Body,
        peer: str,
        authenticated: Callable[[], None] = lambda: None,
        stopping: trio.Event | None = None,
        visits: Callable[[], None] = lambda: None,
    ) -> None:
        """Take a request. ``authenticated`` is to be called once a device is known to send it,
        ``visits`` where it is for what anybody may have."""
        self.method: str = head.method
        self.path: str = head.path
        self.query: dict[str, str] = head.query
        self.headers: Mapping[str, str] = head.headers
        self.peer = peer
        self.authenticated = authenticated
        self.visits = visits
        self.stopping = trio.Event() if stopping is None else stopping
        self.pieces: Pieces | None = None
        self._body = body

    async def stream(self, response: Response) -> Pieces:
        """Begin to answer with a body that is sent piece by piece; ``response`` is its head.

        To be called once, when the request's body has been read. The handler then returns
        ``STREAMED``: any other result cuts the connection, for it is too late to answer why. Raises
        ``ClientGone``.
        """
        assert self.pieces is None and self._body.over and not response.body
        self.pieces = self._body.answer_in_pieces()
        await self.pieces.begin(response)
        return self.pieces

    async def body(self, limit: int) -> bytes:
        """Read the whole body, of at most ``limit`` bytes; raises as ``chunks`` does."""
        return b"".join([chunk async for chunk in self.chunks(limit)])

    def chunks(self, limit: int) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, once, of at most ``limit`` bytes in all.

        Raises ``TooLarge`` (before reading when the length is declared), ``Problem`` for a
        malformed body or one that stalls or trickles, ``ClientGone``.
        """
        return _Chunks(self._body, limit)

    async def while_connected(self, wait: Callable[[], Awaitable[object]]) -> None:
        """Await ``wait()``, but no longer than the client stays.

        A client that ends its sending half alone counts as gone: the two look the same from here.
        Nothing is noticed before the body has been read to its end. Raises what ``wait`` does.
        """
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._until_hung_up, nursery.cancel_scope)
            try:
                await wait()
            except Exception as error:  # noqa: BLE001 - raised below, as it is and in no group
                failure = error
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _until_hung_up(self, scope: trio.CancelScope) -> None:
        await self._body.hung_up()
        scope.cancel()


class _Chunks:
    """The async iterator behind ``Request.chunks``."""

    def __init__(self, body: Body, limit: int) -> None:
        self._body = body
        self._limit = limit

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._body.read(self._limit)
        if chunk is None:
            raise StopAsyncIteration
        return chunk


class Body:
    """The body of one request, read from the stream only on demand."""

    def __init__(self, stream: OutboxStream, head: Head, limits: GatewayLimits) -> None:
        self._stream = stream
        self._protocol = head.protocol
        self._limits = limits
        self._declared = int(head.headers.get("content-length", "0"))
        self._size = 0
        self._pace = Pace(limits)
        self.over = False
        self._broken = False

    @property
    def can_be_drained(self) -> bool:
        """Return whether the unread rest is small enough to be read after the answer.

        Its size counts as far as it is declared.
        """
        if self._broken or self.not_invited:
            return self.over
        return self.over or self._declared - self._size <= self._limits.drain_bytes

    @property
    def not_invited(self) -> bool:
        """Return whether the client still waits for the invitation to send its body."""
        return self._protocol.they_are_waiting_for_100_continue

    async def read(self, limit: int) -> bytes | None:
        """Return the next piece, ``None`` at the end. See ``Request.chunks``."""
        if self._declared > limit:
            raise TooLarge(limit)
        while not self.over:
            event = self._next_event()
            if isinstance(event, h11.Data):
                self._size += len(event.data)
                if self._size > limit:
                    raise TooLarge(limit)
                if event.data:
                    return bytes(event.data)
            elif event is h11.NEED_DATA:
                await self._receive()
            else:  # the end of the message, or a pause after it
                self.over = True
        await trio.lowlevel.checkpoint()
        return None

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._protocol.next_event()
        except h11.RemoteProtocolError as error:
            self._broken = True
            raise Problem(400, detail=f"Malformed body: {broken_rule(error)}.") from None

    async def _receive(self) -> None:
        if self.not_invited:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            await self._stream.send_all(self._protocol.send(go_on) or b"")
        with self._pace.waiting():
            try:
                data = await self._stream.receive_some()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise ClientGone from None
            if not data:
                raise ClientGone
            self._protocol.receive_data(bytes(data))
            self._pace.arrived(len(data))
        if self._pace.too_slow:
            self._broken = True
            raise Problem(408, detail="The body does not arrive, or too slowly.")

    def answer_in_pieces(self) -> Pieces:
        """Return the way for an answer that is streamed."""
        return Pieces(self._stream, self._protocol)

    async def hung_up(self) -> None:
        """Return once the client has ended the connection, or its half of it.

        To see that, at most 4 KiB of what comes after the body are read, and given back.
        """
        ahead = bytearray()
        try:
            while self.over and len(ahead) < _AHEAD_BYTES:
                data = await self._stream.receive_some(_AHEAD_BYTES - len(ahead))
                if not data:
                    return
                ahead += data
            await trio.sleep_forever()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        finally:
            self._stream.unread(bytes(ahead))

    async def drain(self) -> bool:
        """Read what the handler left, up to ``drain_bytes``; whether that was all of it."""
        try:
            with trio.move_on_after(self._limits.close_seconds):
                while await self.read(self._size + self._limits.drain_bytes) is not None:
                    pass
        except (Problem, ClientGone):
            return False
        return self.over


class Pieces:
    """An answer that is under way, piece by piece: chunked, or (HTTP/1.0) up to the connection's
    end. Tasks may send at the same time."""

    def __init__(self, stream: OutboxStream, protocol: h11.Connection) -> None:
        self._stream = stream
        self._protocol = protocol

    async def begin(self, response: Response) -> None:
        """Send the head. Raises ``ClientGone``."""
        headers = [*_always(), ("Content-Type", response.content_type), *response.headers]
        await self._send(h11.Response(status_code=response.status, headers=headers, reason=b"OK"))

    async def send(self, data: bytes) -> None:
        """Send a piece that is not empty, and wait until the transport has taken it.

        A client that does not read holds up its sender. Cancelled meanwhile, the piece has been
        sent all the same, and whole. Raises ``ClientGone``.
        """
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """Send that this was all. Raises ``ClientGone``."""
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        try:
            self._stream.put(self._protocol.send(event) or b"")
            await self._stream.send_all(b"")  # wait for what was put
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ClientGone from None


Handler = Callable[[Request], Awaitable[Answer]]


async def exchange(
    stream: OutboxStream,
    request: Request,
    body: Body,
    head: Head,
    handler: Handler,
    going_on: Callable[[], bool],
) -> bool:
    """Answer one request; returns whether the connection can carry another.

    ``going_on`` says, once the answer is known, whether the gateway wants another. A fault of
    the handler is logged under an id and answered with that id alone; where its answer was being
    streamed, that breaks off. Raises ``ClientGone``, and what sending raises.
    """
    answer = await _answer(request, handler)
    if request.pieces is not None:
        if not isinstance(answer, Streamed):
            return False
        await request.pieces.end()
    else:
        assert isinstance(answer, Response), "what is streamed has been begun"
        await _send(stream, head, answer, keep=body.can_be_drained and going_on())
    protocol = head.protocol
    if protocol.our_state is not h11.DONE or not await body.drain():
        stream.unread_input = not body.over
        return False
    if protocol.their_state is not h11.DONE:
        return False
    stream.unread(protocol.trailing_data[0])
    return True


async def _answer(request: Request, handler: Handler) -> Answer:
    try:
        return await handler(request)
    except Problem as problem:
        return problem.response()
    except ClientGone:
        raise
    except Exception as error:  # noqa: BLE001 - a handler's fault is answered, not spread
        return _fault(error, request)


def _fault(error: Exception, request: Request) -> Response:
    fault = secrets.token_hex(4)
    where = f"{request.method} {request.path[:200]}"
    log("Request failed", "error", exception=error, fault=fault, request=where)
    detail = "The daemon failed on this request; its log has more under this fault's id."
    return Problem(500, detail=detail, fault=fault).response()


async def _send(stream: OutboxStream, head: Head, response: Response, keep: bool) -> None:
    protocol = head.protocol
    try:
        start = _start(response, keep)
    except (h11.LocalProtocolError, ValueError) as error:  # a bad header, an unknown status
        log("Response is malformed", "error", exception=error)
        response = Problem(
            500, detail="The daemon failed on this request; its log has more."
        ).response()
        start = _start(response, keep)
    data = protocol.send(start) or b""
    if response.body and head.method != "HEAD" and response.status not in _NO_BODY:
        data += protocol.send(h11.Data(data=response.body)) or b""
    data += protocol.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)


def _always(own: tuple[tuple[str, str], ...] = ()) -> list[tuple[str, str]]:
    """Return the headers of every answer; ``own`` are those that it has itself."""
    headers = [("Date", formatdate(usegmt=True)), ("X-Content-Type-Options", "nosniff")]
    if not any(name == "Cache-Control" for name, _ in own):
        headers.append(("Cache-Control", "no-store"))
    return headers


def _start(response: Response, keep: bool) -> h11.Response:
    headers = _always(response.headers)
    if response.status not in _NO_BODY:
        headers.append(("Content-Length", str(len(response.body))))
        if response.body:
            headers.append(("Content-Type", response.content_type))
    if not keep:
        headers.append(("Connection", "close"))
    reason = HTTPStatus(response.status).phrase
    return h11.Response(
        status_code=response.status, headers=[*headers, *response.headers], reason=reason.encode()
    )


async def refuse(stream: OutboxStream, refusal: BadHead | Problem) -> None:
    """Answer a head that is not served, without its body; the connection is to be closed."""
    if isinstance(refusal, BadHead):
        refusal = Problem(refusal.status, detail=refusal.detail, headers=refusal.headers)
    protocol = h11.Connection(h11.SERVER)
    response = refusal.response()
    data = protocol.send(_start(response, keep=False)) or b""
    data += protocol.send(h11.Data(data=response.body)) or b""
    stream.unread_input = True
    await stream.send_all(data)


_EVENTS: Final = Response(
    200, content_type="text/event-stream", headers=(("X-Accel-Buffering", "no"),)
)


class EventStream:
    """Server-sent events as the body of an answer: in order, held up by a client that does not
    read, kept alive while there is none."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._told = trio.Event()

    async def tell(self, frames: Sequence[bytes]) -> None:
        """Send events; returns when the client's side has taken them. Raises ``ClientGone``."""
        if frames:
            await self._pieces.send(b"".join(frames))
            self._told.set()
            self._told = trio.Event()

    async def keep_alive(self) -> None:
        """Send a comment whenever nothing was sent for a while, until the client has gone."""
        try:
            while True:
                with trio.move_on_after(KEEPALIVE_SECONDS) as silence:
                    await self._told.wait()
                if silence.cancelled_caught:
                    await self._pieces.send(_COMMENT)
        except ClientGone:
            return


async def open_events(request: Request) -> EventStream:
    """Begin to answer with events. Raises ``ClientGone``."""
    return EventStream(await request.stream(_EVENTS))
