"""Subscriptions, histories and the barrier: how an app keeps its sessions true to the server."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from tests.phone_app import histories, requests
from tests.phone_app.fields import FRAME_DROPPED, MISREAD, Fault, Json, Unusable
from tests.phone_app.histories import History, Message
from tests.phone_app.sessions import LegacySession, Session
from tests.phone_app.speech import speakable
from tests.phone_app.variants import Variant


class Spoken(NamedTuple):
    """What is read aloud; ``heard`` is false where the next one cut it off at once."""

    session_id: str
    text: str
    heard: bool


class Sync:
    """The sessions of one app. ``wanted`` are those it is subscribed to, now or as soon as there
    is a connection again; ``by_offset`` says that protocol 0.5 was agreed on.

    ``told``, when set, hears of each message that is new to this phone: (session id, message).
    """

    def __init__(self, variant: Variant, send: Callable[[Json], None], faults: list[Fault]) -> None:
        self.variant = variant
        self.by_offset = False
        self.online = False
        self.sessions: dict[str, Session | LegacySession] = {}
        self.screen: str | None = None
        self.wanted: list[str] = []
        self.spoken: list[Spoken] = []
        self.told: Callable[[str, Message], None] | None = None
        self._send = send
        self._faults = faults
        self._pings: deque[list[str]] = deque()
        self._left: list[str] = []
        self._replies_due: Counter[str] = Counter()
        self._fresh: set[str] = set()
        self._reloading: set[str] = set()

    @property
    def pongs_due(self) -> int:
        """How many pings wait for their pong."""
        return len(self._pings)

    def session(self, session_id: str) -> Session | LegacySession:
        """What is known of a session, which is little at first."""
        if session_id not in self.sessions:
            made = LegacySession if self.variant.legacy else Session
            session = self.sessions[session_id] = made(session_id)
            session.told = lambda message: self._tell(session, message)
        return self.sessions[session_id]

    def settled(self, session_id: str) -> bool:
        """Whether every subscription of the session was answered, and completely."""
        return not self._replies_due[session_id] and session_id not in self._fresh

    def disconnected(self) -> None:
        """What belonged to the connection is gone with it."""
        self.by_offset = self.online = False
        self._pings.clear()
        self._left.clear()
        self._replies_due.clear()
        self._fresh.clear()
        if self.screen in self._reloading:
            self.wanted.append(self.screen)  # its pong will not come
        self._reloading.clear()

    def connected(self) -> None:
        """Subscribe again to every session that is still wanted."""
        self.online = True
        for session_id in self.wanted:
            self.subscribe(session_id)

    # What the person does.

    def open(self, session_id: str) -> None:
        """Show a session: the one before is unsubscribed from, this one subscribed to."""
        if self.screen != session_id:
            self.leave()
        self.screen = session_id
        self.subscribe(session_id)

    def leave(self) -> None:
        """Go back to the list."""
        if self.screen is not None and self.screen in self.wanted:
            self._unsubscribe(self.screen, "unsubscribe")
        self.screen = None

    def delete(self, session_id: str) -> None:
        """Delete a session on this phone: the server is to be silent about it."""
        if self.screen == session_id:
            self.screen = None
        self._unsubscribe(session_id, "session_deleted")
        self.sessions.pop(session_id, None)

    def reload(self) -> None:
        """The barrier of the apps: unsubscribe, ping, and subscribe again at its pong."""
        if self.screen is not None and self.online:
            self._unsubscribe(self.screen, "unsubscribe")
            self._reloading.add(self.screen)
            self.ping()

    def ping(self) -> None:
        """One ping: its pong proves that everything before it was handled."""
        if not self.online:
            return
        self._pings.append(self._left)
        self._left = []
        self._send({"type": "ping"})

    def unblock(self, session_id: str) -> None:
        """Tap the banner of a session whose history was pruned: merge again, from its cursor."""
        session = self.session(session_id)
        if isinstance(session, Session):
            session.blocked = False
            self._ask(session)

    def subscribe(self, session_id: str) -> None:
        """Begin to follow a session; what is read aloud begins behind the first reply."""
        session = self.session(session_id)
        if isinstance(session, Session):
            session.boundary = None
            if not session.rows:
                self._fresh.add(session_id)
        if session_id not in self.wanted:
            self.wanted.append(session_id)
        self._left = [one for one in self._left if one != session_id]
        self._reloading.discard(session_id)
        self._ask(session)

    def _ask(self, session: Session | LegacySession) -> None:
        if not self.online:
            return  # ``connected`` asks
        frame = requests.of_session("subscribe", session.session_id)
        if isinstance(session, LegacySession):
            session.asked_after = session.last_id()
            if session.asked_after is not None or self.variant.family == "kotlin":
                frame["last_message_id"] = session.asked_after
        elif self.by_offset:
            frame["from_offset"] = session.next_number
            if session.signature is not None:
                frame["file_signature_seen"] = session.signature
        else:
            frame["last_seq"] = session.last_seq()
        self._replies_due[session.session_id] += 1
        self._send(frame)

    def _unsubscribe(self, session_id: str, kind: str) -> None:
        if session_id in self.wanted:
            self.wanted.remove(session_id)
        self._replies_due.pop(session_id, None)
        self._fresh.discard(session_id)
        if not self.online:
            return
        self._left.append(session_id)
        self._send(requests.of_session(kind, session_id))

    # What the server says.

    def pong(self) -> None:
        """Everything before the oldest ping was handled."""
        if not self._pings:
            reason = "answers no ping: a later barrier would be taken down too early"
            self._faults.append(Fault("pong", "type", reason, MISREAD))
            return
        for session_id in self._pings.popleft():
            if session_id in self._reloading and session_id == self.screen:
                self.subscribe(session_id)
            self._reloading.discard(session_id)

    def ready(self, session_id: str) -> None:
        """A session can be subscribed to: the app does when it shows it."""
        if session_id == self.screen and session_id not in {*self.wanted, *self._reloading}:
            self.subscribe(session_id)

    def refused(self, words: str) -> None:
        """An error whose words name a session: the reply to a subscription will not come."""
        for session_id in [one for one in self._replies_due if one in words]:
            del self._replies_due[session_id]
            self._fresh.discard(session_id)

    def take(self, frame: Json) -> None:
        """A ``session_history``, or for an untyped app a ``session_updated``."""
        reader = {
            "swift": histories.by_offset if self.by_offset else histories.by_seq,
            "kotlin": histories.by_kotlin,
            "react": histories.by_react,
        }[self.variant.family]
        try:
            history = reader(frame, self._faults)
        except Unusable as bad:
            self._faults.append(Fault(frame["type"], bad.field, bad.reason, FRAME_DROPPED))
            return
        session_id = history.session_id
        leaving = [*self._left, *(one for left in self._pings for one in left)]
        if session_id not in self.wanted:
            if session_id not in leaving:
                reason = f"is {session_id}, which this phone has not subscribed to"
                self._faults.append(Fault(frame["type"], "session_id", reason, MISREAD))
            return
        self._merge(self.session(session_id), history)

    def _merge(self, session: Session | LegacySession, history: History) -> None:
        session_id = session.session_id
        pushed = not self._replies_due[session_id]
        if not pushed:
            self._replies_due[session_id] -= 1
        if isinstance(session, LegacySession):
            all_of_it = self.variant.family == "react" and session.asked_after is None
            session.asked_after = None
            session.take(history, pushed=pushed, replaces=all_of_it, faults=self._faults)
            return
        boundary = session.boundary
        merge = session.take_by_offset if self.by_offset else session.take_by_seq
        taken = merge(history, self._faults)
        if boundary is not None and session_id == self.screen:
            self._speak(session_id, [one for one in taken.inserted if one.number >= boundary])
        if taken.again:
            self._ask(session)
        elif history.complete:
            self._fresh.discard(session_id)

    def _speak(self, session_id: str, messages: list[Message]) -> None:
        texts = [one.text for one in messages if one.role == "assistant"]
        for at, text in enumerate(texts, 1):
            self.spoken.append(Spoken(session_id, speakable(text), heard=at == len(texts)))
        if texts and session_id in self._fresh:
            reason = "old messages in a later window of a first subscription are read aloud"
            self._faults.append(Fault("session_history", "messages", reason, MISREAD))

    def _tell(self, session: Session | LegacySession, message: Message) -> None:
        if self.told is not None:
            self.told(session.session_id, message)
