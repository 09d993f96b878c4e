"""What must hold of the numbered messages of a session, whatever was done to its transcript.

The model is told what stood in the transcript and what the service said, and raises ``Wrong`` at
the first thing that does not fit:

* nothing lost: at a check every message in the file is in the log, and every subscriber has it;
* nothing doubled: one number an identity, and each number once a connection, after its cursor;
* order kept: of two new messages the one that always stood first has the smaller number;
* stable: a number and its identity never part;
* no holes: the numbers are 1, 2, 3 and so on;
* verbatim: words, uuid and role are those of the line; what is no longer there is ``gone``.

One thing alone may take numbers away: ``index.db`` is lost while a rewrite was not looked at, or a
transcript is rewritten after that loss and before anybody has asked for its messages. Then those
numbers hold that were stored with the last rewrite before (the ledger).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.histories.disk import Past
from tests.histories.lines import Line, Maker, identity_of

Json = dict[str, Any]


class Wrong(Exception):
    """The service broke a promise, which the text tells."""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


class Record:
    """What is known of one session's log: kept over all lives of the service."""

    def __init__(self, session: str, maker: Maker) -> None:
        self.session = session
        self.established = False
        """The session was listed at a check, so it is never unknown again."""
        self.last = 0
        """The last number at the last check."""
        self._maker = maker
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._at_check: dict[str, int] = {}
        self._in_ledger: dict[str, int] = {}
        self._generation: int | None = None
        self._fragile = False
        self._ever_checked: set[str] = set()

    # -- what is told at any time ------------------------------------------------------------

    def told(self, messages: Sequence[Json], after: int | None = None) -> None:
        """Messages came, in one answer or notification; the first follows ``after``, if given."""
        numbers = [message["seq"] for message in messages]
        for before, seq in pairwise([*([] if after is None else [after]), *numbers]):
            _require(seq > before, f"{self.session}: {seq} came again after {before}")
            _require(seq == before + 1, f"{self.session}: {before + 1} is left out before {seq}")
        for message in messages:
            self._bind(message)
            self._verbatim(message)

    def _bind(self, message: Json) -> None:
        seq, identity = message["seq"], _identity(message)
        had = self._numbers.setdefault(identity, seq)
        _require(had == seq, f"{self.session}: message {identity} was {had} and is now {seq}")
        name = self._names.setdefault(seq, identity)
        _require(name == identity, f"{self.session}: number {seq} was {name} and is now {identity}")

    def _verbatim(self, message: Json) -> None:
        what = f"{self.session}: message {message['seq']}"
        versions = self._maker.versions(_identity(message))
        _require(bool(versions), f"{what} is of a line that never was: {message}")
        if message.get("gone"):
            _require(
                (message["text"], message["timestamp"], message["blocks"]) == ("", "", []),
                f"{what} is gone and has words: {message}",
            )
        else:
            said = [(_uuid(line), line.text) for line in versions]
            _require(
                (message["uuid"], message["text"]) in said,
                f"{what} is {message['text'][-80:]!r} by {message['uuid']}, and never was",
            )
        _require(
            message["role"] in {line.role for line in versions},
            f"{what} is of role {message['role']}, and never was",
        )
        source = self._names.get(message.get("forks_from") or 0)
        _require(
            source is None or source in {line.parent for line in versions},
            f"{what} forks from {message.get('forks_from')}, which its line does not follow",
        )

    def page(self, page: Json, after: int | None, limit: int) -> None:
        """A page was answered: ``after`` a number, or (None) the newest ``limit`` messages."""
        what = f"{self.session}: the page after {after}, of {limit},"
        messages, last = page["messages"], page["last_seq"]
        start = max(0, last - limit) if after is None else min(after, last)
        _require(page["first_seq"] == min(1, last), f"{what} begins at {page['first_seq']}")
        _require(len(messages) <= limit, f"{what} has {len(messages)} messages")
        end = messages[-1]["seq"] if messages else start
        _require(page["next_seq"] == end, f"{what} goes on at {page['next_seq']}, not {end}")
        _require(page["complete"] == (end >= last), f"{what} says complete: {page['complete']}")
        _require(bool(messages) or start >= last, f"{what} is empty, and {last} is the last")
        if after is None and messages:  # as many of the newest as fit
            _require(end == last, f"{what} ends at {end}, not at {last}")
            start = messages[0]["seq"] - 1
        self.told(messages, start)

    # -- what is known of the files ----------------------------------------------------------

    def index_lost(self, past: Past) -> bool:
        """``index.db`` was lost while the service was down. True when that took numbers away."""
        self._generation = None
        self._fragile = True
        return self.changed(past)

    def changed(self, past: Past) -> bool:
        """The transcript changed. True when that took numbers away."""
        if self._fragile and past.rewritten:
            self._release()
            return True
        return False

    def _release(self) -> None:
        """From here on only the numbers hold that the last rewrite stored."""
        self._numbers = dict(self._in_ledger)
        self._names = {seq: identity for identity, seq in self._numbers.items()}
        self._at_check = dict(self._in_ledger)
        self.established = False
        self.last = 0

    # -- a check -----------------------------------------------------------------------------

    def settled(
        self, log: Sequence[Json], generation: int, lines: Sequence[Line], past: Past
    ) -> bool:
        """The service was at rest, and this is its whole log; ``lines`` are those of the file.

        Says whether the transcript was found to be rewritten since the last check.
        """
        self.told(log, 0)
        _require(
            {*self._names} == {*range(1, len(log) + 1)},
            f"{self.session}: the log ends at {len(log)}, and {max(self._names, default=0)}"
            " was told before",
        )
        messages = _first_of_each(lines)
        for line in messages.values():
            _require(
                line.identity in self._numbers,
                f"{self.session}: the message {line.text[-80:]!r} ({line.uuid}) is lost",
            )
        for message in log:
            self._as_it_stands(message, messages.get(_identity(message)))
        self._in_order(past.versions)
        if not past.rewritten:
            self._forks(log, lines)
        rewritten = self._generation is not None and generation > self._generation
        _require(
            generation >= (self._generation or 0),
            f"{self.session}: generation {generation} came after {self._generation}",
        )
        if rewritten:
            self._in_ledger = self._at_check
        self._at_check = dict(self._numbers)
        self._ever_checked.update(self._numbers)
        self._generation, self._fragile = generation, False
        self.established, self.last = True, len(log)
        return rewritten

    def _as_it_stands(self, message: Json, line: Line | None) -> None:
        what = f"{self.session}: message {message['seq']}"
        if line is None:
            _require(bool(message.get("gone")), f"{what} is no longer there, and not gone")
            return
        _require(not message.get("gone"), f"{what} is gone, and there: {line.text[-80:]!r}")
        _require(
            (message["uuid"], message["text"]) == (_uuid(line), line.text),
            f"{what} is {message['text'][-80:]!r} by {message['uuid']}, and its line says"
            f" {line.text[-80:]!r} by {line.uuid}",
        )

    def _in_order(self, versions: Iterable[Sequence[str]]) -> None:
        """Of two new messages, one always before the other: so are their numbers."""
        new = {
            identity: seq
            for identity, seq in self._numbers.items()
            if identity not in self._ever_checked
        }
        places = [_places(version) for version in versions]
        for later, number in new.items():
            with_it = [place for place in places if later in place]
            for earlier, other in new.items():
                if other > number and all(
                    earlier in place and place[earlier] < place[later] for place in with_it
                ):
                    raise Wrong(
                        f"{self.session}: {earlier} always stood before {later}, and they are"
                        f" {other} and {number}"
                    )

    def _forks(self, log: Sequence[Json], lines: Sequence[Line]) -> None:
        """Of a file that only grew it is known which new prompts leave the main line."""
        said = {_identity(message): message for message in log}
        seen: set[str] = set()
        tip = ""
        for line in lines:
            if not line.identity:
                continue
            new = line.identity not in seen and line.identity not in self._ever_checked
            prompt = line.role == "user" and line.parent and tip
            if new and prompt and len(self._maker.versions(line.identity)) == 1:
                source = self._numbers.get(line.parent, 0) if line.parent != tip else None
                found = said[line.identity].get("forks_from")
                _require(
                    found == source,
                    f"{self.session}: message {self._numbers[line.identity]} follows {source}"
                    f" ({line.parent}), and is told to fork from {found}",
                )
            seen.add(line.identity)
            tip = line.identity if line.uuid != line.identity else ""  # one that can be followed


class Subscriber:
    """One client that follows a session, over all its connections."""

    def __init__(self, name: str, record: Record) -> None:
        self.name = name
        self.record = record
        self.at: int | None = None
        """The last number that it has; None: it never was connected."""
        self.connected = False

    def answered(self, page: Json, after: int | None, limit: int) -> None:
        """It is connected, and got its first page."""
        self.record.page(page, after, limit)
        self.at, self.connected = page["next_seq"], True

    def noted(self, notification: Json) -> None:
        """A notification came on its connection."""
        _require(self.connected, f"{self.name} was told something after its end")
        messages = notification["messages"]
        self.record.told(messages, self.at)
        end = messages[-1]["seq"] if messages else self.at
        _require(
            notification["next_seq"] == end,
            f"{self.name} was told to go on at {notification['next_seq']}, not {end}",
        )
        self.at = end

    def check(self) -> None:
        """At a check: it has everything."""
        _require(
            self.at == self.record.last,
            f"{self.name} has the messages of {self.record.session} up to {self.at}, and the log"
            f" ends at {self.record.last}",
        )


def check_row(session: str, row: Mapping[str, Any] | None, lines: Sequence[Line] | None) -> None:
    """At a check: what the list says of a session; ``lines`` is None for one without a file."""
    if row is None:
        raise Wrong(f"{session} is not listed")
    _require(row["gone"] == (lines is None), f"{session} is listed as gone: {row['gone']}")
    if lines is not None:
        count = sum(bool(line.identity) for line in lines)
        _require(
            row["messages"] == count,
            f"{session} is listed with {row['messages']} messages and has {count}",
        )


def _uuid(line: Line) -> str:
    """What a message is told by: its record's own uuid, else its identity in that form."""
    named = line.uuid != line.identity
    return line.uuid if named else str(uuid.UUID(hex=line.identity))


def _identity(message: Json) -> str:
    told = str(message["uuid"])
    return told.replace("-", "") if message.get("gone") else identity_of(told)


def _first_of_each(lines: Iterable[Line]) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for line in lines:
        if line.identity:
            found.setdefault(line.identity, line)
    return found


def _places(version: Sequence[str]) -> dict[str, int]:
    return {identity: place for place, identity in enumerate(version)}
