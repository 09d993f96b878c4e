"""The service over a directory of projects, for the tests of what it tells."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Root
from podiumd.sessions.index.watch import Changes
from podiumd.sessions.log.open_log import MessageFeed, OpenLog
from podiumd.sessions.transcripts import Transcripts, open_transcripts
from podiumd.store.errors import StoreFailed
from podiumd.store.records import Ledger
from podiumd.wire.sessions import MessagesPage, NewMessages
from tests.patience import HANG_SECONDS
from tests.sessions.support import append, session_id

Json = dict[str, Any]


class Kept:
    """Ledgers that outlive the service.

    ``full``: nothing more can be stored; ``broken``: those of gone sessions cannot be read.
    """

    def __init__(self) -> None:
        self.kept: dict[str, Ledger] = {}
        self.full = self.broken = False
        self.before_saving: Callable[[], None] = lambda: None

    async def ledger(self, session_id: str) -> Ledger | None:
        await trio.lowlevel.checkpoint()
        return self.kept.get(session_id)

    async def save_ledgers(self, ledgers: Sequence[Ledger]) -> None:
        await trio.lowlevel.checkpoint()
        if self.full:
            raise StoreFailed(Path("facts.db"), "the disk is full")
        self.before_saving()
        self.kept.update((ledger.session_id, ledger) for ledger in ledgers)

    async def forget_ledger(self, session_id: str, ours: str) -> None:
        await trio.lowlevel.checkpoint()
        self.kept.pop(session_id, None)

    async def ledgers_gone(self) -> list[Ledger]:
        await trio.lowlevel.checkpoint()
        if self.broken:
            raise StoreFailed(Path("facts.db"), "the disk is broken")
        return [ledger for ledger in self.kept.values() if ledger.row is not None]


class Service:
    """A service that runs, and short ways to ask it about session 1."""

    def __init__(self, transcripts: Transcripts) -> None:
        self.transcripts = transcripts
        self.follower = transcripts._follower
        self.index = transcripts._index
        self.logs = transcripts._logs

    async def sweep(self) -> None:
        """Bring everything up to date, whatever the watch tells, and as it does: never raising."""
        await self.follower._guarded(self.follower._sweep())

    async def take(self, *files: Path, directories: Collection[Path] = ()) -> None:
        """Tell the follower of changes, as the watch does."""
        changes = Changes({str(path) for path in files}, {str(path) for path in directories})
        await self.follower._take(changes)

    async def page(
        self, after: int | None = None, limit: int = 100, number: int = 1
    ) -> MessagesPage:
        return await self.transcripts.messages(session_id(number), after, limit)

    async def texts(self, number: int = 1) -> list[str]:
        """The words of the whole log; of a gone message ``gone``."""
        return [words_of(message) for message in told(await self.page(0, 1000, number))]

    async def row(self, number: int = 1) -> Row:
        return await self.transcripts.row(session_id(number))

    def opened(self, number: int = 1) -> OpenLog:
        opened = self.logs.get(session_id(number))
        assert opened is not None
        return opened

    @asynccontextmanager
    async def following(
        self, after: int | None = None, limit: int = 100, number: int = 1
    ) -> AsyncIterator[MessageFeed]:
        async with self.transcripts.follow(session_id(number), after, limit) as feed:
            yield feed


class Home:
    """What outlives the service: transcripts, its state, and the ledgers."""

    def __init__(self, root: Path) -> None:
        self.state = root / "state"
        self.projects = root / "projects"
        self.project = self.projects / "-home-dev-app"
        self.project.mkdir(parents=True)
        self.ledgers = Kept()

    def path(self, number: int = 1, project: str = "-home-dev-app") -> Path:
        return self.projects / project / f"{session_id(number)}.jsonl"

    def write(self, data: bytes, number: int = 1, project: str = "-home-dev-app") -> Path:
        """Add to a transcript."""
        path = self.path(number, project)
        path.parent.mkdir(exist_ok=True)
        append(path, data)
        return path

    def write_copy(self, data: bytes, project: str, minute: int) -> Path:
        """Add to one of the copies of session 1, as if it were this late."""
        path = self.write(data, project=project)
        os.utime(path, (minute * 60, minute * 60))
        return path

    def lose_index(self) -> None:
        for path in self.state.glob("index.db*"):
            path.unlink()

    @asynccontextmanager
    async def running(self, *, complete: bool = True) -> AsyncIterator[Service]:
        """The service; ``complete``: once it knows every session."""
        root = Root("claude", self.projects)
        with trio.fail_after(HANG_SECONDS):
            async with open_transcripts(self.state, [root], self.ledgers) as transcripts:
                service = Service(transcripts)
                if complete:
                    await transcripts.complete()
                    async with service.follower._sweeping:
                        pass  # the look that follows once the watch is armed is over too
                yield service


Told = MessagesPage | NewMessages


def told(source: Told) -> list[Json]:
    """The messages of a page or a notification."""
    return [msgspec.json.decode(message) for message in source.messages]


def words_of(message: Json) -> str:
    return "gone" if message.get("gone") else str(message["text"])


def seqs(source: Told) -> list[int]:
    return [message["seq"] for message in told(source)]


async def next_of(feed: MessageFeed) -> NewMessages:
    """The next notification, through the door that a connection uses."""
    return await anext(aiter(feed))


async def collect(feed: MessageFeed, last: int) -> list[int]:
    """The numbers that a subscriber was told, from its first page to message ``last``."""
    found = seqs(feed.answer)
    while not found or found[-1] < last:
        found += seqs(await next_of(feed))
    return found


def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No change is told by the system: only what the service looks at itself."""
    from watchdog.observers.api import BaseObserver

    def schedule(self: BaseObserver, *args: object, **kwargs: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(BaseObserver, "schedule", schedule)


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, places: Collection[Path]) -> None:
    """Let a call of the system fail for some paths, as for who may not read them."""
    real: Callable[..., Any] = getattr(os, name)

    def refused(path: Any, *args: Any, **kwargs: Any) -> Any:
        if path in {str(place) for place in places}:
            raise PermissionError(13, "Permission denied", path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, name, refused)


def complaints(caplog: pytest.LogCaptureFixture, event: str) -> list[Json]:
    """The fields of every line of the log with this event."""
    return [
        vars(record)["podium"]
        for record in caplog.records
        if record.name == "podium" and record.getMessage() == event
    ]


def bytes_path(parent: Path, name: bytes) -> Path:
    """A path whose name is any bytes."""
    return Path(os.fsdecode(os.fsencode(parent) + b"/" + name))
