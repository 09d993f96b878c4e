"""``podium service``, ``up`` and ``down`` where the service manager cannot be reached, or refuses.

That is so in containers and after ``su`` or ``sudo``. The daemon is real, and so is ``systemctl``
in one of the cases: the homes of the tests have no bus.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from podiumd.service import command
from podiumd.service.arguments import add_arguments
from podiumd.service.launchd import Launchd
from podiumd.service.runner import Runner
from tests.long import sampled
from tests.service.person import Person
from tests.service.situations import previewed, situation


def broken(somebody: Person) -> None:
    (somebody.home / ".stand-in" / "broken").touch()


def really(somebody: Person) -> None:
    """The system's own ``systemctl``, if it has one, finds no bus in this home."""
    (somebody.programs / "systemctl").unlink()


def absent(somebody: Person) -> None:
    """No ``systemctl`` at all: the programs of this home are all that there is."""
    (somebody.programs / "systemctl").unlink()
    for name in ("python3", "git", "sh"):
        (somebody.programs / name).symlink_to(f"/usr/bin/{name}")
    whole = somebody.environment
    somebody.environment = lambda **more: whole(**({"PATH": str(somebody.programs)} | more))  # type: ignore[method-assign]


NO_BUS = pytest.mark.parametrize("no_bus", sampled([broken, really, absent]))


@NO_BUS
def test_install_changes_nothing_and_says_so(
    somebody: Person, no_bus: Callable[[Person], None]
) -> None:
    no_bus(somebody)
    up = somebody.podium("up")
    pid, before = somebody.status()["pid"], somebody.files()

    done = somebody.podium("service", "install")

    assert up.returncode == 0, up.stderr
    assert up.stdout.splitlines()[2].startswith("No agent is ready yet: ")
    assert (done.returncode, done.stdout) == (1, "")
    assert "systemd's user manager cannot be reached (" in done.stderr
    assert "nothing was changed. 'podium up' runs the daemon without a service." in done.stderr
    assert done.stderr.count("\n") == 1
    assert somebody.files() == before and not somebody.units.exists()
    assert (somebody.status()["pid"], somebody.calls) == (pid, [])


def test_a_dry_run_says_it_too(somebody: Person) -> None:
    broken(somebody)

    done = somebody.podium("service", "install", "--dry-run")

    assert (done.returncode, done.stdout) == (1, "")
    assert "Failed to connect to bus: No medium found" in done.stderr


@pytest.mark.parametrize("no_bus", [really])
@pytest.mark.needs("systemd-socket-activate")
def test_what_an_installation_left_behind_stands_in_nobodys_way(
    somebody: Person, no_bus: Callable[[Person], None]
) -> None:
    before = somebody.files()
    somebody.podium("service", "install")
    somebody.podium("down")
    wants = somebody.units / "default.target.wants"
    wants.mkdir()
    (wants / "podiumd.service").symlink_to(somebody.units / "podiumd.service")
    no_bus(somebody)

    up = somebody.podium("up")
    again = somebody.podium("up")
    status = somebody.podium("status")
    down = somebody.podium("down")
    foreground_is_free = somebody.living() == []
    third = somebody.podium("up")
    uninstall = somebody.podium("service", "uninstall")

    assert up.returncode == 0 and up.stdout.startswith("Podium is running: pid ")
    assert "its service manager does not answer here. The daemon starts without it" in up.stderr
    assert again.stdout.startswith("Podium is already running: pid ") and again.stderr == ""
    assert "running, pid" in status.stdout
    assert down.returncode == 0 and down.stdout.startswith("Podium has stopped (pid ")
    assert foreground_is_free
    assert third.returncode == 0
    assert uninstall.returncode == 0, uninstall.stderr
    assert "The service is gone." in uninstall.stdout
    assert somebody.files() == before and not somebody.units.exists()
    assert somebody.living() == []


@pytest.mark.needs("systemd-socket-activate")
@pytest.mark.long("test_what_an_installation_left_behind_stands_in_nobodys_way")
def test_a_service_that_runs_is_stopped_without_its_manager_and_may_come_back(
    somebody: Person,
) -> None:
    somebody.podium("service", "install")
    pid = somebody.status()["pid"]
    broken(somebody)

    down = somebody.podium("down")

    assert down.returncode == 0, down.stderr
    assert down.stdout.startswith(f"Podium has stopped (pid {pid}).\n")
    assert "its service manager does not answer here, so it may start" in down.stdout.lower()
    (somebody.home / ".stand-in" / "broken").unlink()


@pytest.mark.long("test_what_an_installation_left_behind_stands_in_nobodys_way")
def test_an_own_configuration_is_taken_where_no_service_can_be_started(somebody: Person) -> None:
    somebody.podium("service", "install")
    somebody.podium("down")
    broken(somebody)
    own = somebody.home / "own.toml"
    own.write_text("[gateway]\nenabled = false\n")

    up = somebody.podium("up", "--config", str(own))

    assert up.returncode == 0, up.stderr
    assert somebody.status()["gateway"]["enabled"] is False


@pytest.mark.needs("systemd-socket-activate")
@pytest.mark.long("test_what_an_installation_left_behind_stands_in_nobodys_way")
def test_one_unit_that_is_left_is_taken_away(somebody: Person) -> None:
    somebody.podium("service", "install")
    somebody.podium("down")
    (somebody.units / "podiumd.service").unlink()

    done = somebody.podium("service", "uninstall")

    assert done.returncode == 0, done.stderr
    assert not somebody.units.exists()


@pytest.mark.parametrize("verb", sampled(["daemon-reload", "start"]))
def test_an_installation_that_fails_is_taken_back(somebody: Person, verb: str) -> None:
    before = somebody.files()
    (somebody.home / ".stand-in" / f"fails-{verb}").touch()

    done = somebody.podium("service", "install")
    up = somebody.podium("up")

    assert done.returncode == 1
    assert f"'systemctl --user {verb}" in done.stderr
    assert "Access denied. Everything was put back; 'podium up' runs the daemon" in done.stderr
    assert somebody.files() == before and not somebody.units.exists()
    assert up.stdout.startswith("Podium is running: pid "), up.stderr


@pytest.mark.long("test_an_installation_that_fails_is_taken_back")
@pytest.mark.needs("systemd-socket-activate")
def test_an_upgrade_that_fails_leaves_the_service_that_was_there(somebody: Person) -> None:
    somebody.podium("service", "install")
    first = somebody.status()["pid"]
    unit = somebody.units / "podiumd.service"
    old = unit.read_text().replace("WatchdogSec=30", "WatchdogSec=5")
    unit.write_text(old)
    before = somebody.files()
    (somebody.home / ".stand-in" / "fails-enable").touch()

    done = somebody.podium("service", "install")

    assert done.returncode == 1
    assert somebody.files() == before
    assert (somebody.status()["pid"], somebody.status()["service"]) == (first, "systemd")


def test_on_macos_install_asks_for_the_graphical_session_first(
    somebody: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    somebody.noting("launchctl", 'print("Could not find domain for", file=sys.stderr); sys.exit(1)')
    before = somebody.files()
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(["install"], argparse.Namespace(config=None))

    code = command.main(options, somebody.environment(), "darwin")

    said = capsys.readouterr()
    assert (code, said.out) == (1, "")
    assert "launchd's graphical session cannot be reached (Could not find domain for)" in said.err
    assert "log in at the Mac's own screen first" in said.err
    assert (somebody.files(), somebody.calls) == (before, [])


def test_on_macos_the_daemon_is_stopped_only_once_all_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = situation(Path("/Users/ada"), "darwin")

    steps = [step.split()[0] for step in previewed(partial(Launchd().install, made), capsys)]

    assert steps.index("stop") > steps.index("write")
    assert Launchd().question(made) == ("launchctl", "print", f"gui/{made.uid}")


class Undone(Runner):
    """Notes as well that all files were put back."""

    def put_back(self) -> None:
        print("  0. put back")


def test_on_macos_what_was_loaded_before_is_loaded_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = situation(Path("/Users/ada"), "darwin")
    file, log = Launchd().files(made)
    old = situation(Path("/Users/ada"), "darwin", there=frozenset((file, log)))

    Launchd().undo(made, Undone(Path(), {}, print, str))
    fresh = capsys.readouterr().out.splitlines()
    Launchd().undo(old, Undone(Path(), {}, print, str))
    upgraded = capsys.readouterr().out.splitlines()

    out = "run: launchctl bootout gui/501/podiumd (it may fail)"
    again = f"run: launchctl bootstrap gui/501 {file} (it may fail)"
    assert [step[5:] for step in fresh] == [out, "put back"]
    assert [step[5:] for step in upgraded] == [out, "put back", again]
