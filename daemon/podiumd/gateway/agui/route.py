"""``POST /agui``: one run of AG-UI, as its HTTP binding has it: an input in, events out.

What is wrong with the input is an HTTP status, before the stream; what goes wrong later is
``RUN_ERROR`` in it. A client that hangs up ends its stream and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import trio

from podiumd.gateway.access.devices import Settings
from podiumd.gateway.agui.conversation import Conversation, Threads
from podiumd.gateway.agui.incoming import run_input
from podiumd.gateway.agui.reporter import RunReporter
from podiumd.gateway.http.exchange import STREAMED, Problem, Request, Streamed, open_events
from podiumd.gateway.http.form import media_type
from podiumd.runtime.errors import Overloaded
from podiumd.runtime.service import Service
from podiumd.store.facts import Store

BODY_BYTES: Final = 16 * 1024 * 1024
"""Bytes of an input: it brings the whole conversation every time."""

BODIES_AT_ONCE: Final = 4
MOST_STREAMS: Final = 50
_RETRY_MS: Final = 5000


class AguiRoute:
    """The handler of ``POST /agui``."""

    def __init__(self, service: Service, tokens: Store, settings: Settings) -> None:
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
                report = RunReporter(self._service, self._conversation, asked, stream)
                await request.while_connected(partial(report.run, entered, live, request.stopping))
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
