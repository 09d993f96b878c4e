"""Server-sent events as the body of an answer: in order, held up by a client that does not read,
kept alive while there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from podiumd.gateway.http.exchange import ClientGone, Pieces, Request, Response

KEEPALIVE_SECONDS: Final = 15.0
"""Without a word; what stands between us and the client gives up on a silence of a minute."""

_COMMENT: Final = b": keep-alive\n\n"
_HEAD: Final = Response(
    200, content_type="text/event-stream", headers=(("X-Accel-Buffering", "no"),)
)


class EventStream:
    """A stream of events that has begun."""

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
    return EventStream(await request.stream(_HEAD))
