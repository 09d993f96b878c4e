"""Sessions of AG-UI threads: a setting of the daemon ties each thread to one, for good.

A thread's id is the client's choice; the session's id is ours. It is stored before the session
exists, so that a daemon which is killed in between begins no second one.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec
import trio

from podiumd.gateway.access.devices import Settings

PREFIX: Final = "agui.thread."


class Thread(msgspec.Struct, frozen=True):
    """The state of a thread. ``found``: its session was there before it. ``begun``: words or a
    recipe came in it. ``said`` is the token of the last message that was sent: a client sends all
    of them again, every time."""

    session_id: str
    found: bool = False
    begun: bool = False
    said: str | None = None


class Threads:
    """The threads that are known."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()

    def lock(self, thread_id: str) -> trio.Lock:
        """Return the lock for sending in the thread: two first messages make one session."""
        return self._locks.setdefault(thread_id, trio.Lock())

    async def known(self, thread_id: str) -> Thread | None:
        """Return a thread as it was last kept. Raises ``StoreError``."""
        stored = await self._settings.setting(_key(thread_id))
        return None if stored is None else msgspec.json.decode(stored, type=Thread)

    async def keep(self, thread_id: str, thread: Thread) -> None:
        """Keep a thread; durable when this returns. Raises ``StoreError``."""
        await self._settings.set_setting(_key(thread_id), msgspec.json.encode(thread))


def _key(thread_id: str) -> str:
    return PREFIX + hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()


def token_of(*parts: Any) -> str:
    """Return the client token of something that a thread asks for once."""
    return hashlib.sha256(msgspec.json.encode(["agui", *parts])).hexdigest()
