"""What is said to systemd, on a notification socket of our own."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from podiumd.host.notify import Notifier
from podiumd.host.watchdog import Part, keep_fed
from podiumd.sessions.index.follower import Follower
from podiumd.sessions.index.tree import Root
from podiumd.sessions.transcripts import open_transcripts
from podiumd.store.facts import open_store
from tests.patience import HANG_SECONDS


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket that listens as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(HANG_SECONDS)
        yield sock


def test_the_life_of_a_daemon_is_told(heard: socket.socket) -> None:
    notifier = Notifier(heard.getsockname())

    notifier.lifting(60)
    notifier.ready("Answering")
    notifier.alive()
    notifier.stopping("Bye")

    assert [heard.recv(4096) for _ in range(4)] == [
        b"EXTEND_TIMEOUT_USEC=60000000\nSTATUS=Lifting facts.db to this release's schema",
        b"READY=1\nSTATUS=Answering",
        b"WATCHDOG=1",
        b"STOPPING=1\nSTATUS=Bye",
    ]


def test_an_abstract_address_is_spoken_to() -> None:
    name = f"podium-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        sock.settimeout(HANG_SECONDS)

        Notifier(f"@{name}").alive()

        assert sock.recv(64) == b"WATCHDOG=1"


def test_what_is_meant_for_the_daemon_is_taken_out_of_the_environment() -> None:
    environ = {
        "NOTIFY_SOCKET": "/run/notify",
        "WATCHDOG_USEC": "30000000",
        "WATCHDOG_PID": "7",
        "PATH": "/bin",
    }

    notifier = Notifier.from_environment(environ, 7)

    assert notifier.watchdog_seconds == 30
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"},
        {"NOTIFY_SOCKET": "/run/n"},
        {"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "soon"},
        {"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "30000000"},
        {"NOTIFY_SOCKET": "vsock:2:1234", "WATCHDOG_USEC": "30000000"},
    ],
)
def test_a_watchdog_that_is_not_ours_is_not_fed(environ: dict[str, str]) -> None:
    assert Notifier.from_environment(environ, 7).watchdog_seconds is None


def test_nobody_is_spoken_to_without_a_manager() -> None:
    Notifier().ready("to nobody")


def test_a_manager_that_is_gone_costs_one_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="podium")
    notifier = Notifier(str(tmp_path / "gone"))

    notifier.alive()
    notifier.alive()

    assert [record.getMessage() for record in caplog.records] == ["Service manager is not told"]


# -- the watchdog is fed while every part answers, and by nobody else ------------------------


PERIOD = 30.0


class Watchdog:
    """Notes when it was fed."""

    watchdog_seconds: float | None = PERIOD

    def __init__(self) -> None:
        self.fed: list[float] = []
        self._began = trio.current_time()

    def alive(self) -> None:
        self.fed.append(trio.current_time() - self._began)


async def answers() -> None:
    await trio.lowlevel.checkpoint()


class Sticky:
    """A part that answers until it is stuck."""

    def __init__(self) -> None:
        self.free = trio.Event()
        self.free.set()

    async def ask(self) -> None:
        await self.free.wait()


async def test_it_is_fed_three_times_a_period(autojump_clock: trio.testing.MockClock) -> None:
    watchdog = Watchdog()

    with trio.move_on_after(35):
        await keep_fed(watchdog, [Part("store", answers)])

    assert watchdog.fed == [0, 10, 20, 30]


async def test_a_part_that_is_stuck_starves_it_until_it_turns_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    watchdog, part = Watchdog(), Sticky()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_fed, watchdog, [Part("store", answers), Part("follower", part.ask)])
        await trio.sleep(5)
        part.free = trio.Event()
        await trio.sleep(100)
        starved = watchdog.fed[:]
        part.free.set()
        await trio.sleep(17)
        nursery.cancel_scope.cancel()

    assert starved == [0, 10, 20], "the last feed is at most a period after the last answer"
    assert watchdog.fed[len(starved) :] == [110, 120]


async def test_nobody_is_asked_where_no_watchdog_waits() -> None:
    async def never() -> None:
        raise AssertionError

    await keep_fed(Notifier(), [Part("store", never)])


async def test_what_was_not_fed_is_logged_once_with_the_part(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="podium")
    part = Sticky()
    part.free = trio.Event()

    with trio.move_on_after(200):
        await keep_fed(Watchdog(), [Part("follower", part.ask)])

    told = [record for record in caplog.records if "Watchdog" in record.getMessage()]
    assert [record.getMessage() for record in told] == ["Watchdog is not fed"]
    assert told[0].__dict__["podium"] == {"reason": "no answer from: follower"}


# -- the questions that the watchdog asks of the parts: answered by one that turns, by no other


class Question:
    """A question in a task of its own."""

    def __init__(self, ask: Callable[[], Awaitable[None]]) -> None:
        self.answered = trio.Event()
        self._ask = ask

    async def run(self) -> None:
        await self._ask()
        self.answered.set()


async def test_the_store_answers_when_its_thread_comes_round(tmp_path: Path) -> None:
    free, stuck = threading.Event(), trio.Event()
    token = trio.lowlevel.current_trio_token()

    def wait(_: object) -> None:
        token.run_sync_soon(stuck.set)
        assert free.wait(HANG_SECONDS)

    async with open_store(tmp_path) as store, trio.open_nursery() as nursery:
        with trio.fail_after(HANG_SECONDS):
            await store.ping()
            nursery.start_soon(store._writer.submit, wait)
            await stuck.wait()
            question = Question(store.ping)
            nursery.start_soon(question.run)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not question.answered.is_set()
            free.set()
            await question.answered.wait()


async def test_the_follower_answers_when_it_comes_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, stuck = trio.Event(), trio.Event()
    miss = Follower._miss

    async def slow(self: Follower, paths: list[str]) -> None:
        if paths:
            stuck.set()
            await free.wait()
        await miss(self, paths)

    root = tmp_path / "projects"
    root.mkdir()
    async with (
        open_store(tmp_path) as store,
        open_transcripts(tmp_path, [Root("claude", root)], store) as transcripts,
        trio.open_nursery() as nursery,
    ):
        with trio.fail_after(HANG_SECONDS):
            await transcripts.complete()
            await transcripts.ping()
            monkeypatch.setattr(Follower, "_miss", slow)
            gone = root / "project" / "gone.jsonl"
            transcripts._follower._watch._changes.files.add(str(gone))
            transcripts._follower._watch.wake()
            await stuck.wait()
            question = Question(transcripts.ping)
            nursery.start_soon(question.run)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not question.answered.is_set()
            free.set()
            await question.answered.wait()
