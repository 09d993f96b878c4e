"""Tracking of what a phone has surely received: unconfirmed ends of recipes are sent again.

A message from a phone proves nothing: it may have been on the way for long. So a ping of the
WebSocket goes out after the news, and its pong comes only when the phone has all of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import trio

from podiumd.gateway.websocket import Closed
from podiumd.observe.logs import log
from podiumd.store.errors import StoreError

AGAIN_SECONDS: Final = 2.0
"""Between two notes of what a phone has: each is a write to the disk."""


class DeliveryTracking:
    """The event up to which a phone has received all that it was sent.

    ``delivered`` returns once the phone has everything that was sent to it, and raises ``Closed``.
    ``note`` stores a position.
    """

    def __init__(
        self,
        delivered: Callable[[], Awaitable[None]],
        note: Callable[[int], Awaitable[None]],
    ) -> None:
        self._delivered = delivered
        self._note = note
        self._sent = 0
        self._news = trio.Event()

    def sent(self, position: int) -> None:
        """Note that the phone was sent everything up to an event."""
        if position > self._sent:
            self._sent = position
            self._news.set()

    async def keep(self) -> None:
        """Note what it has, one proof after the other; what is sent meanwhile waits for the next.

        A task of its own; it ends when the phone has gone.
        """
        with suppress(Closed):
            while True:
                await self._news.wait()
                self._news = trio.Event()
                position = self._sent
                await self._delivered()
                try:
                    await self._note(position)
                except StoreError as error:
                    log("Devices not stored", "warning", error=str(error))
                    self._news.set()
                await trio.sleep(AGAIN_SECONDS)
