"""Sockets that are handed over, and a watchdog that a hanging daemon starves."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from podiumd.host.socket_activation import handed_over
from podiumd.service.daemon_link import DaemonLink
from tests.long import sampled
from tests.needs import need
from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[2]

LOOK = """
import json, os, sys
from podiumd.host.socket_activation import handed_over
from podiumd.config.paths import PlaceError
environ = dict(os.environ)
try:
    handed = handed_over(environ, os.getpid() + int(sys.argv[1]))
except PlaceError as error:
    print(json.dumps(str(error)))
else:
    sockets = [handed.rpc, *handed.gateway]
    print(json.dumps({
        "rpc": handed.rpc and str(handed.rpc_path),
        "gateway": [s.getsockname()[0] for s in handed.gateway],
        "inherited": [s and os.get_inheritable(s.fileno()) for s in sockets],
        "left": sorted(name for name in environ if name.startswith("LISTEN")),
    }))
"""

# fd 3 and on, for the very process that the shell becomes, as sd_listen_fds(3) wants.
SHELL = 'export LISTEN_PID=$$; exec "$@" 3<&0 4<&1 1<&2'


def look(
    first: socket.socket, second: socket.socket | None, names: str | None, *, off: int = 0
) -> object:
    """What a process finds that has these sockets as its descriptors 3 and 4."""
    count = {"LISTEN_FDS": "1" if second is None else "2"}
    named = {} if names is None else {"LISTEN_FDNAMES": names}
    done = subprocess.run(
        ["/bin/sh", "-c", SHELL, "sh", sys.executable, "-c", LOOK, str(off)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "daemon"), **count, **named},
        stdin=first.fileno(),
        stdout=(second or first).fileno(),
        stderr=subprocess.PIPE,
        timeout=HANG_SECONDS,
        check=False,
    )
    found: object = json.loads(done.stderr)
    return found


@pytest.fixture
def unix(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "podium.sock"))
        sock.listen()
        yield sock


@pytest.fixture
def tcp() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


@pytest.mark.parametrize(
    "names", sampled(["rpc:gateway", None, "unknown:unknown", "podiumd.socket:x"], 2)
)
def test_sockets_are_known_by_their_names_or_their_kinds(
    unix: socket.socket, tcp: socket.socket, names: str | None
) -> None:
    assert look(unix, tcp, names) == {
        "rpc": unix.getsockname(),
        "gateway": ["127.0.0.1"],
        "inherited": [False, False],
        "left": [],
    }


def test_the_order_is_the_managers(unix: socket.socket, tcp: socket.socket) -> None:
    found = look(tcp, unix, "gateway:rpc")

    assert isinstance(found, dict) and found["rpc"] == unix.getsockname()


def test_what_was_meant_for_another_process_is_left_alone(unix: socket.socket) -> None:
    found = look(unix, None, "rpc", off=1)

    assert found == {"rpc": None, "gateway": [], "inherited": [None], "left": []}


def test_sockets_of_no_use_are_refused_with_the_reason(
    unix: socket.socket, tcp: socket.socket
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        assert "no stream socket that listens" in str(look(datagrams, None, "gateway"))
    with socket.socket(socket.AF_UNIX) as deaf:
        assert "no stream socket that listens" in str(look(deaf, None, "rpc"))
    assert "'rpc' must be a Unix socket" in str(look(tcp, None, "rpc"))
    assert "'gateway' must be a TCP socket" in str(look(unix, None, "gateway"))
    assert "two Unix sockets; one is served" in str(look(unix, unix, "rpc:rpc"))


@pytest.mark.parametrize("count", ["", "0", "-1", "many"])
def test_no_number_of_sockets_is_none(count: str) -> None:
    environ = {"LISTEN_FDS": count, "LISTEN_PID": "7"}

    assert handed_over(environ, 7).rpc is None and environ == {}


# -- the daemon, activated -----------------------------------------------------------------------


class Activated:
    """A daemon that ``systemd-socket-activate`` starts at the first connect."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes], heard: socket.socket) -> None:
        self.socket = home / "podium.sock"
        self.process = process
        self.heard = heard

    def hear(self) -> str:
        """The next message for the service manager."""
        return self.heard.recv(4096).decode()


@contextmanager
def activated(home: Path, port: int, watchdog_seconds: float) -> Iterator[Activated]:
    need("systemd-socket-activate")
    given = {
        "HOME": str(home),
        "PODIUM_HOME": str(home),
        "PYTHONPATH": str(ROOT / "daemon"),
        "PODIUM_SERVICE": "systemd",
        "NOTIFY_SOCKET": str(home / "notify"),
        "WATCHDOG_USEC": str(int(watchdog_seconds * 1e6)),
    }
    listens = ["-l", str(home / "podium.sock"), "-l", f"127.0.0.1:{port}"]
    passed = [word for name in given for word in ("-E", name)]
    command = [sys.executable, "-P", "-m", "podiumd", "--log-format", "json"]
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard,
        (home / "log").open("wb") as log,
    ):
        heard.bind(str(home / "notify"))
        heard.settimeout(HANG_SECONDS)
        process = subprocess.Popen(
            ["systemd-socket-activate", *listens, "--fdname=rpc:gateway", *passed, *command],
            env={"PATH": os.environ["PATH"], **given},
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        for _ in listens[::2]:
            log.write(process.stderr.readline())  # "Listening on ... as 3."
        try:
            yield Activated(home, process, heard)
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()
            log.write(process.communicate()[1])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def test_a_connect_starts_the_daemon_which_tells_its_life_to_systemd(tmp_path: Path) -> None:
    port = free_port()
    with activated(tmp_path, port, 60) as daemon:
        with DaemonLink(daemon.socket, HANG_SECONDS) as link:
            status = link.call("daemon.status")
        with socket.create_connection(("127.0.0.1", port), HANG_SECONDS) as phone:
            phone.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answer = phone.recv(64)
        ready, fed = daemon.hear(), daemon.hear()
        daemon.process.terminate()
        stopping = daemon.hear()
        code = daemon.process.wait(HANG_SECONDS)

    assert (status["service"], status["socket"]) == ("systemd", str(daemon.socket))
    assert status["gateway"]["url"] == f"ws://127.0.0.1:{port}"
    assert answer.startswith(b"HTTP/1.1 ")
    assert ready == f"READY=1\nSTATUS=Answering at {daemon.socket}"
    assert (fed, code) == ("WATCHDOG=1", 0)
    assert stopping.startswith("STOPPING=1\n")
    assert daemon.socket.exists(), "it is the service manager's to remove"


def test_a_daemon_that_hangs_starves_the_watchdog(tmp_path: Path) -> None:
    period = 0.6
    with activated(tmp_path, free_port(), period) as daemon:
        with DaemonLink(daemon.socket, HANG_SECONDS) as link:
            link.call("daemon.ping")
        heard = [daemon.hear() for _ in range(4)]
        daemon.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)
        while select.select([daemon.heard], [], [], 0)[0]:
            daemon.hear()  # what it had said before
        daemon.heard.settimeout(period * 3)
        with pytest.raises(TimeoutError):
            daemon.hear()
        daemon.process.send_signal(signal.SIGCONT)
        daemon.heard.settimeout(HANG_SECONDS)
        again = daemon.hear()

    assert heard[1:] == ["WATCHDOG=1"] * 3
    assert again == "WATCHDOG=1"
