"""``podium service install`` to ``uninstall`` in a home of its own, with the real daemon.

``systemctl`` is a stand-in that notes its calls and runs what the written unit says.
"""

from __future__ import annotations

import json
import socket
import stat
from functools import partial
from pathlib import Path

import pytest

from podiumd.service.runner import Runner, StepFailed
from podiumd.service.systemd import Systemd
from tests.service.person import Person
from tests.service.situations import situation

# The stand-in starts daemons as systemd does, with their sockets.
pytestmark = pytest.mark.needs("systemd-socket-activate")

INSTALL = [
    ["systemctl", "--user", "daemon-reload"],
    ["systemctl", "--user", "enable", "podiumd.service", "podiumd.socket"],
    ["systemctl", "--user", "stop", "podiumd.service", "podiumd.socket"],
    ["systemctl", "--user", "start", "podiumd.socket", "podiumd.service"],
]

SHELL = {
    "ANTHROPIC_API_KEY": "sk-ant-secret",
    "PODIUM_LIMITS_MAX_AGENTS": "7",
    "EDITOR": "vi",
}


def test_installed_it_runs_and_uninstalled_nothing_is_left(somebody: Person) -> None:
    before = somebody.files()

    done = somebody.podium("service", "install", **SHELL)

    assert done.returncode == 0, done.stderr + somebody.log()
    assert somebody.calls == INSTALL
    status = somebody.status()
    assert f"Podium runs as a service (systemd): pid {status['pid']}" in done.stdout
    assert "loginctl enable-linger person" in done.stdout
    assert status["service"] == "systemd"
    service, socket = (somebody.units / f"podiumd.{kind}" for kind in ("service", "socket"))
    assert stat.S_IMODE(service.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.stat().st_mode) == 0o644
    text = service.read_text()
    assert f'Environment="PATH={somebody.environment()["PATH"]}"' in text
    assert 'Environment="ANTHROPIC_API_KEY=sk-ant-secret"' in text
    assert 'Environment="PODIUM_LIMITS_MAX_AGENTS=7"' in text
    assert "EDITOR" not in text
    somebody.forget_calls()

    done = somebody.podium("service", "uninstall")

    assert done.returncode == 0, done.stderr
    assert somebody.files() == before
    assert not somebody.units.exists() and not somebody.socket.exists()
    assert somebody.living() == []
    verbs = [call[2] for call in somebody.calls]
    assert verbs == ["stop", "stop", "disable", "daemon-reload", "reset-failed"]


def test_a_dry_run_shows_everything_but_secrets_and_does_nothing(somebody: Person) -> None:
    before = somebody.files()

    done = somebody.podium("service", "install", "--dry-run", ANTHROPIC_API_KEY="sk-ant-secret")

    assert done.returncode == 0, done.stderr
    assert f"write {somebody.units}/podiumd.service (0600)" in done.stdout
    assert "run: systemctl --user start podiumd.socket podiumd.service" in done.stdout
    assert "ExecStart=" in done.stdout and "ListenStream=" in done.stdout
    assert "sk-ant-secret" not in done.stdout
    assert (somebody.files(), somebody.calls, somebody.living()) == (before, [], [])


def test_up_and_down_are_the_services_and_no_second_daemon_comes(somebody: Person) -> None:
    somebody.podium("service", "install")
    first = somebody.status()["pid"]

    again = somebody.podium("up")
    down = somebody.podium("down")

    assert again.stdout.startswith(f"Podium is already running as a service: pid {first}, ")
    assert down.stdout.startswith("Podium has stopped. It is a service: it starts again at the ")
    assert somebody.living() == [] and not somebody.socket.exists()
    assert somebody.podium("status").returncode == 6
    somebody.forget_calls()

    up = somebody.podium("up")

    status = somebody.status()
    assert up.stdout.startswith(f"Podium is running as a service: pid {status['pid']}, ")
    assert status["pid"] != first and status["service"] == "systemd"
    assert somebody.calls == [["systemctl", "--user", "start", "podiumd.socket", "podiumd.service"]]
    assert (
        f"running as a service (systemd), pid {status['pid']}" in somebody.podium("status").stdout
    )


def test_a_daemon_of_a_home_of_its_own_is_not_the_service(somebody: Person, tmp_path: Path) -> None:
    somebody.podium("service", "install")
    own = tmp_path / "own"
    own.mkdir()
    (own / "config.toml").write_text("[gateway]\nenabled = false\n")

    up = somebody.podium("up", PODIUM_HOME=str(own))
    somebody.forget_calls()
    down = somebody.podium("down", PODIUM_HOME=str(own))

    assert up.stdout.startswith("Podium is running: pid "), up.stderr
    assert down.stdout.startswith("Podium has stopped (pid ")
    assert somebody.calls == []
    assert somebody.status()["service"] == "systemd"


def test_a_daemon_started_by_hand_makes_way_for_the_service(somebody: Person) -> None:
    by_hand = json.loads(somebody.podium("up", "--json").stdout)["pid"]

    done = somebody.podium("service", "install")

    assert done.returncode == 0, done.stderr
    status = somebody.status()
    assert status["service"] == "systemd" and status["pid"] != by_hand
    assert not any(f"pid {by_hand}" in line for line in somebody.living())


def test_installing_again_brings_the_unit_up_to_date(somebody: Person) -> None:
    somebody.podium("service", "install")
    first = somebody.status()["pid"]
    unit = somebody.units / "podiumd.service"
    unit.write_text(unit.read_text().replace("WatchdogSec=30", "WatchdogSec=5"))
    old = json.loads(somebody.podium("service", "status", "--json").stdout)

    done = somebody.podium("service", "install")

    new = json.loads(somebody.podium("service", "status", "--json").stdout)
    assert done.returncode == 0, done.stderr
    assert (old["current"], new["current"]) == (False, True)
    assert new["pid"] == somebody.status()["pid"] != first


def test_restart_lets_the_next_daemon_take_over(somebody: Person) -> None:
    somebody.podium("service", "install")
    first = somebody.status()["pid"]

    done = somebody.podium("service", "restart")

    assert done.returncode == 0, done.stderr
    assert f"pid {somebody.status()['pid']}" in done.stdout
    assert somebody.status()["pid"] != first


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_the_gateways_port_can_be_held_as_well(somebody: Person) -> None:
    port = free_port()
    somebody.configure(f"[gateway]\nport = {port}\n")

    done = somebody.podium("service", "install", "--gateway-socket")

    assert done.returncode == 0, done.stderr + somebody.log()
    assert somebody.status()["gateway"]["url"] == f"ws://127.0.0.1:{port}"
    unit = somebody.units / "podiumd-gateway.socket"
    assert f"ListenStream=127.0.0.1:{port}" in unit.read_text()
    assert somebody.podium("service", "install").returncode == 0
    assert not (somebody.units / "podiumd-gateway.socket").exists()


def test_a_port_of_any_kind_cannot_be_held(somebody: Person) -> None:
    done = somebody.podium("service", "install", "--gateway-socket")

    assert (done.returncode, done.stdout) == (1, "")
    assert "needs a gateway that is on and has a port of its own" in done.stderr


def test_status_tells_what_the_manager_says(somebody: Person) -> None:
    absent = somebody.podium("service", "status")
    somebody.podium("service", "install")
    present = somebody.podium("service", "status")
    somebody.podium("down")
    stopped = somebody.podium("service", "status", "--json")

    assert (absent.returncode, present.returncode, stopped.returncode) == (6, 0, 6)
    assert "not installed as a service: 'podium service install' does it" in absent.stdout
    assert "systemd, enabled" in present.stdout and "active (running), pid" in present.stdout
    assert "loginctl enable-linger" in present.stdout
    told = json.loads(stopped.stdout)
    assert (told["installed"], told["running"], told["pid"]) == (True, False, None)


def test_a_unit_that_cannot_be_read_is_named_with_what_mends_it(somebody: Person) -> None:
    somebody.podium("service", "install")
    unit = somebody.home / ".config/systemd/user/podiumd.service"
    unit.write_bytes(b"\xff\xfe not a unit")

    done = somebody.podium("service", "status")

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{unit} cannot be read" in done.stderr
    assert "'podium service install' writes it anew" in done.stderr


def test_a_configuration_that_cannot_be_read_stops_install_alone(somebody: Person) -> None:
    somebody.podium("service", "install")
    somebody.configure("[gateway]\nprot = 1\n")

    again = somebody.podium("service", "install")
    gone = somebody.podium("service", "uninstall")

    assert again.returncode == 1 and "unknown key 'gateway.prot'" in again.stderr
    assert gone.returncode == 0 and somebody.living() == []


def test_what_is_not_installed_cannot_be_taken_away(somebody: Person) -> None:
    done = somebody.podium("service", "uninstall")

    assert done.returncode == 1
    assert done.stderr == (
        "podium: Podium is not installed as a service: 'podium service install' does it.\n"
    )


def test_up_in_the_foreground_beside_a_service_is_refused(somebody: Person) -> None:
    somebody.podium("service", "install")
    somebody.podium("down")

    foreground = somebody.podium("up", "--foreground")
    config = somebody.podium("up", "--config", "other.toml")

    assert foreground.returncode == 1 and "a second daemon" in foreground.stderr
    assert (
        config.returncode == 1 and "'podium service install --config other.toml'" in config.stderr
    )


def test_a_program_that_needs_this_shell_is_found_out_before_anything_is_written(
    somebody: Person,
) -> None:
    program = somebody.programs / "podiumd"
    somebody.program("podiumd", '#!/bin/sh\nexec test "$PYTHONPATH"\n')
    environ = {"XDG_RUNTIME_DIR": str(somebody.runtime)}
    made = situation(somebody.home, environ=environ, program=(str(program),))
    install = partial(Systemd().install, made)
    runner = Runner(somebody.socket, somebody.environment(PYTHONPATH="/lib"), print)
    before = somebody.files()

    with pytest.raises(StepFailed, match=r"podiumd --version' failed \(1\): no word"):
        runner.carry_out(install)
    program.unlink()
    with pytest.raises(StepFailed, match=r"podiumd: No such file or directory\.$"):
        runner.carry_out(install)

    assert (somebody.files(), somebody.calls) == (before, [])


def test_an_agent_that_the_service_would_not_find_is_named(somebody: Person) -> None:
    somebody.configure('[gateway]\nport = 0\n[agents.claude]\ncommand = "nobody"\n')

    done = somebody.podium("service", "install")

    assert done.returncode == 0
    assert "Note: the agent 'nobody' was not found on PATH." in done.stdout
