"""A daemon that lives but whose socket is gone: it is named, and ``podium down`` ends it."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.fake_daemon import podium
from tests.patience import HANG_SECONDS

# Holds the lock of STATE, as the daemon does, until it is asked to end; then says so.
HOLDER = """
import fcntl, os, signal, sys
signal.alarm(60)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(os.getpid(), file=lock, flush=True)
print("held", flush=True)
signal.sigwait([signal.SIGTERM])
open(sys.argv[1] + ".asked", "w").close()
"""


class Home:
    """A PODIUM_HOME without a socket."""

    def __init__(self, path: Path) -> None:
        self.lock = path / "state" / "podiumd.lock"
        self.lock.parent.mkdir()
        self.socket = path / "podium.sock"
        self.settings = {"PODIUM_HOME": str(path), "PODIUM_SOCKET": ""}

    def podium(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return podium(self.socket, *arguments, settings=self.settings)

    @property
    def asked(self) -> bool:
        return Path(f"{self.lock}.asked").exists()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@contextmanager
def stray(home: Home) -> Iterator[int]:
    """A living holder of the lock; its pid. A reaper takes it as soon as it ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home.lock)], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"held\n"
            yield process.pid
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


@pytest.mark.parametrize("command", [["status"], ["status", "--json"], ["runs"], ["prompt", "x"]])
def test_a_daemon_that_lives_without_its_socket_is_named(home: Home, command: list[str]) -> None:
    with stray(home) as pid:
        done = home.podium(*command)

    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == (
        f"podium: The daemon (pid {pid}) runs, but nothing answers at {home.socket}: it is "
        "starting or stopping just now, or its socket was removed. 'podium down' ends it.\n"
    )


def test_down_stops_it_by_a_signal_and_says_what_that_means(home: Home) -> None:
    with stray(home) as pid:
        done = home.podium("down")

    assert done.returncode == 0 and home.asked
    assert done.stdout == (
        f"Podium has stopped (pid {pid}).\nNothing answered at {home.socket}, so it was stopped "
        "by a signal: agents at work go on, and 'podium up' takes their runs up again.\n"
    )


def test_down_tells_programs_the_same_as_ever(home: Home) -> None:
    with stray(home) as pid:
        assert json.loads(home.podium("down", "--json").stdout) == {"stopped": True, "pid": pid}


@pytest.mark.parametrize("words", ["", "0\n", "-1\n", "x", "9" * 30])
def test_a_lock_that_nobody_holds_is_no_daemon(home: Home, words: str) -> None:
    home.lock.write_text(words)

    assert home.podium("down").stdout == "The daemon was not running.\n"
    assert home.podium("status").stderr.startswith("podium: The daemon is not running (")


def test_a_process_that_has_got_the_pid_of_a_dead_daemon_is_left_alone(home: Home) -> None:
    """Only who holds the lock is our daemon."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        home.lock.write_text(f"{process.pid}\n")

        assert home.podium("down").stdout == "The daemon was not running.\n"
        assert process.poll() is None
        process.kill()


def test_a_lock_that_names_nobody_is_not_signalled(home: Home) -> None:
    """A daemon that is starting has the lock before it has written its pid."""
    home.lock.touch()
    descriptor = os.open(home.lock, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

        assert home.podium("down").stdout == "The daemon was not running.\n"
    finally:
        os.close(descriptor)
