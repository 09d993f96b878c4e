"""What is said to systemd, on a notification socket of our own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from podiumd.host.notify import Notifier
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
    notifier.status("Busy")
    notifier.stopping("Bye")

    assert [heard.recv(4096) for _ in range(5)] == [
        b"EXTEND_TIMEOUT_USEC=60000000\nSTATUS=Lifting facts.db to this release's schema",
        b"READY=1\nSTATUS=Answering",
        b"WATCHDOG=1",
        b"STATUS=Busy",
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
