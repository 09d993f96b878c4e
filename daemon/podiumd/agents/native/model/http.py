"""Asks a model over HTTP: one request an attempt, the reply streamed, attempts repeated in bounds.

Keys are in the dialect's headers and go nowhere else: no log, error or event holds a request.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

import trio

from podiumd.agents.native.model.base import ModelError, ModelReply, Retrying, Tell
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.prices import cost_usd
from podiumd.agents.native.model.refusals import clean, refused
from podiumd.agents.native.model.reply_reader import ReplyReader, load
from podiumd.agents.native.model.retry import RetryPolicy
from podiumd.agents.native.model.sse import EventParser, StreamError
from podiumd.core.reply.model_message import Message

if TYPE_CHECKING:
    import httpx2

LARGEST_BODY: Final = 64 * 1024 * 1024  # bytes; a token of a reply takes up to 300
_LARGEST_WHOLE: Final = 8 * 1024 * 1024
_LARGEST_REFUSAL: Final = 64 * 1024
_CLOSE_SECONDS: Final = 2.0
_LAST_WORDS_SECONDS: Final = 10.0
_NO_SUCH_NAME: Final = (socket.EAI_NONAME, socket.EAI_FAIL)
# For a server that may be starting just now: some seconds in all.
_ATTEMPTS_WITHOUT_SERVER: Final = 3

T = TypeVar("T")


class Body:
    """The bytes of a response as they come. An async context manager; leaving it ends the request.

    ``host`` stands in errors; ``idle_seconds`` is how long it may be silent.
    """

    def __init__(self, response: httpx2.Response, host: str, idle_seconds: float) -> None:
        self._response = response
        self._host = host
        self._idle_seconds = idle_seconds
        # aiter_raw is an async generator, despite its annotation.
        self._pieces: AsyncGenerator[bytes, None] = response.aiter_raw()
        self._size = 0
        self._over = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _CLOSE_SECONDS):
            if not self._over:
                # Ending the read where it waits ends the generators that stand in each other;
                # closing only the outermost would leave the inner ones to the garbage collector.
                with trio.CancelScope() as ending, contextlib.suppress(Exception):
                    ending.cancel()
                    async for _ in self._pieces:
                        pass
            await self._pieces.aclose()
            await self._response.aclose()

    async def more(self, idle_seconds: float | None = None) -> bytes | None:
        """Read the next bytes; ``None`` at the end.

        Raises ``ModelError`` after the silence or at the size that is too much, and what httpx2
        raises.
        """
        seconds = self._idle_seconds if idle_seconds is None else idle_seconds
        try:
            with trio.fail_after(seconds):
                piece = await anext(self._pieces)
        except StopAsyncIteration:
            self._over = True
            return None
        except trio.TooSlowError:
            self._over = True
            raise silent(self._host, seconds) from None
        except BaseException:
            self._over = True
            raise
        self._size += len(piece)
        if self._size > LARGEST_BODY:
            raise ModelError(
                "bad-answer", f"{self._host} sent more than {LARGEST_BODY >> 20} MiB in one answer"
            )
        return piece

    async def up_to(self, limit: int) -> tuple[bytes, bool]:
        """Read the first ``limit`` bytes, and return whether that was all. Raises as ``more``."""
        found = bytearray()
        while (piece := await self.more()) is not None:
            found += piece
            if len(found) > limit:
                return bytes(found[:limit]), False
        return bytes(found), True


def silent(host: str, seconds: float) -> ModelError:
    """Build the error for a server that sends nothing."""
    return ModelError("network", f"{host} sent nothing for {seconds:g} s", again=True)


class Dialect(Protocol):
    """A protocol as one endpoint speaks it."""

    endpoint: Endpoint
    model: str

    @property
    def url(self) -> str: ...

    @property
    def headers(self) -> dict[str, str]: ...

    def body(
        self, system: str, messages: Sequence[Message], max_tokens: int | None
    ) -> dict[str, Any]: ...

    def reader(self) -> ReplyReader: ...

    def adapt(self, error: ModelError) -> bool: ...


class Timing:
    """Bounds of waiting, in seconds: ``idle`` without a byte, ``reply`` for all of one reply."""

    def __init__(self, idle: float = 300.0, reply: float = 1800.0) -> None:
        self.idle = idle
        self.reply = reply


class HttpModel:
    """A model behind HTTP; see ``model.Model``."""

    def __init__(
        self,
        dialect: Dialect,
        client: httpx2.AsyncClient,
        tell: Tell,
        *,
        window: int,
        certain: bool,
        reply_tokens: int,
        policy: RetryPolicy,
        timing: Timing,
    ) -> None:
        self.window = window
        self.certain = certain
        self.reply_tokens = reply_tokens
        self._dialect = dialect
        self._client = client
        self._tell = tell
        self._policy = policy
        self._timing = timing
        self._spent = 0.0

    @property
    def name(self) -> str:
        """Return the server's name for the model."""
        return self._dialect.model

    async def reply(
        self, system: str, messages: Sequence[Message], *, max_tokens: int | None = None
    ) -> ModelReply:
        """Ask for one reply; see ``model.Model.reply``."""
        self._spent = 0.0

        async def attempt() -> ModelReply:
            body = self._dialect.body(system, messages, max_tokens)
            reader = self._dialect.reader()
            try:
                await self._send("POST", self._dialect.url, body, lambda r: self._read(r, reader))
            finally:
                cost = cost_usd(self.name, reader.usage)
                self._spent += cost or 0.0
            return ModelReply(
                text=reader.text,
                stop=reader.stop or "other",
                usage=reader.usage,
                cost_usd=self._spent,
                priced=cost is not None,
                model=reader.model or self.name,
            )

        try:
            return await self._persist(attempt)
        except ModelError as error:
            error.cost_usd = self._spent
            raise

    async def get(self, url: str, *, persist: bool) -> dict[str, Any]:
        """Get a JSON object from the server; with ``persist`` in as many attempts as a reply.

        Raises ``ModelError``.
        """
        found: dict[str, Any] = {}

        async def take(response: httpx2.Response) -> None:
            async with self._body(response) as body:
                data, _ = await body.up_to(_LARGEST_WHOLE)
            found.update(load(data.decode("utf-8", "replace")))

        async def attempt() -> dict[str, Any]:
            await self._send("GET", url, None, take)
            return found

        return await (self._persist(attempt) if persist else attempt())

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Make attempts until one succeeds or the policy gives up, telling of each further one."""
        began = trio.current_time()
        failed = 0
        while True:
            try:
                return await attempt()
            except ModelError as error:
                if self._dialect.adapt(error):
                    continue
                failed += 1
                passed = trio.current_time() - began
                wait = None
                if error.again and (error.attempts is None or failed < error.attempts):
                    wait = self._policy.wait(failed, error.retry_after, passed)
                if wait is None:
                    raise _given_up(error, failed) from None
                when = f"in {wait:.0f} s" if wait >= 0.5 else "at once"
                most = min(error.attempts or self._policy.attempts, self._policy.attempts)
                words = f"{error}; trying again {when} (try {failed + 1} of {most})"
                again = Retrying(attempt=failed + 1, seconds=wait, words=words)
            await self._tell(again)
            await trio.sleep(again.seconds)

    async def _send(
        self,
        method: str,
        url: str,
        body: Any,
        take: Callable[[httpx2.Response], Awaitable[None]],
    ) -> None:
        """Send one request; hand its answer to ``take`` unless it is a refusal."""
        import httpx2

        host = self._dialect.endpoint.host
        headers = {"accept-encoding": "identity", **self._dialect.headers}
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            # Half of a surrogate pair, of an odd name or a cut reply, is refused by servers.
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with trio.move_on_after(self._timing.reply):
                request = self._client.build_request(method, url, headers=headers, content=content)
                with trio.move_on_after(self._timing.idle) as waiting:
                    response = await self._client.send(request, stream=True)
                if waiting.cancelled_caught:
                    raise silent(host, self._timing.idle)
                if not response.is_success:
                    raise await self._refusal(response)
                await take(response)
                return
        except StreamError as error:
            endpoint = self._dialect.endpoint
            raise ModelError(
                "bad-answer",
                f"{host} answered what is not its protocol: {error}; check"
                f" {endpoint.url_name} and provider in {endpoint.table}",
            ) from None
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            raise self._unreachable(error) from None
        raise ModelError("network", f"{host} took more than {self._timing.reply:g} s for one reply")

    async def _refusal(self, response: httpx2.Response) -> ModelError:
        async with self._body(response) as body:
            data, _ = await body.up_to(_LARGEST_REFUSAL)
        endpoint = self._dialect.endpoint
        return refused(endpoint, self.name, response.status_code, response.headers, data)

    def _body(self, response: httpx2.Response) -> Body:
        return Body(response, self._dialect.endpoint.host, self._timing.idle)

    async def _read(self, response: httpx2.Response, reader: ReplyReader) -> None:
        """Read a reply, telling of each piece. Raises ``ModelError`` for one that broke off."""
        async with self._body(response) as body:
            encoding = response.headers.get("content-encoding", "identity")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if encoding != "identity" or kind == "text/html":
                what = kind if encoding == "identity" else f"{encoding}, which was not asked for"
                raise StreamError(f"its answer is {what}")
            if kind == "application/json":
                data, complete = await body.up_to(_LARGEST_WHOLE)
                if not complete:
                    raise StreamError(f"its answer is longer than {_LARGEST_WHOLE} bytes")
                for piece in reader.whole(load(data.decode("utf-8", "replace"))):
                    await self._tell(piece)
            else:
                await self._follow(body, reader)
        if reader.stop is None and not reader.ended:
            host = self._dialect.endpoint.host
            raise ModelError("network", f"{host} broke off in the middle of a reply", again=True)

    async def _follow(self, body: Body, reader: ReplyReader) -> None:
        parser = EventParser()
        while True:
            await trio.lowlevel.checkpoint()
            try:
                # Once the reason of its end is known only counts may be missing.
                data = await body.more(_LAST_WORDS_SECONDS if reader.stop else None)
            except ModelError:
                if reader.stop is None:
                    raise
                return
            if data is None:
                return
            for event in parser.feed(data):
                for piece in reader.event(event):
                    await self._tell(piece)
                if reader.ended:
                    return

    def _unreachable(self, error: Exception) -> ModelError:
        endpoint = self._dialect.endpoint
        lacking = _lacking(endpoint, error)
        if lacking is not None:
            words = f"{endpoint.host} cannot be reached: {lacking}"
            # The provider's own name is not known to a machine that is offline: that may pass.
            most = None if endpoint.own else _ATTEMPTS_WITHOUT_SERVER
            return ModelError("network", words, again=True, attempts=most)
        why = clean(endpoint, str(error)) or type(error).__name__
        again = "CERTIFICATE_VERIFY_FAILED" not in why
        what = "broke off" if isinstance(error, _broken()) else "cannot be reached"
        return ModelError("network", f"{endpoint.host} {what}: {why}", again=again)


def _lacking(endpoint: Endpoint, error: BaseException) -> str | None:
    """Explain that there is no server at all, as far as an error shows it."""
    for one in _causes(error):
        if isinstance(one, socket.gaierror) and one.errno in _NO_SUCH_NAME:
            if endpoint.own:
                return "its name is not known; is this machine connected to the internet?"
            return f"there is no machine of this name; check {endpoint.url_name}"
        if isinstance(one, ConnectionRefusedError) and endpoint.loopback:
            return (
                "it refuses the connection; start the server of the model, or check"
                f" {endpoint.url_name}"
            )
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that led to it."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _causes(one)
    before = error.__cause__ or error.__context__
    if before is not None:
        yield from _causes(before)


def _broken() -> tuple[type[Exception], ...]:
    """Return what httpx2 raises when a connection ends that stood."""
    import httpx2

    return (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)


def _given_up(error: ModelError, attempts: int) -> ModelError:
    """Build the final error; it counts the attempts."""
    if attempts == 1 or not error.again:
        return error
    return ModelError(
        error.kind,
        f"{error} (tried {attempts} times)",
        status=error.status,
        retry_after=error.retry_after,
        window=error.window,
    )
