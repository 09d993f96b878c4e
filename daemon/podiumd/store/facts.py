"""The durable log: every fact of every run, and what is stored together with facts.

States of transcripts are kept in memory as long as no task writes them: a run asks for that of its
session before each turn.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio

from podiumd.store import reading, writing
from podiumd.store.connection import FACTS_NAME, Readers
from podiumd.store.opening import open_facts
from podiumd.store.records import Ledger, NewFact, RunRow, StoredFact, TokenRow
from podiumd.store.upcast import Upcaster, Upcasters
from podiumd.store.writer import Writer
from podiumd.store.writing import Decision

MOST_KEPT: Final = 256
"""Sessions whose mark is remembered; at some hundred bytes each."""


Read = Callable[[], Awaitable[bytes | None]]


class Marks:
    """Remembers marks, also that there is none; the one that was used last is forgotten last."""

    def __init__(self) -> None:
        self._known: dict[str, bytes | None] = {}
        self._changes = 0

    async def get(
        self, session_id: str, read: Callable[[], Awaitable[bytes | None]]
    ) -> bytes | None:
        """Return the mark of a session, which is ``read`` where it is not known."""
        if session_id in self._known:
            self._known[session_id] = self._known.pop(session_id)
            return self._known[session_id]
        changes = self._changes
        found = await read()
        if changes == self._changes:  # else it may have been read before what was written meanwhile
            self._known[session_id] = found
            if len(self._known) > MOST_KEPT:
                del self._known[next(iter(self._known))]
        return found

    @contextmanager
    def changing(self, *session_ids: str) -> Iterator[None]:
        """Marks are written in this block, or could not be: what is known of them ends with it."""
        self._forget(session_ids)
        try:
            yield
        finally:
            self._forget(session_ids)

    def _forget(self, session_ids: tuple[str, ...]) -> None:
        self._changes += bool(session_ids)
        for one in session_ids:
            self._known.pop(one, None)


# How long closing may wait for the disk; what is acknowledged is durable before that.
CLOSE_SECONDS = 5.0


@asynccontextmanager
async def open_store(
    directory: Path,
    *,
    upcasters: Mapping[tuple[str, int], Upcaster] | None = None,
    on_facts: Callable[[Sequence[StoredFact]], None] | None = None,
    on_lift: Callable[[int], None] = lambda _seconds: None,
) -> AsyncIterator[Store]:
    """Open the store in STATE; ready when entered, everything written when left.

    Parameters: ``upcasters`` maps (type, version) to the function that lifts a fact's data to
    the next version. ``on_facts`` is called in the trio thread with the facts of each decision
    when they are durable, in the order of ``pos``, before ``append`` returns; it must not raise.
    ``on_lift`` is called, in another thread, before a database of an earlier release is lifted,
    with how many seconds that may take.
    Raises ``StoreUnreadable``, ``StoreTooNew``.
    """
    lift = Upcasters(upcasters or {})
    connection = await trio.to_thread.run_sync(partial(open_facts, directory, on_lift=on_lift))
    path = directory / FACTS_NAME
    writer = Writer(path, connection)
    readers = Readers(path)
    try:
        yield Store(path, writer, readers, lift, on_facts)
    finally:
        readers.close()
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await writer.aclose()


class Store:
    """The facts, runs, client tokens, settings, transcript marks and ledgers of one daemon.

    Writes raise ``StoreFull`` or ``StoreFailed`` and then stored nothing; reads raise
    ``StoreFailed``. The store goes on after either.
    """

    def __init__(
        self,
        path: Path,
        writer: Writer,
        readers: Readers,
        upcasters: Upcasters,
        on_facts: Callable[[Sequence[StoredFact]], None] | None,
    ) -> None:
        self.path = path
        self._writer = writer
        self._readers = readers
        self._upcasters = upcasters
        self._on_facts = on_facts
        self._marks = Marks()

    @property
    def queued(self) -> int:
        """Decisions that wait for the disk."""
        return self._writer.queued

    async def append(
        self,
        run: RunRow,
        facts: Sequence[NewFact],
        *,
        token: tuple[str, str, str] | None = None,
        mark: tuple[str, bytes] | None = None,
        begins: bool = True,
    ) -> list[StoredFact]:
        """Store one decision: all of it or nothing, durable when this returns.

        Parameters: ``run`` replaces the run's row; ``facts`` get its next ``seq`` and the next
        ``pos``; ``token`` is (method, client token, digest of the parameters); ``mark`` is
        (session id, the state of its transcript); without ``begins`` the run must be there.
        A caller cancelled after its decision was queued still learns what became of it.
        Raises ``TokenTaken`` when the token was used before, ``RunForgotten`` where the run was
        deleted, ``ValueError`` for a fact that is not of this release's version of its type.
        """
        for fact in facts:
            current = self._upcasters.current(fact.type)
            if fact.version != current:
                raise ValueError(f"{fact.type} is written as version {current}, not {fact.version}")
        decision = Decision(self.path, run, tuple(facts), token, mark, begins)
        with self._marks.changing(*(() if mark is None else mark[:1])):
            return await self._writer.submit(decision, self._on_facts)

    async def events(
        self, run_id: str, after_seq: int = 0, limit: int | None = None
    ) -> list[StoredFact]:
        """Return the facts of one run after ``after_seq``, at most ``limit`` (None: all).

        Raises ``FactDamaged`` or ``FactTooNew``, with the facts before the bad one.
        """
        return await self._readers.run(
            lambda connection: reading.events(
                connection, self.path, self._upcasters, run_id, after_seq, limit
            )
        )

    async def events_of(
        self, run_id: str, types: frozenset[str], after_seq: int, limit: int | None
    ) -> list[StoredFact]:
        """Return the facts of these types of a run after ``after_seq``, at most ``limit`` (None:
        all).

        Facts that cannot be read are left out; fewer than ``limit`` means the end was reached.
        """
        return await self._readers.run(
            lambda connection: reading.events_of(
                connection, self._upcasters, run_id, types, after_seq, limit
            )
        )

    async def last_event(
        self, run_id: str, kind: str, has: bytes = b"", before_seq: int | None = None
    ) -> StoredFact | None:
        """Return a run's newest fact of a type, before ``before_seq`` (None: of all), whose data
        hold the bytes ``has``; facts that cannot be read are left out."""
        return await self._readers.run(
            lambda connection: reading.last_event(
                connection, self._upcasters, run_id, kind, has, before_seq
            )
        )

    async def events_after(
        self, pos: int, limit: int, types: frozenset[str] | None = None
    ) -> list[StoredFact]:
        """Return the facts of all runs after ``pos``, at most ``limit``, of these types (None:
        all).

        Facts that cannot be read are left out; fewer than ``limit`` means the end was reached.
        """
        return await self._readers.run(
            lambda connection: reading.events_after(connection, self._upcasters, pos, limit, types)
        )

    async def ended_recipes(self, after: int, until: int, limit: int) -> list[StoredFact]:
        """Return the newest ends of recipes with ``after < pos <= until``, the oldest of them
        first."""
        return await self._readers.run(
            lambda connection: reading.ended_recipes(
                connection, self._upcasters, after, until, limit
            )
        )

    async def last_pos(self) -> int:
        """Return the position of the newest fact; 0 when there is none."""
        return await self._readers.run(reading.last_pos)

    async def named(self, kind: str, prefix: str, limit: int) -> list[StoredFact]:
        """Facts of a type (one of ``schema.NAMED``) that bear an id which begins with ``prefix``,
        in the order of the ids; those that cannot be read are left out."""
        return await self._readers.run(
            lambda connection: reading.named(connection, self._upcasters, kind, prefix, limit)
        )

    async def agent_session(self, session_id: str) -> str | None:
        """Return the id that its agent has given to a session."""
        return await self._readers.run(
            lambda connection: reading.agent_session(connection, session_id)
        )

    async def sessions_named(self, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the sessions to which agents of a family have given an id, by these two."""
        return await self._readers.run(lambda connection: reading.sessions_named(connection, names))

    async def sessions_called(self, name: str) -> dict[str, str]:
        """Return the sessions to which agents have given this id, by the family of each."""
        return await self._readers.run(lambda connection: reading.sessions_called(connection, name))

    async def named_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Return sessions that agents have named and whose id, ours or the agent's, begins with
        ``prefix``: at most ``limit`` of either."""
        return await self._readers.run(
            lambda connection: reading.named_with_prefix(connection, prefix, limit)
        )

    async def of_type(self, run_ids: Sequence[str], kind: str) -> list[StoredFact]:
        """Return these runs' facts of one type; those that cannot be read are left out."""
        return await self._readers.run(
            lambda connection: [
                fact
                for run_id in run_ids
                for fact in reading.events_of(
                    connection, self._upcasters, run_id, frozenset({kind}), 0, None
                )
            ]
        )

    async def open_runs(self) -> list[RunRow]:
        """Return every run that has not ended, newest first."""
        return await self.runs(active=True)

    async def runs(
        self,
        *,
        active: bool | None = None,
        limit: int | None = None,
        kind: str | None = None,
        before: str | None = None,
    ) -> list[RunRow]:
        """Runs, newest first; ``active`` True leaves out ended ones, False all others.

        Parameters: ``before`` is a run: those that began before it, none where it is not known.
        """
        return await self._readers.run(
            lambda connection: reading.runs(connection, active, kind, before, limit)
        )

    async def run(self, run_id: str) -> RunRow | None:
        """Return the row of one run."""
        return await self._readers.run(lambda connection: reading.run(connection, run_id))

    async def runs_with_prefix(self, prefix: str, limit: int) -> list[RunRow]:
        """Runs whose id begins with ``prefix``, in the order of their ids."""
        return await self._readers.run(
            lambda connection: reading.runs_with_prefix(connection, prefix, limit)
        )

    async def runs_of_session(self, session_id: str, limit: int) -> list[RunRow]:
        """Runs whose last session was this one, newest first."""
        return await self._readers.run(
            lambda connection: reading.runs_of_session(connection, session_id, limit)
        )

    async def sessions_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Sessions of runs whose id begins with ``prefix``, at most ``limit``."""
        return await self._readers.run(
            lambda connection: reading.sessions_with_prefix(connection, prefix, limit)
        )

    async def token(self, method: str, token: str) -> TokenRow | None:
        """Return which run a client token started."""
        return await self._readers.run(lambda connection: reading.token(connection, method, token))

    async def prune_tokens(self, before: str) -> int:
        """Forget the tokens stored before a time (RFC 3339 UTC); returns how many. Nothing is
        written where there is none."""
        if not await self._readers.run(lambda connection: reading.has_tokens(connection, before)):
            return 0
        return await self._writer.submit(partial(writing.prune_tokens, before=before))

    async def runs_ended_before(self, before: str, limit: int) -> list[str]:
        """Runs that ended before a time (RFC 3339 UTC), who ended first before others; but for the
        newest run and the one of the newest fact: with those, ``pos`` and the order of runs would
        begin anew."""
        return await self._readers.run(
            lambda connection: reading.runs_ended_before(connection, before, limit)
        )

    async def forget_runs(self, run_ids: Sequence[str]) -> None:
        """Delete runs with all their facts: what ``runs_ended_before`` has named."""
        await self._writer.submit(partial(writing.forget_runs, run_ids=tuple(run_ids)))

    async def setting(self, key: str) -> bytes | None:
        """Return the value of a setting."""
        return await self._value("SELECT value FROM settings WHERE key = ?", key)

    async def set_setting(self, key: str, value: bytes) -> None:
        """Set a setting; durable when this returns."""
        await self._writer.submit(partial(writing.put_setting, key=key, value=value))

    async def ping(self) -> None:
        """Wait for a turn of the writer that changes nothing, until its thread has come round."""
        await self._writer.submit(_nothing)

    async def mark(self, session_id: str) -> bytes | None:
        """Return the last stored state of a session's transcript; read once while no task writes
        it."""
        query = "SELECT mark FROM marks WHERE session_id = ?"
        return await self._marks.get(session_id, partial(self._value, query, session_id))

    async def marks_after(self, session_id: str, limit: int) -> list[tuple[str, int, bool]]:
        """Sessions with a mark behind this one, by id: how many bytes it is, and whether a run has
        the session as its last."""
        return await self._readers.run(
            lambda connection: reading.marks_after(connection, session_id, limit)
        )

    async def forget_marks(self, session_ids: Sequence[str]) -> None:
        """Delete the marks of sessions that no run has as its last one."""
        with self._marks.changing(*session_ids):
            await self._writer.submit(partial(writing.forget_marks, session_ids=tuple(session_ids)))

    async def unused(self) -> tuple[int, int]:
        """Return how many pages of ``facts.db`` are not in use, and the bytes of one."""
        return await self._readers.run(reading.unused)

    async def give_back(self, pages: int) -> None:
        """Give unused pages back to the disk, at most so many."""
        await self._writer.submit(partial(writing.give_back, pages=pages))

    async def save_ledgers(self, ledgers: Sequence[Ledger]) -> None:
        """Store ledgers, each in place of its session's last one: all or none, durable when done.

        Many gone sessions are one call, and so one sync of the disk.
        """
        await self._writer.submit(partial(writing.put_ledgers, ledgers=tuple(ledgers)))

    async def ledger(self, session_id: str) -> Ledger | None:
        """Return the ledger of a session; None when its transcript was never rewritten or deleted.

        Raises ``StoreError`` for one that is damaged.
        """
        return await self._readers.run(
            lambda connection: reading.ledger(connection, self.path, session_id)
        )

    async def ledgers_gone(self) -> list[Ledger]:
        """Return the ledgers of all sessions whose transcript is gone, by id.

        One that is damaged is among them and not ``intact``, so that its session can be named.
        """
        return await self._readers.run(reading.ledgers_gone)

    async def forget_ledger(self, session_id: str, ours: str) -> None:
        """Delete a session's ledger, if it has one, and what the agent called the session that
        clients know as ``ours``; durable when this returns."""
        forget = partial(writing.forget_ledger, session_id=session_id, ours=ours)
        await self._writer.submit(forget)

    async def _value(self, query: str, key: str) -> bytes | None:
        return await self._readers.run(
            lambda connection: reading.value(connection, self.path, query, key)
        )


def _nothing(connection: sqlite3.Connection) -> None:
    return
