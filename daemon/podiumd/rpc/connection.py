"""A client's connection: requests in, answers and feeds out, and an end that loses neither."""

from __future__ import annotations

import select
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeVar

import trio

from podiumd.observe.logs import log
from podiumd.rpc.adapter import (
    INVALID_REQUEST,
    Adapter,
    Batch,
    Call,
    error_line,
    notification,
)
from podiumd.rpc.context import DaemonInfo, RequestContext
from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.lines import LineSplitter, LineTooLong
from podiumd.rpc.outbox import Outbox, Sender
from podiumd.runtime.api import Immediate, Subscription
from podiumd.runtime.bus import Burst
from podiumd.runtime.errors import Overloaded, PodiumError
from podiumd.runtime.service import Service
from podiumd.wire.events import FEED_CLOSED, STOPPING, FeedClosed, Stopping
from podiumd.wire.fields import Result

S = TypeVar("S", bound=Subscription)

_CHUNK_BYTES: Final = 64 * 1024
_TURN_BYTES: Final = 16 * 1024  # before other tasks get theirs: some 150 requests, 1 ms
_ANSWERS_TOGETHER: Final = 16  # the client reads them while we work on the next
_DISCARD_SECONDS: Final = 2.0


class Connection:
    """Serves one connected, non-blocking socket until its client or the daemon ends it.

    Quick requests are handled in order as they come; those that wait for an agent or a person
    run beside them, so their answers may come later than those of later requests. A client that
    closes its side still gets its answers, but no feed. Of one that has gone for good, what it
    asked to be done is done, and what would only make an answer is not begun.
    """

    def __init__(
        self,
        sock: socket.socket,
        adapter: Adapter[RequestContext],
        service: Service,
        info: DaemonInfo,
        limits: RpcLimits,
        followers: Callable[[], int],
        sender: Sender,
    ) -> None:
        """Take a connected socket.

        ``followers`` returns how many connections of the server have feeds; ``sender`` sends for
        all of them.
        """
        self._socket = sock
        self._adapter = adapter
        self._service = service
        self._info = info
        self._limits = limits
        self._followers = followers
        self._splitter = LineSplitter(limits.line_bytes)
        self._outbox = Outbox(sock, limits.outbox_bytes, sender)
        self._feeds: dict[trio.CancelScope, tuple[str, str]] = {}
        self._waiting = 0
        self._entries = 0
        self._look = select.poll()
        self._look.register(sock, 0)  # what is asked for then: whether it hung up
        self._closing = False
        self._draining = False
        self._feeds_over = False
        self._serving = trio.CancelScope()
        self._handling = False
        self.heard_at = trio.current_time()

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

    def _is_gone(self) -> bool:
        """Return whether the client will read no further answer."""
        found = self._look.poll(0)  # empty nearly always: this is asked before each answer
        return bool(found) and any(events & select.POLLHUP for _, events in found)

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
        try:
            self._socket.shutdown(socket.SHUT_RD)  # wakes the reader
        except OSError:
            pass  # the client was faster

    async def _write(self) -> None:
        await self._outbox.run()
        self._cancel_feeds()  # the client has gone

    def _cancel_feeds(self) -> None:
        self._feeds_over = True
        for scope in self._feeds:
            scope.cancel()

    async def _read(self) -> None:
        taken = 0
        while not self._closing and not self._outbox.broken:
            if taken >= _TURN_BYTES:
                taken = 0
                await trio.lowlevel.checkpoint()
            try:  # without waiting first: a busy client has sent more by now, and waiting is dear
                chunk = self._socket.recv(_CHUNK_BYTES)
            except (BlockingIOError, InterruptedError):
                taken = 0
                await trio.lowlevel.wait_readable(self._socket)
                continue
            except OSError:
                return
            taken += len(chunk)
            self.heard_at = trio.current_time()
            try:
                lines = self._splitter.feed(chunk) if chunk else [self._splitter.finish()]
            except LineTooLong:
                await self._refuse_long_line()
                return
            if not chunk:
                await self._handle([line for line in lines if line])
                return
            await self._handle(lines)

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

    async def _refuse_long_line(self) -> None:
        """Answer, then read the rest away: a client that is still sending sees the answer."""
        longest = self._limits.line_bytes
        self._outbox.put(
            error_line(INVALID_REQUEST, f"Invalid request: a line is longer than {longest} bytes.")
        )
        self._closing = True
        with trio.move_on_after(_DISCARD_SECONDS):
            await self._outbox.flushed()
            self._socket.shutdown(socket.SHUT_WR)
            while self._discard():
                await trio.lowlevel.wait_readable(self._socket)

    def _discard(self) -> bool:
        try:
            return bool(self._socket.recv(_CHUNK_BYTES))
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False

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
