"""The service in a process of its own, forked from a warm parent, told what to do over a socket.

One JSON object a line, both ways: a command has a ``do`` and an ``id``, its answer the same
``id``; what a subscriber is told has the subscriber's ``name``.
"""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from podiumd.observe import logs
from podiumd.sessions.index.database import Index
from podiumd.sessions.index.follower import Follower
from podiumd.sessions.index.tree import Root
from podiumd.sessions.log.open_log import LogLost
from podiumd.sessions.transcripts import (
    Transcripts,
    UnknownSession,
    Unsettled,
    open_transcripts,
)
from podiumd.store.facts import Store, open_store
from podiumd.store.index import INDEX_NAME
from podiumd.store.records import Ledger

Json = dict[str, Any]

POINTS = ("ledger.before", "ledger.after", "commit.before", "commit.after")
"""Where a service can be told to die: around each storing of ledgers, and each commit of rows."""


TURNS = 3
"""How often others get their turn before a commit: what they may see then must be stored."""


class Points:
    """The place where this process dies, if it was told one."""

    def __init__(self) -> None:
        self._name = ""
        self._left = 0

    def arm(self, name: str, count: int) -> None:
        self._name, self._left = name, count

    def reached(self, name: str) -> None:
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Ledgers:
    """The store's ledgers, with points around what is stored, and counts of what is used."""

    def __init__(self, store: Store, points: Points) -> None:
        self._store = store
        self._points = points
        self.counts = {"ledgers stored": 0, "ledgers read": 0}

    async def save_ledgers(self, ledgers: Sequence[Ledger]) -> None:
        self._points.reached("ledger.before")
        await self._store.save_ledgers(ledgers)
        self.counts["ledgers stored"] += len(ledgers)
        self._points.reached("ledger.after")

    async def ledger(self, session_id: str) -> Ledger | None:
        found = await self._store.ledger(session_id)
        self.counts["ledgers read"] += found is not None
        return found

    def taken(self) -> dict[str, int]:
        """What was used since this was last asked."""
        counts, self.counts = self.counts, dict.fromkeys(self.counts, 0)
        return counts

    async def ledgers_gone(self) -> list[Ledger]:
        return await self._store.ledgers_gone()

    async def forget_ledger(self, session_id: str, ours: str) -> None:
        await self._store.forget_ledger(session_id, ours)


class Stored:
    """What a kill right now would leave of the numbers: read past the service, in the file."""

    def __init__(self, state: Path) -> None:
        place = f"file:{state / INDEX_NAME}?mode=ro"
        self._connection = sqlite3.connect(place, uri=True, isolation_level=None)

    def check(self, session: str, messages: Sequence[Any]) -> None:
        """Before messages are told: their numbers are stored. Raises ``ToldTooEarly``."""
        found = self._connection.execute(
            "SELECT last_seq FROM logs WHERE session_id = ?", (session,)
        ).fetchone()
        last = 0 if found is None else found[0]
        for message in messages:
            seq = msgspec.json.decode(message)["seq"]
            if seq > last:
                raise ToldTooEarly(f"{session}: {seq} is told, and {last} is the last stored")


class ToldTooEarly(Exception):
    """A number is told that a kill could take away."""


class Sweeps:
    """Knows when a look at the whole tree, begun after it was asked for, is over."""

    def __init__(self) -> None:
        self._begun = self._over = 0
        self._event = trio.Event()

    def around(self, sweep: Callable[[Follower], Awaitable[None]]) -> object:
        async def noted(follower: Follower) -> None:
            self._begun += 1
            mine = self._begun
            try:
                await sweep(follower)
            finally:
                self._over = mine
                self._event.set()
                self._event = trio.Event()

        return noted

    async def next(self, ask: Callable[[], None]) -> None:
        wanted = self._begun + 1
        ask()
        while self._over < wanted:
            await self._event.wait()


class Service:
    """Carries out the commands that come."""

    def __init__(
        self,
        transcripts: Transcripts,
        line: trio.SocketStream,
        ledgers: Ledgers,
        sweeps: Sweeps,
        stored: Stored,
    ) -> None:
        self._transcripts = transcripts
        self._line = line
        self._lock = trio.Lock()
        self._ledgers = ledgers
        self._sweeps = sweeps
        self._stored = stored
        self._subscribers: dict[str, tuple[trio.CancelScope, trio.Event]] = {}

    async def run(self, points: Points) -> None:
        """Until it is told to stop, or nobody is there any more."""
        async with trio.open_nursery() as nursery:
            async for command in _commands(self._line):
                if command["do"] == "stop":
                    break
                if command["do"] == "die":
                    points.arm(command["at"], command["count"])
                elif command["do"] == "subscribe":
                    scope, over = trio.CancelScope(), trio.Event()
                    self._subscribers[command["name"]] = (scope, over)
                    nursery.start_soon(self._subscriber, command, scope, over)
                else:
                    nursery.start_soon(self._answer, command)
            nursery.cancel_scope.cancel()

    async def _tell(self, words: Json) -> None:
        async with self._lock:
            await self._line.send_all(msgspec.json.encode(words) + b"\n")

    async def _answer(self, command: Json) -> None:
        await self._tell({"id": command["id"]} | await self._result(command))

    async def _result(self, command: Json) -> Json:
        try:
            match command["do"]:
                case "settle":
                    await self._settle()
                    return {"result": self._ledgers.taken()}
                case "rows":
                    rows, total = await self._transcripts.listing(None, 1000, None)
                    found = {
                        row.session_id: {"gone": row.gone, "messages": row.summary.messages}
                        for row in rows
                    }
                    return {"result": {"rows": found, "total": total}}
                case "messages":
                    page = await self._transcripts.messages(
                        command["session"], command["after"], command["limit"]
                    )
                    self._stored.check(command["session"], page.messages)
                    return {"result": page}
                case _:
                    await self._unsubscribe(command["name"])
                    return {"result": {}}
        except (UnknownSession, Unsettled) as error:
            return {"error": type(error).__name__}

    async def _settle(self) -> None:
        """The look that the watch asks for when it may have missed something."""
        await self._sweeps.next(self._transcripts._follower._watch.want_sweep)

    async def _unsubscribe(self, name: str) -> None:
        scope, over = self._subscribers.pop(name)
        scope.cancel()
        await over.wait()

    async def _subscriber(self, command: Json, scope: trio.CancelScope, over: trio.Event) -> None:
        name = command["name"]
        with scope:
            try:
                async with self._transcripts.follow(
                    command["session"], command["after"], command["limit"]
                ) as feed:
                    self._stored.check(command["session"], feed.answer.messages)
                    with trio.CancelScope(shield=True):  # whole, or the line is spoilt
                        answer = {"id": command["id"], "name": name, "result": feed.answer}
                        await self._tell(answer)
                    async for note in feed:
                        self._stored.check(command["session"], note.messages)
                        with trio.CancelScope(shield=True):
                            await self._tell({"name": name, "note": note})
            except (UnknownSession, Unsettled, LogLost) as error:
                what = {"id": command["id"], "name": name, "error": type(error).__name__}
                await self._tell(what)
        over.set()


async def _commands(line: trio.SocketStream) -> Any:
    waiting = b""
    while data := await line.receive_some():
        *commands, waiting = (waiting + data).split(b"\n")
        for command in commands:
            yield msgspec.json.decode(command)


def _put_points_around_commits(points: Points) -> None:
    for name in ("write", "write_in_thread"):
        original = getattr(Index, name)

        async def write(*args: Any, original: Any = original, **kwargs: Any) -> Any:
            for _ in range(TURNS):
                await trio.lowlevel.checkpoint()
            points.reached("commit.before")
            result = await original(*args, **kwargs)
            points.reached("commit.after")
            return result

        setattr(Index, name, write)


async def _main(end: socket.socket, state: Path, root: Path) -> None:
    points, sweeps = Points(), Sweeps()
    _put_points_around_commits(points)
    setattr(Follower, "_sweep", sweeps.around(Follower._sweep))  # noqa: B010 - for mypy
    line = trio.SocketStream(trio.socket.from_stdlib_socket(end))
    async with open_store(state) as store:
        ledgers = Ledgers(store, points)
        async with open_transcripts(state, [Root("claude", root)], ledgers) as transcripts:
            stored = Stored(state)
            await Service(transcripts, line, ledgers, sweeps, stored).run(points)


def fork(state: Path, root: Path, errors: Path) -> tuple[int, socket.socket]:
    """Start the service; returns its process and our end of the line.

    The caller has no other threads, and has never run trio.
    """
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process:
        theirs.close()
        return process, ours
    status = 1
    try:
        ours.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.stderr = errors.open("a", buffering=1)
        os.dup2(sys.stderr.fileno(), 2)
        logs.set_up("json", stream=sys.stderr)
        trio.run(_main, theirs, state, root)
        status = 0
    finally:
        if status:
            traceback.print_exc()
        os._exit(status)  # the caller's own ends are none of this process's
