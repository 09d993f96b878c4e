"""``podiumd doctor`` as a person runs it: whole, on the disk, with and without a daemon."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from podiumd import __main__ as program_of_the_daemon
from podiumd.config.settings import Config
from podiumd.doctor import run
from podiumd.doctor.subject import Subject, find_daemon
from podiumd.host.instance import hold_lock
from podiumd.observe.checks import Check, ok
from tests.doctor.patient import program, snapshot, subject


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Doctor = Callable[..., Done]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """The command, with no variable of ours."""

    def examine(home: Path, *options: str, **environ: str) -> Done:
        base = {
            "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home),
            "PODIUM_GATEWAY_PORT": "0",
        }
        with patch.dict(os.environ, base | environ, clear=True):
            code = program_of_the_daemon.main(["doctor", *options])
        return Done(code, *capsys.readouterr())

    return examine


@pytest.fixture
def home() -> Iterator[Path]:
    # Short: the path of a socket may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="podium-") as directory:
        place = Path(directory, "home")
        place.mkdir()
        program(place, "claude", "echo 2.1.0")
        yield place


def test_a_machine_on_which_nothing_was_started_yet_is_well_and_stays_untouched(
    home: Path, doctor: Doctor
) -> None:
    before = snapshot(home)
    done = doctor(home, "--json")
    states = {one["check"]: one["state"] for one in json.loads(done.stdout)["checks"]}
    assert (done.returncode, done.stderr) == (0, "")
    assert set(states) == {name for name, _ in run.checks_of(Config())} | {"index.db"}
    assert "broken" not in states.values()
    assert snapshot(home) == before


def test_a_home_that_cannot_be_written_is_told_of_and_stays_untouched(
    home: Path, doctor: Doctor
) -> None:
    (home / ".config").mkdir()
    for path in (*home.rglob("*"), home):
        path.chmod(0o555)
    before = snapshot(home)
    done = doctor(home)
    after = snapshot(home)
    home.chmod(0o755)
    assert "Traceback" not in done.stdout + done.stderr and after == before
    if os.getuid():  # to the administrator every home is open
        assert done.returncode == 1 and "cannot be made" in done.stdout


def test_a_broken_configuration_is_the_first_thing_told_and_the_rest_is_looked_at(
    home: Path, doctor: Doctor
) -> None:
    (home / "config.toml").write_text("[limits]\nmax_agentss = 1\n")
    done = doctor(home, PODIUM_HOME=str(home))
    first, *others = done.stdout.splitlines()
    assert done.returncode == 1
    assert first.startswith("broken  configuration ")
    assert "config.toml:2: unknown key 'limits.max_agentss'" in first
    assert "('podium doctor --all' lists them)" in others[-1]
    whole = doctor(home, "--all", PODIUM_HOME=str(home)).stdout.splitlines()
    assert whole[0].split() == first.split() and len(whole) == len(run.checks_of(Config())) + 2


def test_a_socket_path_that_is_too_long_is_one_sentence(home: Path, doctor: Doctor) -> None:
    done = doctor(home, PODIUM_SOCKET="/" + "x" * 200)
    assert done.returncode == 1 and done.stderr.startswith("podiumd: The socket path /xxx")


def test_a_check_that_fails_itself_does_not_hide_the_others(tmp_path: Path) -> None:
    def failing(_: Subject) -> list[Check]:
        raise KeyError("x")

    def well(_: Subject) -> list[Check]:
        return [ok("b", "well")]

    first, second = run.look_at(subject(tmp_path), [("a", failing), ("b", well)])
    assert (first.check, first.state) == ("a", "broken") and "KeyError" in first.message
    assert second.state == "ok"


def test_every_check_looks_and_leaves_no_trace(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), daemon_environ={"PATH": os.environ["PATH"]})
    before = snapshot(tmp_path)
    checks = run.look_at(patient, run.checks_of(patient.config))
    assert not [one for one in checks if "check failed" in one.message]
    assert snapshot(tmp_path) == before


def test_the_daemon_is_found_by_the_lock_that_it_holds(tmp_path: Path) -> None:
    places = subject(tmp_path).places
    assert find_daemon(places).pid is None
    with hold_lock(places.instance_lock):
        found = find_daemon(places)
    assert (found.pid, found.status) == (os.getpid(), None)
    assert found.silent == "No such file or directory"
    assert find_daemon(places).pid is None
