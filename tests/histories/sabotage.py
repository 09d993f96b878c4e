"""Ways to break the service, each against one promise: the campaign must find every one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from podiumd.formats.session import Entry
from podiumd.sessions import transcripts
from podiumd.sessions.log.numbered import Log
from podiumd.sessions.log.open_log import MessageFeed
from tests.histories import child


def _patch(owner: type, name: str, around: Callable[..., Any]) -> None:
    """Put ``around`` in place of a method: it is given the method first."""
    original = getattr(owner, name)
    setattr(owner, name, lambda *args, **kwargs: around(original, *args, **kwargs))


def forgetful() -> None:
    """Ledgers are not stored: numbers go with the index."""

    async def nothing(_: Any, __: child.Ledgers, ledgers: Sequence[Any]) -> None:
        pass

    _patch(child.Ledgers, "save_ledgers", nothing)


def lossy() -> None:
    """The last of several new messages is left out."""

    def append(original: Any, log: Log, entries: Sequence[Entry]) -> Any:
        return original(log, entries[:-1] if len(entries) > 2 else entries)

    _patch(Log, "append", append)


def doubling() -> None:
    """A message that is known gets another number."""

    def find(_: Any, __: Log, ___: bytes) -> int:
        return 0

    _patch(Log, "find", find)


def renumbering() -> None:
    """A rewritten transcript is numbered from the start."""

    def rebuild(_: Any, log: Log, entries: Sequence[Entry]) -> Any:
        log.generation += 1
        log._packed.clear()
        return log.append(entries)

    _patch(Log, "rebuild", rebuild)


def disordered() -> None:
    """New messages are numbered from the last to the first."""

    def append(original: Any, log: Log, entries: Sequence[Entry]) -> Any:
        return original(log, entries[::-1])

    _patch(Log, "append", append)


def deaf() -> None:
    """A subscriber misses what came between its first page and its first notification."""

    async def page(original: Any, *args: Any) -> Any:
        found = await original(*args)
        feed_asks = len(args) > 3 and args[2] is not None and args[3] == 256
        return await original(args[0], args[1], args[2] + 1, args[3]) if feed_asks else found

    _patch(transcripts.Transcripts, "page", page)


def repeating() -> None:
    """A subscriber is told everything twice."""

    async def following(original: Any, feed: MessageFeed) -> Any:
        at = feed._at
        note = await original(feed)
        if not getattr(feed, "repeated", False):
            feed._at = at
        setattr(feed, "repeated", not getattr(feed, "repeated", False))  # noqa: B010
        return note

    _patch(MessageFeed, "__anext__", following)


KINDS: Final[Mapping[str, Callable[[], None]]] = MappingProxyType(
    {
        "forgetful": forgetful,
        "lossy": lossy,
        "doubling": doubling,
        "renumbering": renumbering,
        "disordered": disordered,
        "deaf": deaf,
        "repeating": repeating,
    }
)
"""By name, for the command line."""
