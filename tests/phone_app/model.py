"""A phone without a socket: frames go in, frames come out, and what the person sees is kept.

``PhoneModel`` decodes each frame with its app's rules. What the app would drop or misread becomes
a ``Fault``: a server is right when ``faults`` stays empty.
"""

from __future__ import annotations

import uuid
from collections import Counter, deque
from collections.abc import Callable

from tests.phone_app import frames, requests
from tests.phone_app.board import Board
from tests.phone_app.fields import INT, MISREAD, STR, Fault, Json, is_kind, shown
from tests.phone_app.histories import Message
from tests.phone_app.sessions import LegacySession, Session
from tests.phone_app.sync import Sync
from tests.phone_app.variants import IOS, Variant
from tests.phone_app.voice import Voice

REMEMBERED_FRAMES = 1000
Version = tuple[int, int, int]
FLOOR: Version = (0, 4, 0)
CEILING: Version = (0, 5, 0)


class PhoneModel:
    """One app's state. ``out`` holds what it has to send, oldest first.

    ``key``: the device's key. ``new_id`` makes the ids of new sessions. ``recent_limit`` is what
    the app asks for at ``connect``; ``None``: nothing. ``own_id`` is what older apps connect with.
    """

    def __init__(
        self,
        key: str,
        variant: Variant = IOS,
        *,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        recent_limit: int | None = None,
    ) -> None:
        self.key = key
        self.variant = variant
        self.new_id = new_id
        self.own_id = new_id()
        self.recent_limit = recent_limit
        self.out: deque[Json | bytes] = deque()
        self.frames: deque[Json] = deque(maxlen=REMEMBERED_FRAMES)
        self.counts: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.faults: list[Fault] = []
        self.errors: list[Json] = []
        self.acks: list[str] = []
        self.responses: list[Json] = []
        self.turns_done: Counter[str] = Counter()
        self.ready_sessions: list[str] = []
        self.board = Board()
        self.sync = Sync(variant, self.send, self.faults)
        self.voice = Voice(self.send, self.faults)
        self.listed: list[str] = []
        self.recents: list[Json] = []
        self.rows: set[str] = set()
        self.hello: Json = {}
        self.stopped = ""
        self.connected = False
        self.negotiated: Version = FLOOR
        self._greeted = False
        self._unnamed: str | None = None
        self._names: dict[str, str] = {}

    # The connection.

    def closed(self) -> None:
        """The connection is gone, and with it what belonged to it."""
        self.connected = self._greeted = False
        self.negotiated = FLOOR
        self.sync.disconnected()
        self.voice.disconnected()
        self.out.clear()

    def received(self, data: str | bytes) -> Json | None:
        """One frame of the server; returned as it is, when it is one at all."""
        frame = frames.parse(data, self.variant, self.faults)
        if frame is None:
            return None
        kind = frame["type"]
        self.counts[kind] += 1
        self.frames.append(frame)
        if not frames.known(self.variant, kind):
            self.ignored[kind] += 1
            return frame
        kept = frames.decode(self.variant, frame, self.faults)
        if kept is not None:
            handler = getattr(self, f"_on_{kind}", None)
            if handler is not None:
                handler(kept)
            self.board.take(kept, self.faults)
            if kind in frames.SPEECH:
                self.voice.take(kept)
        return frame

    def send(self, frame: Json | bytes) -> None:
        """Put a frame on its way, a piece of speech as bytes; without a connection it is lost, as
        in the apps."""
        if self.connected:
            self.out.append(frame)

    # What the person does; opening and leaving sessions is in ``sync``.

    @property
    def screen(self) -> str | None:
        """The session that is shown."""
        return self.sync.screen

    def session(self, session_id: str) -> Session | LegacySession:
        """What is known of a session, which is little at first. One that the app began without an
        id goes by the one that the app made up, too."""
        return self.sync.session(self._names.get(session_id, session_id))

    def say(self, text: str, **more: object) -> None:
        """Send a prompt to the session on the screen; ``more`` are further fields.

        Raises:
            ValueError: none is on the screen.
        """
        if self.screen is None:
            raise ValueError("no session is on the screen")
        session = self.session(self.screen)
        session.add_unsent(text)
        new = session.message_count == 0
        session_id: str | None = session.session_id
        if isinstance(session, LegacySession):
            session.locked = True
            session_id = None if session_id == self._unnamed else session_id
        directory = session.directory if new else ""
        frame = requests.prompt(self.variant, text, session_id, new=new, directory=directory)
        self.send(frame | more)

    def new(self, directory: str, text: str, **more: object) -> str:
        """Begin a session with its first prompt; returns the id that the app made up. An app with
        one prompt id sends none: a response tells it the real one, which then takes its place."""
        session_id = self.new_id()
        self.rows.add(session_id)
        self.sync.leave()
        self.sync.screen = session_id
        self.session(session_id).directory = directory
        if self.variant.single_prompt_id:
            self._unnamed = session_id
        self.say(text, **more)
        return session_id

    # What the server says.

    def _on_hello(self, frame: Json) -> None:
        if self._greeted:
            self._misread("hello", "type", "came a second time: the app connects again")
        self._greeted = True
        self.hello = frame
        if self.variant.family == "swift" and not self._speaks(frame.get("version")):
            return
        own_id = self.own_id if self.variant.legacy else None
        self.out.append(requests.connect(self.variant, self.key, self.recent_limit, own_id))

    def _speaks(self, version: object) -> bool:
        numbers = three_numbers(version)
        if numbers is not None and numbers >= FLOOR:
            return True
        reason = f"is {shown(version)}, three whole numbers from 0.4.0 up are needed"
        self.faults.append(Fault("hello", "version", reason, "upgrade required, for good"))
        self.stopped = "upgrade required"
        return False

    def _on_connected(self, frame: Json) -> None:
        self._negotiate(frame)
        self.connected = True
        if self.variant.size_kb is not None:
            self.send({"type": "set_max_message_size", "size_kb": self.variant.size_kb})
        self.sync.connected()
        self.voice.connected()

    def _on_connect_ack(self, frame: Json) -> None:
        self._negotiate(frame)

    def _negotiate(self, frame: Json) -> None:
        version = frame.get("negotiated_protocol_version")
        if version is None or self.variant.legacy:
            return
        numbers = three_numbers(version)
        announced = three_numbers(self.variant.announces)
        if numbers is None or announced is None or numbers not in (FLOOR, CEILING):
            self._misread(frame["type"], "negotiated_protocol_version", f"is {shown(version)}")
        elif numbers > announced:
            reason = f"is {shown(version)}, the app announced {self.variant.announces}"
            self._misread(frame["type"], "negotiated_protocol_version", reason)
        else:
            self.negotiated = numbers
            self.sync.by_offset = numbers == CEILING

    def _on_auth_error(self, frame: Json) -> None:
        self.stopped = "authentication failed"

    def _on_error(self, frame: Json) -> None:
        self.errors.append(frame)
        if frame.get("code") == "unsupported_protocol_version":
            self.stopped = "upgrade required"
        self.sync.refused(frame["message"])
        self._unlock(frame.get("session_id"))

    def _on_pong(self, frame: Json) -> None:
        self.sync.pong()

    def _on_ack(self, frame: Json) -> None:
        self.acks.append(frame.get("message") or "")

    def _on_session_list(self, frame: Json) -> None:
        self.listed = [row["session_id"] for row in frame["sessions"]]
        self.rows.update(self.listed)
        for row in frame["sessions"]:
            self._describe(row)

    def _on_recent_sessions(self, frame: Json) -> None:
        self.recents = frame["sessions"]
        for at, row in enumerate(frame["sessions"]):
            self._describe(row)
            if self.variant.family == "swift" and row["session_id"] not in self.rows:
                reason = "is in no list and was not created: tapped, it is 'Session Not Found'"
                self._misread("recent_sessions", f"sessions[{at}].session_id", reason)

    def _on_session_created(self, frame: Json) -> None:
        self.rows.add(frame["session_id"])
        self._describe(frame)

    def _describe(self, row: Json) -> None:
        """Note what a row of a list tells; a field of another type is as good as missing."""
        session = self.session(row["session_id"])
        if is_kind(row.get("name"), STR):
            session.name = row["name"]
        if row.get("working_directory") and is_kind(row["working_directory"], STR):
            session.directory = row["working_directory"]
        if is_kind(row.get("message_count"), INT):
            session.message_count = row["message_count"]

    def _on_session_ready(self, frame: Json) -> None:
        self.ready_sessions.append(frame["session_id"])
        self.sync.ready(frame["session_id"])

    def _on_session_history(self, frame: Json) -> None:
        self.sync.take(frame)

    def _on_session_updated(self, frame: Json) -> None:
        self.sync.take(frame)

    def _on_turn_complete(self, frame: Json) -> None:
        self.turns_done[frame["session_id"]] += 1
        self._unlock(frame["session_id"])
        if not self.variant.legacy:
            self.sync.ready(frame["session_id"])

    def _on_session_locked(self, frame: Json) -> None:
        session = self.session(frame["session_id"])
        if isinstance(session, LegacySession):
            session.locked = True

    def _unlock(self, session_id: object) -> None:
        session = self.sync.sessions.get(session_id) if isinstance(session_id, str) else None
        if isinstance(session, LegacySession):
            session.locked = False

    def _on_response(self, frame: Json) -> None:
        if not self.variant.legacy and not frame.get("ios_session_id"):
            return
        self.responses.append(frame)
        session_id = frame.get("session_id")
        if not self.variant.legacy or not frame.get("success") or not session_id:
            return
        if self._unnamed is not None and self.screen == self._unnamed:
            self._name(self._unnamed, session_id)
        self._unlock(session_id)
        session = self.session(session_id)
        if isinstance(session, LegacySession) and frame.get("text"):
            identity = frame.get("message_id")
            if not identity:
                reason = "is missing: the same answer in the history is a second row"
                self._misread("response", "message_id", reason)
            else:
                session.answer(Message(-1, identity, "assistant", frame["text"]))

    def _name(self, local: str, session_id: str) -> None:
        """The server's id takes the place of the one that the app made up for itself."""
        session = self.sync.sessions.pop(local)
        session.session_id = self._names[local] = session_id
        self.sync.sessions[session_id] = session
        self._unnamed = None
        self.sync.open(session_id)

    def _on_replay(self, frame: Json) -> None:
        self.send({"type": "message_ack", "message_id": frame["message_id"]})

    def _misread(self, kind: str, field: str, reason: str) -> None:
        self.faults.append(Fault(kind, field, reason, MISREAD))


def three_numbers(version: object) -> Version | None:
    """``"0.5.0"`` as the apps read it: exactly three whole numbers, nothing behind them."""
    parts = version.split(".") if isinstance(version, str) else []
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    major, minor, patch = (int(part) for part in parts)
    return major, minor, patch
