"""``up``, ``down`` and ``config`` against a small stand-in for the daemon's own module."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.fake_daemon import (
    FakeDaemon,
    HangUp,
    environment,
    podium,
)
from tests.client.processes import ROOT
from tests.client.test_views import STATUS
from tests.patience import HANG_SECONDS

# A daemon that answers status and shutdown, and does what PODIUM_TEST says before it is ready.
STAND_IN = """
import json, os, signal, socket, sys
signal.alarm(60)
if "config" in sys.argv:
    print(json.dumps(sys.argv[1:]))
    sys.exit(7)
if "doctor" in sys.argv:
    print(os.environ.get("PODIUM_TEST_UNREADY", ""))
    sys.exit()
mood = os.environ.get("PODIUM_TEST", "")
if mood == "refuse":
    sys.exit("config.toml:3: unknown key 'portt'; did you mean 'port'?")
if mood == "logged":
    os.makedirs(os.environ["PODIUM_HOME"] + "/state")
    with open(os.environ["PODIUM_HOME"] + "/state/podiumd.log", "w") as log:
        log.write("first line\\nfacts.db cannot be read\\n")
    sys.exit(3)
listener = socket.socket(socket.AF_UNIX)
listener.bind(os.environ["PODIUM_HOME"] + "/podium.sock")
listener.listen()
status = {"pid": os.getpid(), "socket": "S", "argv": sys.argv[1:], "cwd": os.getcwd(),
          "sid": os.getsid(0), "version": "0",
          "gateway": {"enabled": True, "url": "ws://127.0.0.1:8080"}}
while True:
    client, _ = listener.accept()
    for line in client.makefile("rb"):
        request = json.loads(line)
        result = status if request["method"] == "daemon.status" else {}
        client.sendall(json.dumps({"id": request["id"], "result": result}).encode() + b"\\n")
        if request["method"] == "daemon.shutdown":
            os.unlink(os.environ["PODIUM_HOME"] + "/podium.sock")
            print(json.dumps(request["params"]), file=open(os.environ["PODIUM_HOME"] + "/bye", "w"))
            sys.exit()
"""


class Home:
    """A private PODIUM_HOME with the stand-in as ``podiumd``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        module = path / "lib" / "podiumd"
        module.mkdir(parents=True)
        (module / "__init__.py").touch()
        (module / "__main__.py").write_text(STAND_IN)
        self.settings = {
            "PODIUM_HOME": str(path),
            "PODIUM_SOCKET": "",
            "PYTHONPATH": os.pathsep.join([str(path / "lib"), str(ROOT / "client")]),
        }

    def podium(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        settings = self.settings | more
        return podium(self.path / "podium.sock", *arguments, settings=settings)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    if (tmp_path / "podium.sock").exists():
        home.podium("down")


def test_up_says_at_the_end_why_no_agent_can_work_yet(home: Home) -> None:
    words = "No agent is ready yet: 'podium doctor' says what to install."

    first = home.podium("up", PODIUM_TEST_UNREADY=words)
    again = home.podium("up", PODIUM_TEST_UNREADY=words)

    assert first.stdout.splitlines()[2:] == [words]
    assert words not in again.stdout


def test_up_starts_a_daemon_of_its_own_session_and_tells_where_it_is(home: Home) -> None:
    done = home.podium("up")
    status = json.loads(home.podium("rpc", "daemon.status").stdout)

    assert done.stdout == (
        f"Podium is running: pid {status['pid']}, socket S.\n"
        "The gateway for phones listens at ws://127.0.0.1:8080, on this machine only: "
        "'podium pair' gives a phone a key and says how it can get here.\n"
    )
    assert done.returncode == 0
    assert status["sid"] == status["pid"]
    assert status["cwd"] == "/"
    assert "--detached" in status["argv"]


def test_up_leaves_a_running_daemon_alone_and_says_that_its_configuration_stays(home: Home) -> None:
    home.podium("up")
    before = json.loads(home.podium("rpc", "daemon.status").stdout)["pid"]

    done = home.podium("up")

    assert done.returncode == 0
    assert done.stdout.startswith(f"Podium is already running: pid {before}, ")

    done = home.podium("up", "--config", "other.toml")

    assert done.stdout.startswith("Podium is already running: ")
    assert done.stderr == (
        "podium: the daemon is already running and --config was ignored: "
        "'podium down && podium up --config other.toml' starts it with that file.\n"
    )


def test_down_interrupts_turns_and_returns_when_the_process_is_gone(home: Home) -> None:
    pid = json.loads(home.podium("up", "--json").stdout)["pid"]

    done = home.podium("down")

    assert (done.stdout, done.returncode) == (f"Podium has stopped (pid {pid}).\n", 0)
    assert json.loads((home.path / "bye").read_text()) == {"turns": "interrupt"}
    # It is gone, or a zombie until init takes it.
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_down_without_a_daemon_is_done_already(home: Home) -> None:
    assert home.podium("down").stdout == "The daemon was not running.\n"
    assert json.loads(home.podium("down", "--json").stdout) == {"stopped": False, "pid": None}


def test_a_daemon_that_hangs_up_before_its_answer_is_still_waited_for(daemon: FakeDaemon) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:

        def hang_up(params: dict[str, str]) -> None:
            process.kill()
            process.wait()
            raise HangUp

        daemon.answers |= {
            "daemon.status": {**STATUS, "pid": process.pid},
            "daemon.shutdown": hang_up,
        }

        assert podium(daemon, "down").stdout == f"Podium has stopped (pid {process.pid}).\n"


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        ("refuse", "config.toml:3: unknown key 'portt'; did you mean 'port'?"),
        ("logged", "first line / facts.db cannot be read."),
    ],
)
def test_a_daemon_that_does_not_start_is_quoted(home: Home, mood: str, reason: str) -> None:
    done = home.podium("up", PODIUM_TEST=mood)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"podium: The daemon did not start: {reason}\n"


def test_up_in_the_foreground_becomes_the_daemon(home: Home) -> None:
    settings = {**home.settings, "PODIUM_TEST": "refuse"}
    done = subprocess.run(
        [sys.executable, "-m", "podium", "up", "--foreground"],
        capture_output=True,
        text=True,
        env={**environment(""), **settings},
        timeout=HANG_SECONDS,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == "config.toml:3: unknown key 'portt'; did you mean 'port'?\n"


def test_a_package_in_the_current_directory_is_not_run_as_the_daemon(
    home: Home, tmp_path: Path
) -> None:
    trap = tmp_path / "clone" / "podiumd"
    trap.mkdir(parents=True)
    (trap / "__main__.py").write_text("raise SystemExit('trapped')")

    done = podium(
        tmp_path / "podium.sock", "config", "path", cwd=trap.parent, settings=home.settings
    )

    assert "trapped" not in done.stderr
    assert done.returncode == 7


def test_config_is_answered_by_the_daemons_module_with_none_running(home: Home) -> None:
    done = home.podium("config", "show", "--config", "/tmp/c.toml", "--json")

    assert json.loads(done.stdout) == ["--config", "/tmp/c.toml", "config", "show", "--json"]
    assert done.returncode == 7


def test_ctrl_c_while_waiting_for_an_answer_is_silent(daemon: FakeDaemon) -> None:
    asked, over = threading.Event(), threading.Event()

    def keep_waiting(params: dict[str, str]) -> dict[str, str]:
        asked.set()
        assert over.wait(HANG_SECONDS)
        return {}

    daemon.answers["daemon.status"] = keep_waiting
    client = subprocess.Popen(
        [sys.executable, "-m", "podium", "status"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(daemon.path),
    )
    assert asked.wait(HANG_SECONDS)
    client.send_signal(signal.SIGINT)

    assert client.communicate(timeout=HANG_SECONDS) == (b"", b"")
    assert client.returncode == 130
    over.set()
