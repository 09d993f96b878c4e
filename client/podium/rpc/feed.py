"""Numbered items of one subscription: stored ones first, then live, without hole or repeat.

A daemon that is started again is waited for, and the feed goes on after the last item that it
has handed out.
"""

from __future__ import annotations

import select
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from podium import text
from podium.errors import (
    INTERRUPTED,
    NOT_RUNNING,
    OK,
    ConnectionLost,
    DaemonDown,
    Failure,
    Refusal,
)
from podium.rpc.connection import Connection

if TYPE_CHECKING:
    from podium import protocol

Item = TypeVar("Item", bound="protocol.Event | protocol.Message")

GONE_SECONDS = 30.0
"""How long a restarting daemon is waited for."""

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 0.05, 1.0

FRUITLESS_RECONNECTS = 5
"""Connections in a row that may be lost before one brings a new item."""

CUT_LOOSE = "feed.closed"
"""Notification before the daemon closes a connection, for instance to a client that reads too
slowly."""


STOPPING = "daemon.stopping"
"""Notification before the daemon ends; ``turns`` states whether agents go on without it."""


def wait_for_daemon(path: str, hope: str) -> Connection:
    """Connect to a daemon that is restarting; there is nothing to wait on but its socket.

    ``hope`` says what starting the daemon will bring back.

    Raises:
        Failure: it did not come back within ``GONE_SECONDS``.
    """
    text.tell(f"podium: the daemon went away; waiting up to {GONE_SECONDS:g} s for it ...")
    deadline, pause = time.monotonic() + GONE_SECONDS, FIRST_RETRY_SECONDS
    while True:
        try:
            connection = _answering(path)
        except (DaemonDown, ConnectionLost) as error:
            if time.monotonic() + pause > deadline:
                raise Failure(
                    f"The daemon has been gone for {GONE_SECONDS:g} s. Nothing is lost: "
                    f"'podium up' starts it {hope}.",
                    NOT_RUNNING,
                ) from error
            time.sleep(pause)
            pause = min(LONGEST_RETRY_SECONDS, pause * 1.5)
        else:
            text.tell("podium: the daemon is back.")
            return connection


def _answering(path: str) -> Connection:
    """Open a connection and wait for an answer: a daemon that dies still accepts for a moment.

    Raises:
        DaemonDown: nothing listens there.
        ConnectionLost: what listened there is gone.
    """
    connection = Connection(path)
    try:
        connection.call("daemon.ping")
    except Refusal:
        pass  # an answer too
    except Failure:
        connection.close()
        raise
    return connection


class Feed(ABC, Generic[Item]):
    """The items after ``after_seq``, as they come.

    A daemon that a person has stopped is not waited for.

    ``connection`` is the present one; a lost one is replaced. ``rejoined`` counts how often.
    An item without a ``seq`` is handed out as it is: it may come once more after a break.
    """

    hope: str
    """See ``wait_for_daemon``."""

    again: str
    """The command that follows the same once more."""

    def __init__(self, connection: Connection, after_seq: int) -> None:
        self.connection = connection
        self.rejoined = 0
        self._seq = after_seq
        self._fruitless = 0
        self._hole = -1
        self._stopped = False
        self._ready: list[Item] = []
        try:
            self._ready = self._subscribe()
        except ConnectionLost:
            self._reconnect()

    @abstractmethod
    def _subscribe(self) -> list[Item]:
        """Ask for everything after ``_seq`` on the present connection; what is there already."""

    @abstractmethod
    def _items(self, message: dict[str, Any]) -> list[Item]:
        """Return the items of a notification; none if it is not of this feed."""

    def _over(self, taken: list[Item]) -> bool:
        """Return whether nothing comes after these items."""
        return False

    def take(self) -> list[Item]:
        """Return the items that are there now; an empty list if there are none yet.

        Raises:
            Failure: the daemon is gone for good, or refuses.
        """
        ready, self._ready = self._ready, []
        lost = cut_loose = False
        try:
            for message in self.connection.notifications():
                cut_loose |= message.get("method") == CUT_LOOSE
                if message.get("method") == STOPPING:
                    self._stopped = (message.get("params") or {}).get("turns") == "interrupt"
                ready += self._items(message)
        except ConnectionLost:
            lost = True
        taken = self._in_order(ready, whole=not (lost or cut_loose))
        if not self._over(taken):
            if lost:
                self._reconnect()
            elif cut_loose:
                self._ask_again()
        return taken

    def wait(self, seconds: float | None = None, other: object | None = None) -> bool:
        """Wait for items or input; true if ``other`` has input to be read."""
        if self._ready or self.connection.unread:
            return False
        watched: list[Any] = [self.connection]
        if other is not None:
            watched.append(other)
        return other in select.select(watched, [], [], seconds)[0]

    def _in_order(self, items: list[Item], whole: bool) -> list[Item]:
        """Drop repeats. A hole ends what can be used: the rest is asked for again."""
        taken = []
        for item in items:
            seq = item.get("seq")
            if isinstance(seq, int):
                if seq <= self._seq:
                    continue
                if seq > self._seq + 1 and self._hole != self._seq:
                    self._hole = self._seq  # still there when asked again: stored ones are lost
                    if whole:
                        self._ask_again()
                    break
                self._seq = seq
                self._fruitless = 0
            taken.append(item)
        return taken

    @property
    def later(self) -> str:
        """Describe what to do once a daemon that was stopped is up again."""
        return f"then {self.again} goes on"

    def _ask_again(self) -> None:
        self._count()
        try:
            self.connection = Connection(self.connection.path)
            self._ready = self._subscribe()
        except (DaemonDown, ConnectionLost):
            self._reconnect()

    def _reconnect(self) -> None:
        """Wait for the next daemon and go on with it.

        Raises:
            Failure: none comes, or none is to come: this one was stopped with its agents.
        """
        if self._stopped:
            raise Failure(
                f"The daemon was stopped. Nothing is lost: 'podium up' starts it, {self.later}.",
                NOT_RUNNING,
            )
        while True:
            self._count()
            self.connection = wait_for_daemon(self.connection.path, self.hope)
            try:
                self._ready = self._subscribe()
                self.rejoined += 1
                return
            except ConnectionLost:
                pass

    def _count(self) -> None:
        """Leave the present connection.

        Raises:
            Failure: too many have brought nothing.
        """
        self.connection.close()
        self._fruitless += 1
        if self._fruitless > FRUITLESS_RECONNECTS:
            raise Failure(
                "The daemon keeps closing the connection: see 'podium status' and its log."
            )


def guarded(
    following: Callable[[], int], parting: str, over: Callable[[], bool] = lambda: False
) -> int:
    """Run a following command; Ctrl-C or a closed pipe ends the following and nothing else.

    ``parting`` is the note that the person sees then. A closed pipe ends quietly what is ``over``.
    """
    try:
        return following()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        text.let_go(1)
        if over():
            return OK
    text.tell(f"podium: following ended{parting}")
    return INTERRUPTED
