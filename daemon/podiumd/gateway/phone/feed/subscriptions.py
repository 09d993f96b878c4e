"""The sessions that one phone follows: each answered with what the phone lacks, then kept up.

Two tasks of the phone work on them: its messages (``subscribe``, ``leave``), and ``read_on`` for
what comes by itself. Others only notify it, and never wait. A subscription is in the table before
anything is awaited for it; after each wait it is asked whether it is ``over``, for a phone that has
left a session is to receive nothing more of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple

import trio

from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.feed.channels import (
    HIGH_WATER,
    Channel,
    Channels,
    Subscription,
    push_frames,
)
from podiumd.gateway.phone.feed.text import made, messages_of
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.protocol import requests
from podiumd.gateway.websocket import Closed, text_frame
from podiumd.observe.logs import log
from podiumd.runtime.errors import NotFound, Overloaded
from podiumd.runtime.service import Service

PAGE: Final = 256
"""Messages that are read at a time."""

MOST_FOLLOWED: Final = 500
"""Sessions that one phone may follow, those that do not exist yet included."""


class _Had(NamedTuple):
    """The state of a phone in a session: its cursor, and the signature of the log that it is of."""

    at: int = 0
    signature: str = history.EMPTY


class Subscriptions:
    """The sessions that one phone follows. ``commands`` makes the message that lists what may be
    run in a directory."""

    def __init__(
        self,
        phone: PhoneLink,
        service: Service,
        channels: Channels,
        commands: Callable[[str | None], Awaitable[bytes]],
    ) -> None:
        self._phone = phone
        self._service = service
        self._channels = channels
        self._commands = commands
        self._subscriptions: dict[str, Subscription] = {}
        self._wanted: dict[str, _Had] = {}
        """Sessions that do not exist yet, or cannot be read just now: what the phone has."""
        self._changed: dict[str, None] = {}
        self._behind = trio.Event()

    def includes(self, session_id: str) -> bool:
        """Return whether the phone looks at a session."""
        return session_id in self._subscriptions or session_id in self._wanted

    def hears_turns(self, session_id: str) -> bool:
        """Return whether the phone gets the ends of a session's turns: it looks at it, or has
        prompted in it and waits for the end."""
        return self.includes(session_id) or session_id in self._phone.prompted

    def end(self) -> None:
        """Leave all sessions: the phone has gone."""
        for session_id in tuple(self._subscriptions):
            self.leave(session_id)
        self._wanted.clear()

    def leave(self, session_id: str) -> None:
        """Push nothing more of a session to the phone."""
        self._wanted.pop(session_id, None)
        self._changed.pop(session_id, None)
        subscription = self._subscriptions.get(session_id)
        if subscription is not None:
            self._drop(subscription)

    def forget(self, session_id: str) -> None:
        """Stop all reports of a session to the phone."""
        self.leave(session_id)
        self._phone.prompted.discard(session_id)

    def changed(self, session_id: str) -> None:
        """Note that a session is new, or has grown; it may be one that the phone waits for."""
        subscription = self._subscriptions.get(session_id)
        if session_id in self._wanted or (subscription is not None and not subscription.live):
            self._changed[session_id] = None
            self._wake()

    def _wake(self) -> None:
        """There is something for ``read_on`` to do."""
        self._behind.set()

    def _drop(self, subscription: Subscription) -> bool:
        """End a subscription; whether it was the phone's own still."""
        own = self._subscriptions.get(subscription.session_id) is subscription
        if own:
            del self._subscriptions[subscription.session_id]
        self._channels.leave(subscription)
        return own

    def _put_off(self, subscription: Subscription, signature: str) -> None:
        """Put off a subscription that cannot be read now: go on from its cursor at a change."""
        if self._drop(subscription):
            self._wanted[subscription.session_id] = _Had(subscription.at, signature)

    def _lost(self, subscription: Subscription, signature: str) -> None:
        """Put off a subscription whose log is no more; the session may have come again by now, with
        another one."""
        self._put_off(subscription, signature)
        self.changed(subscription.session_id)

    # -- answers -----------------------------------------------------------------------------

    async def subscribe(self, request: requests.Subscribe) -> None:
        """Answer with what the phone lacks of a session, and send it what follows.

        Raises ``NotFound``, ``Overloaded``.
        """
        session_id = request.session_id
        self.leave(session_id)
        if len(self._subscriptions) + len(self._wanted) >= MOST_FOLLOWED:
            raise Overloaded(f"One phone follows at most {MOST_FOLLOWED} sessions.")
        subscription = Subscription(self._phone, session_id, self._wake, self._lost)
        self._subscriptions[session_id] = subscription
        try:
            await self._answer(request, subscription)
        except NotFound:
            if self._drop(subscription):
                self._wanted[session_id] = _Had()
                if session_id in self._changed:  # it has come into being meanwhile
                    self._wake()
                refusal = NotFound("session", session_id, f"Session not found: {session_id}")
                refusal.data.session_id = session_id
                raise refusal from None
        except Exception:
            if self._drop(subscription):
                raise
        except BaseException:
            self._drop(subscription)
            raise

    async def _answer(self, request: requests.Subscribe, subscription: Subscription) -> None:
        """Send the answer, unless the phone has left the session meanwhile."""
        phone = self._phone
        channel = await self._channels.join(subscription)
        commands = await self._commands(channel.directory)
        if subscription.over:
            return
        phone.send(commands)
        reply = await self._reply(request, channel)
        if subscription.over:
            return
        if channel.failure is not None:
            raise channel.failure
        phone.send(reply.frame)
        subscription.at, subscription.live = reply.reached, reply.complete
        self._changed.pop(subscription.session_id, None)
        if subscription.live and subscription.at < channel.last:
            subscription.lag()

    async def _reply(self, request: requests.Subscribe, channel: Channel) -> history.Reply:
        """Build the answer to a subscription."""
        phone, session_id = self._phone, channel.session_id
        service = self._service
        newest = await service.sessions_messages(session_id, None, history.WINDOW)
        messages = await messages_of(newest)
        hint = next((m.seq for m in messages if m.uuid == request.last_message_id), None)
        signature = history.signature(newest)
        session = channel.session(newest.last_seq, signature)
        plan = history.plan(request, phone.version, session, hint)
        if plan.kind == "replaced":
            return history.replaced(session)
        if plan.kind == "window":
            if any(each.gone for each in messages):  # behind them may be some that are not
                newest = await service.sessions_messages(session_id, None, PAGE)
                messages = await messages_of(newest)
                session = channel.session(newest.last_seq, signature)
            size = sum(len(each.text) for each in messages)
            return await made(
                size, lambda: history.window(session, messages, phone.budget, plan.gap)
            )
        page = await service.sessions_messages(session_id, plan.after, PAGE)
        session = channel.session(page.last_seq, signature)
        reply = history.delta(session, await messages_of(page), plan.after, phone.budget)
        if reply.complete or phone.chains:
            return reply
        newest = await service.sessions_messages(session_id, None, history.WINDOW)
        lacking = [each for each in await messages_of(newest) if each.seq > plan.after]
        session = channel.session(newest.last_seq, signature)
        return await made(
            sum(len(each.text) for each in lacking),
            lambda: history.window(session, lacking, phone.budget),
        )

    # -- what comes by itself ----------------------------------------------------------------

    async def read_on(self) -> None:
        """Follow sessions that have come into being, and bring what is behind to the end of its
        log, as the phone's socket takes it."""
        with suppress(Closed):
            while True:
                await self._behind.wait()
                self._behind = trio.Event()
                for session_id in tuple(self._changed):
                    await self._follow(session_id)
                for subscription in tuple(self._subscriptions.values()):
                    while subscription.behind and not subscription.over:
                        await self._read_page(subscription)

    async def _follow(self, session_id: str) -> None:
        """Subscribe a session that the phone waits for."""
        had = self._wanted.get(session_id)
        if had is None:  # or it is being asked for right now, and may be wanted in a moment
            if session_id not in self._subscriptions:
                del self._changed[session_id]
            return
        try:
            await self.subscribe(
                requests.Subscribe(
                    session_id=session_id,
                    from_offset=had.at,
                    last_seq=had.at,
                    file_signature_seen=had.signature,
                )
            )
        except NotFound:  # it was sent that before
            self._wanted[session_id] = had
        except Exception as error:  # noqa: BLE001 - logged; it is asked for again when it changes
            log("Session cannot be followed", "warning", session_id=session_id, exception=error)
            self._wanted[session_id] = had

    async def _read_page(self, subscription: Subscription) -> None:
        phone, session_id = self._phone, subscription.session_id
        if phone.pending > HIGH_WATER:
            await phone.room()
        channel = self._channels.get(session_id)
        if subscription.over or channel is None:
            return
        seen = channel.last
        try:
            page = await self._service.sessions_messages(session_id, subscription.at, PAGE)
            messages = await messages_of(page)
        except Exception as error:  # noqa: BLE001 - logged; it is read again when it changes
            log("Session cannot be read on", "warning", session_id=session_id, exception=error)
            self._put_off(subscription, channel.signature)
            return
        if subscription.over:
            return
        for frame, reached in (
            push_frames(channel, messages, phone.budget, text_frame) if messages else ()
        ):
            phone.send_frame(frame)
            subscription.at = reached
            if phone.pending > HIGH_WATER:
                break  # what is left is read again when there is room: it may be megabytes
            await trio.lowlevel.checkpoint()
            if subscription.over:
                return
        # The feed may have brought more while the page was read.
        grown = bool(messages) or channel.last > seen
        subscription.behind = grown and subscription.at < max(page.last_seq, channel.last)
