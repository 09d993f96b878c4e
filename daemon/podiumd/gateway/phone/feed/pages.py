"""Pages of messages as phones show them; a large one is made out in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from podiumd.gateway.phone.feed import text
from podiumd.gateway.phone.feed.history import Message
from podiumd.wire.sessions import MessagesPage, NewMessages

T = TypeVar("T")

QUICK_BYTES: Final = 256 * 1024
"""Bytes of messages that are made out in the event loop itself."""


async def messages_of(page: MessagesPage | NewMessages) -> list[Message]:
    """Decode the messages of a page, or of a feed's news."""
    encoded = page.messages
    size = sum(memoryview(each).nbytes for each in encoded)
    return await made(size, lambda: [text.of_json(each) for each in encoded])


async def made(size: int, make: Callable[[], T]) -> T:
    """Return what ``make`` returns; in a thread where it is made of more than a few bytes."""
    return make() if size <= QUICK_BYTES else await trio.to_thread.run_sync(make)
