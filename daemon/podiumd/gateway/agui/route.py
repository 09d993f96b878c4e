"""``POST /agui``: one run of AG-UI, as its HTTP binding has it: an input in, events out.

What is wrong with the input is an HTTP status, before the stream; what goes wrong later is
``RUN_ERROR`` in it. A client that hangs up ends its stream and nothing else.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import trio

from podiumd.gateway.access.devices import Settings
from podiumd.gateway.agui.conversation import Conversation, Entered
from podiumd.gateway.agui.events import frame
from podiumd.gateway.agui.incoming import RunInput, run_input
from podiumd.gateway.agui.reporter import STOPPING, RunReporter
from podiumd.gateway.agui.threads import Threads
from podiumd.gateway.agui.translate import Translator
from podiumd.gateway.http.exchange import STREAMED, ClientGone, Problem, Request, Streamed
from podiumd.gateway.http.form import media_type
from podiumd.gateway.http.sse import EventStream, open_events
from podiumd.gateway.tokens import Tokens
from podiumd.observe.logs import log
from podiumd.runtime.errors import Overloaded
from podiumd.runtime.events.feeds import Feed
from podiumd.runtime.service import Service

BODY_BYTES: Final = 16 * 1024 * 1024
"""Bytes of an input: it brings the whole conversation every time."""

BODIES_AT_ONCE: Final = 4
MOST_STREAMS: Final = 50
_RETRY_MS: Final = 5000


class AguiRoute:
    """The handler of ``POST /agui``."""

    def __init__(self, service: Service, tokens: Tokens, settings: Settings) -> None:
        self._service = service
        self._conversation = Conversation(service, tokens, Threads(settings))
        self._bodies = trio.Semaphore(BODIES_AT_ONCE)
        self._streams = 0

    async def __call__(self, request: Request, device: str) -> Streamed:
        """Answer a request. Raises ``Problem``, ``PodiumError``, ``StoreError``, ``ClientGone``."""
        if media_type(request) != "application/json":
            raise Problem(415, detail="Send application/json, and say so in Content-Type.")
        with self._place():
            async with self._bodies:
                body = await request.body(BODY_BYTES)
                asked = await trio.to_thread.run_sync(run_input, body)  # it may be large
                del body
            async with self._service.subscribe(None, None) as live:
                entered = await self._conversation.enter(asked, device)
                stream = await open_events(request)
                teller = _Teller(request, stream, asked)
                following = RunReporter(
                    self._service, self._conversation, teller.translator, teller.tell
                )
                await teller.run(following, entered, live)
        return STREAMED

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._streams >= MOST_STREAMS:
            words = f"There are {MOST_STREAMS} streams already: end one, or try again later."
            raise Overloaded(words, _RETRY_MS)
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1


class _Teller:
    """A stream, with what can end it early: the client, the daemon, a fault."""

    def __init__(self, request: Request, stream: EventStream, asked: RunInput) -> None:
        self.translator = Translator(asked.thread_id, asked.run_id, lambda: str(uuid.uuid4()))
        self._request = request
        self._stream = stream

    async def tell(self, events: list[dict[str, Any]]) -> None:
        await self._stream.tell([frame(event) for event in events])

    async def run(self, following: RunReporter, entered: Entered, live: Feed) -> None:
        """Send all events, for as long as the client stays. Raises ``ClientGone``."""

        async def attend() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._stream.keep_alive)
                nursery.start_soon(self._until_stop, nursery.cancel_scope)
                await self._follow(following, entered, live)
                nursery.cancel_scope.cancel()
            if not self.translator.over:
                await self.tell(self.translator.fail(STOPPING, "stopping"))

        await self._request.while_connected(attend)

    async def _until_stop(self, scope: trio.CancelScope) -> None:
        await self._request.stopping.wait()
        scope.cancel()

    async def _follow(self, following: RunReporter, entered: Entered, live: Feed) -> None:
        try:
            await following.run(entered, live)
        except ClientGone:
            self.translator.over = True
        except Exception as error:  # noqa: BLE001 - the status is sent: the stream says it
            fault = secrets.token_hex(4)
            log("Stream failed", "error", exception=error, fault=fault, run_id=entered.run_id)
            words = f"The daemon failed; its log has more under fault {fault}. The run goes on."
            with suppress(ClientGone):
                await self.tell(self.translator.fail(words, "internal"))
