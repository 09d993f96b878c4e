"""The sessions that one phone follows: each answered with what the phone lacks, then kept up."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from podiumd.gateway.phone import history, requests, text
from podiumd.gateway.phone.channels import HIGH_WATER, Channel, Subscription, push_frames
from podiumd.gateway.websocket import Closed, text_frame
from podiumd.logs import log
from podiumd.runtime.errors import NotFound, Overloaded, PodiumError

if TYPE_CHECKING:
    from podiumd.gateway.phone.connection import Phone

PAGE: Final = 256
"""Messages that are read at a time."""

MOST_FOLLOWED: Final = 500
"""Sessions that one phone may follow, those that do not exist yet included."""


class Following:
    """What one phone follows."""

    def __init__(self, phone: Phone) -> None:
        self._phone = phone
        self._subscriptions: dict[str, Subscription] = {}
        self._wanted: set[str] = set()  # asked for before they existed
        self._spoken_in: set[str] = set()
        self._behind = trio.Event()

    def includes(self, session_id: str) -> bool:
        """Whether the phone looks at a session."""
        return session_id in self._subscriptions or session_id in self._wanted

    def hears_turns(self, session_id: str) -> bool:
        """Whether the phone is told of the ends of a session's turns: it looks at it, or has
        spoken in it and waits for the end."""
        return self.includes(session_id) or session_id in self._spoken_in

    def speaks_in(self, session_id: str) -> None:
        """The phone prompts in a session, be it on the screen or not."""
        if len(self._spoken_in) < MOST_FOLLOWED:
            self._spoken_in.add(session_id)

    def end(self) -> None:
        """The phone has gone."""
        for session_id in tuple(self._subscriptions):
            self.leave(session_id)

    def leave(self, session_id: str) -> None:
        """Tell the phone nothing more of a session."""
        self._wanted.discard(session_id)
        subscription = self._subscriptions.pop(session_id, None)
        if subscription is not None:
            self._phone.hub.channels.leave(subscription)

    async def subscribe(self, request: requests.Subscribe) -> None:
        """Answer with what the phone lacks of a session, and tell it of what follows.

        Raises ``NotFound``, ``Overloaded``.
        """
        phone, session_id = self._phone, request.session_id
        self.leave(session_id)
        if len(self._subscriptions) + len(self._wanted) >= MOST_FOLLOWED:
            raise Overloaded(f"One phone follows at most {MOST_FOLLOWED} sessions.")
        subscription = Subscription(phone, session_id, 0, self._behind_hand)
        try:
            channel = await phone.hub.channels.join(subscription)
        except NotFound:
            self._wanted.add(session_id)
            refusal = NotFound("session", session_id, f"Session not found: {session_id}")
            refusal.data["session_id"] = session_id
            raise refusal from None
        self._subscriptions[session_id] = subscription
        await phone.send_commands(channel.directory)
        reply = await self._reply(request, channel)
        phone.send(reply.frame)
        subscription.at, subscription.live = reply.reached, reply.complete
        if subscription.live and subscription.at < channel.last:
            subscription.lag()

    async def _reply(self, request: requests.Subscribe, channel: Channel) -> history.Reply:
        """What a subscription is answered with."""
        phone, session_id = self._phone, channel.session_id
        service = phone.hub.service
        newest = await service.sessions_messages(session_id, None, history.WINDOW)
        messages = [text.of_json(each) for each in newest["messages"]]
        hint = next((m.seq for m in messages if m.uuid == request.last_message_id), None)
        session = channel.session(newest["last_seq"])
        plan = history.plan(request, phone.version, session, hint)
        match plan.kind:
            case "replaced":
                return history.replaced(session)
            case "window":
                return history.window(session, messages, phone.budget, plan.gap)
            case "delta":
                page = await service.sessions_messages(session_id, plan.after, PAGE)
                return history.delta(
                    channel.session(page["last_seq"]),
                    [text.of_json(each) for each in page["messages"]],
                    plan.after,
                    phone.budget,
                )

    async def changed(self, session_id: str) -> None:
        """A session is new, or has grown; it may be one that the phone waits for."""
        if session_id in self._wanted:
            request = requests.Subscribe(session_id=session_id)
            await self._phone.guarded(self.subscribe(request))

    # -- those that are behind ---------------------------------------------------------------

    def _behind_hand(self) -> None:
        self._behind.set()

    async def read_on(self) -> None:
        """Bring what is behind to the end of its log, as the phone's socket takes it."""
        with suppress(Closed):
            while True:
                await self._behind.wait()
                self._behind = trio.Event()
                for subscription in tuple(self._subscriptions.values()):
                    while subscription.behind and not subscription.over:
                        await self._read_page(subscription)

    async def _read_page(self, subscription: Subscription) -> None:
        phone, session_id = self._phone, subscription.session_id
        if phone.pending > HIGH_WATER:
            await phone.room()
        try:
            page = await phone.hub.service.sessions_messages(session_id, subscription.at, PAGE)
        except PodiumError as refusal:
            log("Session cannot be read on", "warning", session_id=session_id, why=refusal.message)
            self.leave(session_id)
            self._wanted.add(session_id)  # it is sent again when it changes
            return
        channel = phone.hub.channels.get(session_id)
        if subscription.over or channel is None:
            return
        if page["messages"]:
            messages = [text.of_json(each) for each in page["messages"]]
            frames = push_frames(channel, messages, phone.budget, phone.legacy, text_frame)
            for frame, reached in frames:
                phone.send_frame(frame)
                subscription.at = reached
                if phone.pending > HIGH_WATER:
                    break  # what is left is read again when there is room: it may be megabytes
        # The feed may have brought more while the page was read.
        subscription.behind = subscription.at < max(page["last_seq"], channel.last)
