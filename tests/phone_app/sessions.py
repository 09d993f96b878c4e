"""One session as an app keeps it: the newest rows, the cursor, what is still being sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.phone_app.fields import MISREAD, Fault
from tests.phone_app.histories import History, Message

KEPT_ROWS = 50
PRUNED_ABOVE = 60


@dataclass
class Taken:
    """What one history did: the rows that are new here, and whether the app asks again."""

    inserted: list[Message] = field(default_factory=list)
    again: bool = False


@dataclass
class Session:
    """The app's cache of one session. ``told`` hears of every message that is new to this phone,
    in the order of their arrival, and is all that remembers more than the cache."""

    session_id: str
    name: str = ""
    directory: str = ""
    message_count: int = 0
    rows: dict[int, Message] = field(default_factory=dict)
    sending: list[str] = field(default_factory=list)
    next_number: int = 0
    signature: str | None = None
    blocked: bool = False
    stalled: bool = False
    boundary: int | None = None
    told: Callable[[Message], None] | None = None
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """The texts of the rows that are kept, oldest first."""
        return [self.rows[number].text for number in sorted(self.rows)]

    def last_seq(self) -> int:
        """The cursor of protocol 0.4."""
        return max([0, self.next_number - 1, *self.rows])

    def add_unsent(self, text: str) -> None:
        """Show a prompt before the server has it."""
        self.sending.append(text)

    def purge(self) -> None:
        """Forget everything: the log was replaced."""
        self.rows.clear()
        self._numbers.clear()
        self.next_number = 0
        self.message_count = 0
        self.boundary = None

    def take_by_seq(self, history: History, faults: list[Fault]) -> Taken:
        """Merge as protocol 0.4 does."""
        if history.gap is not None and history.gap["reason"] == "pruned":
            self.blocked = True
            reason = "is 'pruned': nothing is merged until the person taps a banner"
            faults.append(Fault("session_history", "gap.reason", reason, MISREAD))
        if self.blocked:
            return Taken()
        cursor, top = self.last_seq(), max(self.rows, default=0)
        gap = history.first is not None and history.first > top + 1
        self._check_numbers(history, cursor + 1, 1, faults)
        taken = Taken(self._insert(history.messages, faults))
        if history.complete:
            self.next_number = history.next
        if self.boundary is None:
            self.boundary = history.next
        self._chain(history, moved=self.last_seq() > cursor, taken=taken, faults=faults)
        taken.again = taken.again or (gap and not self.stalled)
        self._prune()
        return taken

    def take_by_offset(self, history: History, faults: list[Fault]) -> Taken:
        """Merge as protocol 0.5 does."""
        if history.signature is not None:
            self.signature = history.signature
        if history.replaced:
            self.purge()
            return Taken(again=True)
        cursor = self.next_number
        # An answer may leave out what is older than the newest that a phone keeps.
        answer = self.boundary is None and history.complete
        first = min((message.number for message in history.messages), default=cursor)
        self._check_numbers(history, max(cursor, first) if answer else cursor, 0, faults)
        if history.next < cursor:
            self._step_back(history.next, faults)
        taken = Taken(self._insert(history.messages, faults))
        self.next_number = history.next
        if self.boundary is None and history.next > 0:
            self.boundary = history.next
        self._chain(history, moved=history.next > cursor, taken=taken, faults=faults)
        if taken.again:
            reason = "there is more of what is old: the app asks for it and reads it aloud"
            faults.append(Fault("session_history", "end_of_file", reason, MISREAD))
        self._prune()
        return taken

    def _check_numbers(
        self, history: History, wanted: int, first: int, faults: list[Fault]
    ) -> None:
        """Complain of numbers that leave a hole: no app ever asks for what is behind its cursor.
        A session that was never read (``wanted`` is ``first``) may begin anywhere, and lack what
        is gone."""
        numbers = [message.number for message in history.messages]
        fresh = not self.rows and self.boundary is None and history.complete
        expected = wanted if wanted > first else min(numbers, default=wanted)
        for number in numbers:
            if number > expected and not fresh:
                reason = f"goes on at {number} where {expected} was to come"
                faults.append(Fault("session_history", "messages", reason, "hole"))
            expected = max(expected, number + 1)
        if history.complete and history.next > expected:
            reason = f"the next number is {history.next} where {expected} was to come"
            faults.append(Fault("session_history", "messages", reason, "hole"))
        if history.first is not None and numbers and history.first != numbers[0]:
            reason = f"is {history.first}, the first message has {numbers[0]}"
            faults.append(Fault("session_history", "first_seq", reason, MISREAD))

    def _step_back(self, number: int, faults: list[Fault]) -> None:
        gone = [at for at in self.rows if at >= number]
        for at in gone:
            self._numbers.pop(self.rows.pop(at).uuid, None)
        reason = f"is {number}, below the cursor {self.next_number}: {len(gone)} rows are deleted"
        faults.append(Fault("session_history", "next_offset", reason, MISREAD))

    def _insert(self, messages: list[Message], faults: list[Fault]) -> list[Message]:
        inserted = []
        for message in messages:
            before = self._numbers.get(message.uuid)
            if before is not None and before != message.number:
                reason = f"{message.uuid} came as {before} and comes as {message.number}"
                faults.append(Fault("session_history", "messages", reason, "doubled"))
            shown = self.rows.get(message.number)
            if shown is not None and (shown.uuid, shown.text) != (message.uuid, message.text):
                reason = f"number {message.number} is another message than before"
                faults.append(Fault("session_history", "messages", reason, "overwritten"))
            self.rows[message.number] = message
            self._numbers[message.uuid] = message.number
            if before is None:
                inserted.append(message)
                self._settle(message)
        self.message_count += len(inserted)
        return inserted

    def _settle(self, message: Message) -> None:
        """A prompt has arrived when its text comes back, letter by letter."""
        if message.role == "user" and message.text in self.sending:
            self.sending.remove(message.text)
        if self.told is not None:
            self.told(message)

    def _chain(self, history: History, *, moved: bool, taken: Taken, faults: list[Fault]) -> None:
        self.stalled = not history.complete and not moved
        if self.stalled:
            reason = "there is more, but the cursor does not move: the app gives up"
            faults.append(Fault("session_history", "is_complete", reason, "stalled"))
        taken.again = not history.complete and moved

    def _prune(self) -> None:
        if len(self.rows) > PRUNED_ABOVE:
            for number in sorted(self.rows)[:-KEPT_ROWS]:
                del self.rows[number]


@dataclass
class LegacySession:
    """One session in an app that knows messages by their id alone. ``asked_after``: the message
    behind which it was last asked for, if any."""

    session_id: str
    name: str = ""
    directory: str = ""
    message_count: int = 0
    messages: dict[str, Message] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    locked: bool = False
    asked_after: str | None = None
    told: Callable[[Message], None] | None = None

    @property
    def texts(self) -> list[str]:
        """All texts, in the order of their arrival."""
        return [message.text for message in self.messages.values()]

    def last_id(self) -> str | None:
        """The newest message it holds."""
        return next(reversed(self.messages), None)

    def add_unsent(self, text: str) -> None:
        """Show a prompt; nothing ever takes this row away again."""
        self.sent.append(text)

    def take(
        self, history: History, *, pushed: bool, faults: list[Fault], replaces: bool = False
    ) -> list[Message]:
        """Merge by id, or put these messages in the place of all others; returns the messages that
        are new here."""
        inserted = []
        if replaces:
            lost = self.messages.keys() - {message.uuid for message in history.messages}
            if pushed and (lost or self.sent):
                reason = f"takes the place of {len(lost) + len(self.sent)} messages"
                faults.append(Fault("session_history", "messages", reason, "wiped"))
            for each in lost:
                del self.messages[each]
            self.sent.clear()
        for message in history.messages:
            if pushed and message.role == "user" and message.text in self.sent:
                reason = "a pushed prompt of one's own stands beside the row shown at sending"
                faults.append(Fault("session_history", "messages", reason, "doubled"))
            if message.uuid not in self.messages:
                inserted.append(message)
                if self.told is not None:
                    self.told(message)
            self.messages[message.uuid] = message
        self.message_count += len(inserted)
        return inserted

    def answer(self, message: Message) -> None:
        """The reply to a prompt, known by the same id as in the history."""
        if message.uuid not in self.messages:
            self.messages[message.uuid] = message
            self.message_count += 1
            if self.told is not None:
                self.told(message)
