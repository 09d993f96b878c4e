"""All that the checker knows of one history: a record a session, and who follows what."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.histories.checker import Record, Subscriber, Wrong, check_row
from tests.histories.disk import Disk, Past

Json = dict[str, Any]

MAY_FAIL = ("UnknownSession", "Unsettled", "LogLost")
"""How an answer or a subscription may end while transcripts change."""


class Books:
    """Takes what the service says, and compares it with what is on the disk."""

    def __init__(self, disk: Disk, counts: Counter[str]) -> None:
        self._disk = disk
        self._counts = counts
        self._records: dict[str, Record] = {}
        self._subscribers: dict[str, Subscriber] = {}
        self._asked: dict[str, tuple[int | None, int]] = {}

    # -- what happened -----------------------------------------------------------------------

    def changed(self) -> None:
        """Something was done to the transcripts."""
        for session, record in self._records.items():
            if record.changed(self._past(session)):
                self._begin_again(session)

    def index_lost(self) -> None:
        """``index.db`` was lost while the service was down."""
        for session, record in self._records.items():
            if record.index_lost(self._past(session)):
                self._begin_again(session)

    def _begin_again(self, session: str) -> None:
        """Numbers were taken away: who is to resume does so from the start."""
        self._counts["renumbering allowed"] += 1
        for subscriber in self._subscribers.values():
            if subscriber.record.session == session and not subscriber.connected:
                subscriber.at = 0

    def cut_off(self) -> None:
        """The service is down: nobody is connected any more."""
        for subscriber in self._subscribers.values():
            subscriber.connected = False

    # -- subscribers -------------------------------------------------------------------------

    def new_subscriber(self, session: str) -> str:
        """Note one more; returns its name."""
        name = f"subscriber {len(self._subscribers) + 1}"
        self._subscribers[name] = Subscriber(name, self.record(session))
        return name

    def asked(self, name: str, after: int | None, limit: int) -> str:
        """A subscriber is about to connect; returns the session it follows."""
        self._asked[name] = (after, limit)
        return self._subscribers[name].record.session

    def heard(self, name: str, words: Json) -> None:
        """A subscriber was answered or told something, or its subscription failed."""
        subscriber = self._subscribers[name]
        if "note" in words:
            self._counts["notifications"] += 1
            subscriber.noted(words["note"])
        elif "error" in words:
            self.may_fail(subscriber.record.session, words["error"])
            subscriber.connected = False
        else:
            self._counts["resumed"] += subscriber.at is not None
            subscriber.answered(words["result"], *self._asked[name])

    def disconnected(self, name: str) -> None:
        self._subscribers[name].connected = False

    def connected(self) -> list[str]:
        return [name for name, one in self._subscribers.items() if one.connected]

    def waiting(self) -> list[tuple[str, int | None]]:
        """Subscribers that are not connected, and their last numbers."""
        return [(name, one.at) for name, one in self._subscribers.items() if not one.connected]

    def behind(self) -> list[str]:
        """Connected subscribers that do not have the last message of the last check yet."""
        return [
            name
            for name, one in self._subscribers.items()
            if one.connected and (one.at or 0) < one.record.last
        ]

    # -- answers -----------------------------------------------------------------------------

    def record(self, session: str) -> Record:
        return self._records.setdefault(session, Record(session, self._disk.maker))

    def may_fail(self, session: str, error: str) -> None:
        """An answer that is an error, while transcripts may change."""
        if error not in MAY_FAIL:
            raise Wrong(f"{session}: the answer is {error}")
        if error == "UnknownSession" and self.record(session).established:
            raise Wrong(f"{session} is not known any more")
        self._counts[f"answered {error}"] += 1

    def page(self, session: str, answer: Json, after: int | None, limit: int) -> None:
        """An answer to a question for messages came, at any time."""
        if "error" in answer:
            self.may_fail(session, answer["error"])
        else:
            self.record(session).page(answer["result"], after, limit)

    # -- a check -----------------------------------------------------------------------------

    def settled(self, session: str, rows: Json, log: list[Json], generation: int) -> None:
        """The service is at rest: this is what it lists, and the session's whole log."""
        there = self._disk.followed(session) is not None
        lines = self._disk.lines(session)
        check_row(session, rows.get(session), lines if there else None)
        record = self.record(session)
        rewritten = record.settled(log, generation, lines, self._past(session))
        self._disk.checked(session)
        self._counts["rewrites found"] += rewritten
        self._counts["logs checked"] += 1
        self._counts["messages checked"] += len(log)
        self._counts["gone messages checked"] += sum("gone" in message for message in log)
        self._counts["forks checked"] += sum("forks_from" in message for message in log)

    def never_known(self, session: str) -> bool:
        """Nothing says that the service ever saw this session: its file was there unseen."""
        gone = self._disk.followed(session) is None
        return gone and not self.record(session).established

    def all_have_all(self) -> None:
        """Every subscriber has every message, up to the last one checked."""
        for subscriber in self._subscribers.values():
            if subscriber.connected:
                subscriber.check()

    def _past(self, session: str) -> Past:
        return self._disk.past.get(session) or Past()
