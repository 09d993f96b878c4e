"""Live sessions: one reading feed a session, however many phones look at it.

A subscription has a cursor, ``at``: the last ``seq`` that its phone was sent. New messages of the
feed go at once, in a frame that all share, to each phone whose cursor stands just before them and
whose socket takes them. A phone that is behind (a slow socket, the end of a long answer) reads on
from its own cursor, at its own pace; nothing queues for it and the others notice nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import trio

from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.feed.history import Message
from podiumd.gateway.phone.feed.text import messages_of
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.observe.logs import log
from podiumd.runtime.errors import NotFound, Overloaded, PodiumError
from podiumd.runtime.service import Service

HIGH_WATER = 256 * 1024
"""Bytes that a socket may have pending before live frames wait for it."""

AGAIN_SECONDS = 1.0
"""Until a feed that broke is opened again."""

Frame = tuple[bytes, int]
"""A ready-made frame, and up to which ``seq`` it goes."""


class Subscription:
    """A phone's view of one session. ``live``: its last answer was complete.

    Nothing is pushed to a phone that is ``legacy``: of such apps one puts what comes in the place
    of all that it shows, the other shows a person's own words twice when they come back.

    ``fell_behind`` is called when it leaves the live frames, ``lost`` when it is live and there is
    no feed of its log any more, with the log's signature.
    """

    def __init__(
        self,
        phone: PhoneLink,
        session_id: str,
        fell_behind: Callable[[], None],
        lost: Callable[[Subscription, str], None],
    ) -> None:
        self.phone = phone
        self.session_id = session_id
        self.at = 0
        self.live = False
        self.behind = False
        self.over = False
        self.lost = lost
        self._fell_behind = fell_behind

    def lag(self) -> None:
        """Leave the live frames; the phone reads on from ``at``."""
        if not self.phone.legacy:
            self.behind = True
            self._fell_behind()


class Channel:
    """The feed of one session. ``last`` is the ``seq`` that the log has come to, ``signature`` the
    log's."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.agent = ""
        self.directory: str | None = None
        self.last = 0
        self.signature = history.EMPTY
        self.subscriptions: set[Subscription] = set()
        self.scope = trio.CancelScope()
        self.ready = trio.Event()
        self.failure: PodiumError | None = None

    def session(self, last_seq: int, signature: str) -> history.Session:
        """Return the session, where its log ends with ``last_seq``."""
        return history.Session(
            session_id=self.session_id,
            provider=self.agent,
            last_seq=last_seq,
            signature=signature,
        )

    def deliver(self, messages: list[Message], frame: Callable[[bytes], bytes]) -> None:
        """Send new messages of the feed to each subscription that stands just before them."""
        first, last = messages[0].seq, messages[-1].seq
        self.last = max(self.last, last)
        made: dict[int, _Made] = {}
        for each in self.subscriptions:
            if each.behind or not each.live or each.phone.legacy or each.at >= last:
                continue
            if each.at != first - 1:
                each.lag()
                continue
            budget = each.phone.budget
            if budget not in made:
                made[budget] = _Made(push_frames(self, messages, budget, frame))
            sent = 0
            for data, reached in made[budget]:
                if max(each.phone.pending, sent) > HIGH_WATER:
                    each.lag()  # a long answer may come to megabytes: the rest at its own pace
                    break
                each.phone.send_frame(data)
                each.at, sent = reached, sent + len(data)


class _Made:
    """Frames that many share, each made when the first of them needs it."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        self._rest = iter(frames)
        self._made: list[Frame] = []

    def __iter__(self) -> Iterator[Frame]:
        yield from self._made
        for frame in self._rest:
            self._made.append(frame)
            yield frame


def push_frames(
    channel: Channel,
    messages: list[Message],
    budget: int,
    frame: Callable[[bytes], bytes],
) -> Iterator[Frame]:
    """Frames of messages that follow one another without a hole, made one by one."""
    session = channel.session(max(channel.last, messages[-1].seq), channel.signature)
    for reply in history.pushes(session, messages, budget):
        yield frame(reply.frame), reply.reached


class Channels:
    """Every session that some phone looks at."""

    def __init__(
        self, service: Service, nursery: trio.Nursery, frame: Callable[[bytes], bytes]
    ) -> None:
        self._service = service
        self._nursery = nursery
        self._frame = frame
        self._open: dict[str, Channel] = {}

    async def join(self, subscription: Subscription) -> Channel:
        """Join a subscription to its session's feed; it gets live frames once it is ``live``.

        One that was left meanwhile (it is ``over``) gets nothing. Raises ``NotFound`` and other
        refusals of the service.
        """
        session_id = subscription.session_id
        channel = self._open.get(session_id)
        if channel is None:
            channel = self._open[session_id] = Channel(session_id)
            self._nursery.start_soon(self._run, channel)
        channel.subscriptions.add(subscription)
        try:
            await channel.ready.wait()
            if channel.failure is not None:
                raise channel.failure
        except BaseException:
            self.leave(subscription)
            raise
        return channel

    def leave(self, subscription: Subscription) -> None:
        """Stop all frames to this subscription."""
        subscription.over = True
        channel = self._open.get(subscription.session_id)
        if channel is not None:
            channel.subscriptions.discard(subscription)
            if not channel.subscriptions:
                del self._open[subscription.session_id]
                channel.scope.cancel()

    def get(self, session_id: str) -> Channel | None:
        """Return the feed of a session, if some phone looks at it."""
        return self._open.get(session_id)

    async def _run(self, channel: Channel) -> None:
        with channel.scope:
            while True:
                try:
                    await self._follow(channel)
                    # It was forgotten or rewritten, or the daemon stops.
                    return self._end(channel, NotFound("session", channel.session_id))
                except NotFound as refusal:
                    return self._end(channel, refusal)
                except PodiumError as refusal:
                    if not channel.ready.is_set():
                        return self._end(channel, refusal)
                    log("Session feed broke", "warning", session_id=channel.session_id)
                except Exception as error:  # noqa: BLE001 - one session's fault is not the gateway's
                    log("Session feed broke", "error", exception=error)
                    if not channel.ready.is_set():
                        words = "The session cannot be read just now; try again."
                        return self._end(channel, Overloaded(words))
                await trio.sleep(AGAIN_SECONDS)

    def _end(self, channel: Channel, refusal: PodiumError) -> None:
        """End a session's feed: those that wait to join get ``refusal``, and those that are live
        are given back to their phones."""
        channel.failure = refusal
        channel.ready.set()
        if self._open.get(channel.session_id) is channel:
            del self._open[channel.session_id]
        for each in tuple(channel.subscriptions):
            if each.live:
                each.lost(each, channel.signature)

    async def _follow(self, channel: Channel) -> None:
        if not channel.agent:
            row = await self._service.sessions_get(channel.session_id)
            channel.agent, channel.directory = row.agent, row.working_directory
        async with self._service.follow_session(channel.session_id, None, 1) as feed:
            signature = history.signature(feed.answer)
            if channel.signature not in (history.EMPTY, signature):
                return  # while there was no feed it was rewritten, or forgotten, and came again
            channel.signature = signature
            channel.last = max(channel.last, feed.start)
            channel.ready.set()
            for each in tuple(channel.subscriptions):
                if each.live and each.at < channel.last:
                    each.lag()  # what came while the feed was broken
            async for news in feed:
                messages = await messages_of(news)
                signature = history.signature(news)
                if channel.signature not in (history.EMPTY, signature):
                    return  # messages were taken out of it: a live phone begins anew
                channel.signature = signature
                if messages:
                    channel.deliver(messages, self._frame)
