"""launchd: the property list, the plans, the sockets that it hands over."""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import plistlib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podiumd.config.paths import PlaceError
from podiumd.host.launchd import activate
from podiumd.host.socket_activation import handed_over
from podiumd.service import command
from podiumd.service.arguments import add_arguments
from podiumd.service.launchd import Launchd
from tests.service.person import Person, person
from tests.service.situations import situation

HOME = Path("/Users/ada")


def agent(home: Path, **more: Any) -> dict[str, Any]:
    """The property list that would be written."""
    (text,) = Launchd().texts(situation(home, "darwin", **more)).values()
    found: dict[str, Any] = plistlib.loads(text.encode())
    return found


def test_the_agent_starts_the_daemon_with_its_sockets_and_its_environment() -> None:
    state = HOME / "Library" / "Application Support" / "podium"

    found = agent(HOME, environ={"ANTHROPIC_API_KEY": "a<&>b"})

    assert found["Label"] == "podiumd"
    assert found["ProgramArguments"] == [
        "/opt/podium/bin/podiumd",
        "--detached",
        "--log-format",
        "json",
    ]
    assert found["EnvironmentVariables"] == {
        "PODIUM_SERVICE": "launchd",
        "ANTHROPIC_API_KEY": "a<&>b",
        "PATH": "/usr/bin:/bin",
    }
    rpc = {"SockPathName": str(state / "podium.sock"), "SockPathMode": 0o600}
    assert found["Sockets"] == {"rpc": rpc}
    assert found["StandardErrorPath"] == str(state / "launchd.log")


def test_the_agent_lives_on_and_leaves_turns_alone() -> None:
    found = agent(HOME)

    assert found["KeepAlive"] == {"SuccessfulExit": False} and found["RunAtLoad"] is True
    assert found["AbandonProcessGroup"] is True and found["ExitTimeOut"] > 10
    assert found["SoftResourceLimits"]["NumberOfFiles"] == 8192
    assert found["HardResourceLimits"]["NumberOfFiles"] == 65536


def test_launchd_can_hold_the_gateways_port() -> None:
    sockets = agent(HOME, gateway_socket=True)["Sockets"]

    assert sockets["gateway"] == {"SockNodeName": "127.0.0.1", "SockServiceName": "8080"}


class Library:
    """launch(3) as it answers: a list of numbers, or an errno."""

    def __init__(self, numbers: tuple[int, ...], status: int = 0) -> None:
        self._array = (ctypes.c_int * len(numbers))(*numbers)
        self._status = status
        self.asked: list[bytes] = []
        self.freed = 0

    def launch_activate_socket(self, name: bytes, fds: Any, count: Any) -> int:
        self.asked.append(name)
        fds._obj.contents = self._array
        count._obj.value = len(self._array)
        return self._status

    def free(self, pointer: Any) -> None:
        self.freed += 1


def test_every_descriptor_of_a_name_is_taken_and_the_list_is_freed() -> None:
    library = Library((7, 9))

    assert activate("gateway", library) == [7, 9]
    assert (library.asked, library.freed) == ([b"gateway"], 1)


@pytest.mark.parametrize("status", [errno.ESRCH, errno.ENOENT, errno.EALREADY])
def test_without_launchd_there_is_nothing_to_take(status: int) -> None:
    library = Library((), status)

    assert activate("rpc", library) == [] and library.freed == 0


def test_another_refusal_of_launchd_is_told() -> None:
    with pytest.raises(PlaceError, match=r"does not hand over the socket 'rpc': Permission denied"):
        activate("rpc", Library((), errno.EACCES))


DAEMON = """
import json, os, socket, subprocess, sys
home = os.environ["HOME"]
kept = os.path.join(home, ".stand-in", "job")
verb = sys.argv[1]
CODE = '''
import json, os, socket, sys
listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    client, _ = listener.accept()
    for line in client.makefile("rb"):
        request = json.loads(line)
        status = {{"pid": os.getpid(), "service": "launchd", "gateway": {{"url": None}}}}
        result = status if request["method"] == "daemon.status" else {{}}
        client.sendall(json.dumps({{"id": 1, "result": result}}).encode() + bytes([10]))
        if request["method"] == "daemon.shutdown":
            open(os.path.join(os.environ["HOME"], ".stand-in", "bye"), "a").write(
                json.dumps(request["params"]))
            os._exit(0)
'''
if verb in ("bootstrap", "kickstart"):
    import plistlib
    file = os.path.join(home, "Library/LaunchAgents/podiumd.plist")
    path = plistlib.load(open(file, "rb"))["Sockets"]["rpc"]["SockPathName"]
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    subprocess.Popen([sys.executable, "-c", CODE, str(listener.fileno())],
                     pass_fds=[listener.fileno()], start_new_session=True,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode = 0
if verb == "bootout":
    import glob
    for path in glob.glob(home + "/Library/Application Support/podium/podium.sock"):
        os.unlink(path)
"""


@pytest.fixture
def mac() -> Iterator[Person]:
    """A home with a ``launchctl`` that notes its calls and holds a socket."""
    with tempfile.TemporaryDirectory(prefix="p") as root, person(Path(root)) as made:
        made.noting("launchctl", DAEMON.replace("{{", "{").replace("}}", "}"))
        yield made


def service(mac: Person, *words: str) -> int:
    """``podiumd service`` as it would be on macOS."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(words, argparse.Namespace(config=None))
    return command.main(options, mac.environment(), "darwin")


def test_on_macos_the_agent_is_loaded_and_taken_away_again(
    mac: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    before = mac.files()

    assert service(mac, "install") == 0, capsys.readouterr()
    said = capsys.readouterr().out
    installed = mac.calls
    mac.forget_calls()
    assert service(mac, "uninstall") == 0, capsys.readouterr()

    file = mac.home / "Library" / "LaunchAgents" / "podiumd.plist"
    domain = f"gui/{os.getuid()}"
    assert installed == [
        ["launchctl", "bootout", f"{domain}/podiumd"],
        ["launchctl", "enable", f"{domain}/podiumd"],
        ["launchctl", "bootstrap", domain, str(file)],
    ]
    assert mac.calls == [["launchctl", "bootout", f"{domain}/podiumd"]]
    assert "Podium runs as a service (launchd): pid " in said and "'caffeinate -i -w " in said
    assert json.loads((mac.home / ".stand-in" / "bye").read_text()) == {"turns": "interrupt"}
    assert mac.files() == before and not file.parent.exists()


def test_the_daemons_log_is_a_file_there(mac: Person, capsys: pytest.CaptureFixture[str]) -> None:
    state = mac.home / "Library" / "Application Support" / "podium"
    assert service(mac, "logs") == 1
    assert "There is no log at" in capsys.readouterr().err
    state.mkdir(parents=True)
    line = {"ts": "2026-01-31T10:00:00.000Z", "level": "error", "event": "Gone", "pid": 7}
    (state / "podiumd.log").write_text(json.dumps(line) + "\n")

    assert service(mac, "logs", "--level", "warning") == 0
    assert capsys.readouterr().out == "2026-01-31T10:00:00.000Z ERROR Gone pid=7\n"


def test_only_macos_asks_launchd() -> None:
    asked: list[str] = []

    def ask(name: str) -> list[int]:
        asked.append(name)
        return []

    handed_over({}, 1, "linux", ask)
    assert asked == []
    handed_over({}, 1, "darwin", ask)
    assert asked == ["rpc", "gateway"]


def test_launchds_sockets_are_served_on(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    number = listener.detach()

    handed = handed_over({}, 1, "darwin", lambda name: [number] if name == "rpc" else [])

    assert handed.rpc_path == tmp_path / "s" and handed.gateway == []
    handed.close()
