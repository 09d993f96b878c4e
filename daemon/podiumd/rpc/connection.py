"""A client's connection: requests in, answers and feeds out, and an end that loses neither.

How its bytes come and go is the business of ``socket_connection`` and ``page_connection``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeVar

import trio

from podiumd.observe.logs import log
from podiumd.rpc.adapter import Adapter, Batch, Call, error_line, notification
from podiumd.rpc.context import DaemonInfo, RequestContext
from podiumd.rpc.limits import RpcLimits
from podiumd.runtime.api import Immediate, Subscription
from podiumd.runtime.bus import Burst
from podiumd.runtime.errors import Overloaded, PodiumError
from podiumd.runtime.service import Service
from podiumd.wire.events import FEED_CLOSED, STOPPING, FeedClosed, Stopping
from podiumd.wire.fields import Result
from podiumd.wire.method import Scope

S = TypeVar("S", bound=Subscription)

_ANSWERS_TOGETHER: Final = 16  # the client reads them while we work on the next


class Outgoing(Protocol):
    """Whole lines on their way to the client. See ``podiumd.rpc.outbox.Outbox``."""

    @property
    def broken(self) -> bool: ...
    @property
    def full(self) -> bool: ...
    def put(self, data: bytes) -> None: ...
    def add(self, data: bytes) -> None: ...
    def offer(self, data: bytes) -> bool: ...
    def flush(self) -> None: ...
    def wake(self) -> None: ...
    async def room(self) -> None: ...
    async def flushed(self) -> None: ...
    async def run(self) -> None: ...


class Server(Protocol):
    """The server of a connection. ``followers`` returns how many of its connections have feeds."""

    @property
    def service(self) -> Service: ...
    @property
    def info(self) -> DaemonInfo: ...
    @property
    def limits(self) -> RpcLimits: ...
    def followers(self) -> int: ...


class Connection(ABC):
    """Serves one client until it or the daemon ends the connection.

    Quick requests are handled in order as they come; those that wait for an agent or a person
    run beside them, so their answers may come later than those of later requests. A client that
    closes its side still gets its answers, but no feed. Of one that has gone for good, what it
    asked to be done is done, and what would only make an answer is not begun.
    """

    def __init__(
        self,
        server: Server,
        adapter: Adapter[RequestContext],
        outbox: Outgoing,
        caller: str,
        scope: Scope,
    ) -> None:
        """Serve the methods of ``adapter``, which are those that ``scope`` opens; ``caller`` is who
        asks, for what is stored of it."""
        self.caller = caller
        self.scope = scope
        self._adapter = adapter
        self._service = server.service
        self._info = server.info
        self._limits = server.limits
        self._followers = server.followers
        self._outbox = outbox
        self._feeds: dict[trio.CancelScope, tuple[str, str]] = {}
        self._waiting = 0
        self._entries = 0
        self._closing = False
        self._draining = False
        self._feeds_over = False
        self._serving = trio.CancelScope()
        self._handling = False
        self.heard_at = trio.current_time()

    @abstractmethod
    async def _read(self) -> None:
        """Handle what the client sends until ``_closing``, or its end."""

    @abstractmethod
    def _hear_no_more(self) -> None:
        """Wake ``_read``: it is ``_closing``."""

    @abstractmethod
    def _is_gone(self) -> bool:
        """Return whether the client will read no further answer; asked before each of them."""

    async def run(self) -> None:
        """Serve; returns when the client has everything it will get. The caller closes."""
        with self._serving:
            await self._run()

    def end_if_gone(self) -> bool:
        """Give up what still waits for a client that is gone for good.

        Return whether it is, and has not only stopped asking.
        """
        if self._is_gone():
            self._serving.cancel()
        return self._serving.cancel_called

    @property
    def follows(self) -> bool:
        """Return whether it has a feed, or is about to."""
        return bool(self._feeds)

    @property
    def idle(self) -> bool:
        """Return whether it follows nothing and waits for nothing; ``heard_at`` is since when."""
        return not (self._feeds or self._waiting or self._handling)

    def give_way(self) -> None:
        """End at once, for another that needs the room."""
        refusal = Overloaded(
            "The daemon has too many connections, and this one was idle for longest: connect again."
        )
        self._outbox.put(error_line(refusal.code, refusal.message, refusal.told))
        self._serving.cancel()

    async def _run(self) -> None:
        async with trio.open_nursery() as writing:
            writing.start_soon(self._write)
            async with trio.open_nursery() as self._tasks:
                await self._read()
                if not self._draining:
                    self._cancel_feeds()
            with trio.move_on_after(self._limits.flush_seconds):
                await self._outbox.flushed()
            writing.cancel_scope.cancel()

    def drain(self, params: Stopping) -> None:
        """Notify the client that the daemon stops, and take no more requests.

        The connection ends when those in hand are done and the feeds, which the service ends, have
        sent everything.
        """
        self._draining = self._feeds_over = True
        self._take_no_more(STOPPING.name, params)

    def _cut_loose(self, feed: str, reason: str) -> None:
        """End a connection whose feed cannot go on, so that no hole in it is hidden."""
        self._take_no_more(FEED_CLOSED.name, FeedClosed(feed=feed, reason=reason))
        self._cancel_feeds()

    def _take_no_more(self, method: str, params: Result) -> None:
        if self._closing:
            return
        self._closing = True
        self._outbox.put(notification(method, params))
        self._hear_no_more()

    async def _write(self) -> None:
        await self._outbox.run()
        self._cancel_feeds()  # the client has gone

    def _cancel_feeds(self) -> None:
        self._feeds_over = True
        for scope in self._feeds:
            scope.cancel()

    async def _handle(self, lines: list[bytes]) -> None:
        """Handle lines in order; the answers of one chunk leave together where none waits."""
        self._handling = True
        try:
            await self._handle_each(lines)
        finally:
            self._handling = False

    async def _handle_each(self, lines: list[bytes]) -> None:
        context = RequestContext(self._service, self._info, self)
        for number, line in enumerate(lines, 1):
            if self._closing:
                break
            work = self._adapter.read(line)
            self._info.on_request()
            if work.pace == "waiting":
                self._run_beside(work)
                if self._outbox.full:  # of refusals, or of answers that are not read
                    await self._outbox.room()
                continue
            if work.pace == "ordered":
                self._outbox.wake()
            answer = await work.run(context, self._is_gone)
            if answer is not None:
                self._outbox.add(answer)
            context.answered()
            if not number % _ANSWERS_TOGETHER:
                self._outbox.flush()
            if self._outbox.full:
                await self._outbox.room()
        self._outbox.flush()

    def _run_beside(self, work: Call | Batch) -> None:
        entries = self._entries + work.size
        if self._waiting >= self._limits.requests or entries > self._limits.entries:
            if not self._is_gone():
                self._outbox.put(self._adapter.refuse(work, _too_much("requests in hand")))
            return
        self._waiting += 1
        self._entries = entries
        self._tasks.start_soon(self._run_waiting, work)

    async def _run_waiting(self, work: Call | Batch) -> None:
        context = RequestContext(self._service, self._info, self)
        try:
            answer = await work.run(context, self._is_gone)
            await self._outbox.room()
            if answer is not None:
                self._outbox.put(answer)
            context.answered()
        finally:
            self._waiting -= 1
            self._entries -= work.size
            self.heard_at = trio.current_time()

    async def open_feed(
        self,
        source: AbstractAsyncContextManager[S],
        method: str,
        answered: trio.Event,
    ) -> S:
        """See ``FeedHost``."""
        if len(self._feeds) >= self._limits.feeds:
            raise _too_much("feeds")
        if not self.follows and self._followers() >= self._limits.followers:
            raise Overloaded(_too_many_follow(self._limits))
        scope = trio.CancelScope()
        self._feeds[scope] = (method, "")  # counted from now on
        subscription: S = await self._tasks.start(self._feed, scope, source, method, answered)
        return subscription

    def close_feed(self, method: str, about: str) -> None:
        """See ``FeedHost``."""
        for scope, (its_method, its_about) in self._feeds.items():
            if its_method == method and its_about.startswith(about):
                scope.cancel()

    async def _feed(
        self,
        scope: trio.CancelScope,
        source: AbstractAsyncContextManager[S],
        method: str,
        answered: trio.Event,
        *,
        task_status: trio.TaskStatus[S],
    ) -> None:
        with scope:
            try:
                async with source as subscription:
                    if subscription.about:
                        self.close_feed(method, subscription.about)  # this one in its place
                    self._feeds[scope] = (method, subscription.about)
                    task_status.started(subscription)
                    await answered.wait()
                    if not self._feeds_over:
                        await self._pass_on(subscription, method)
            finally:
                del self._feeds[scope]

    async def _pass_on(self, subscription: Subscription, method: str) -> None:
        """Send every event; a fault of the feed ends the connection.

        Lines that are ready are sent in the publisher's task, as long as the client keeps up: then
        no task wakes for it.
        """

        def take(burst: Burst) -> bool:
            lines = None if self._feeds_over else burst.lines(method, notification)
            return lines is not None and self._outbox.offer(lines)

        if isinstance(subscription, Immediate):
            subscription.hand_to(take)
        events = aiter(subscription)
        try:
            async for event in events:
                self._outbox.add(notification(method, event))
                self._outbox.wake()  # what else has happened goes with it
                if self._outbox.full:
                    with trio.fail_after(self._limits.slow_seconds):
                        await self._outbox.room()
        except trio.TooSlowError:
            self._cut_loose(method, "slow")
        except PodiumError as refusal:
            self._cut_loose(method, refusal.message)
        except Exception as error:  # noqa: BLE001 - one feed's fault is that of one client
            log("Feed failed", "error", exception=error, feed=method)
            self._cut_loose(method, "internal error")
        finally:
            if isinstance(events, AsyncGenerator):
                with trio.move_on_after(self._limits.flush_seconds, shield=True):
                    await events.aclose()


def _too_much(what: str) -> Overloaded:
    return Overloaded(f"This connection has too many {what}; try again when some have ended.")


def _too_many_follow(limits: RpcLimits) -> str:
    kept = limits.connections - limits.followers
    return (
        f"{limits.followers} connections follow something, which is as many as may: the last "
        f"{kept} are kept for who asks and answers. Try again when one of them has ended."
    )
