"""The daemon as a whole: what keeps it from starting is one sentence that says what to change."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NoReturn

import pytest

from podiumd.config.load import Loaded, load
from podiumd.config.paths import prepare
from podiumd.daemon import app, demo
from podiumd.daemon.demo import NEXT, RECIPE
from podiumd.doctor.run import why_unready
from tests.doctor.patient import subject, with_settings
from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[1]


def podiumd(home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a daemon that is not going to start, in a home of its own."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PODIUM_HOME": str(home),
        "PYTHONPATH": str(ROOT / "daemon"),
        "PODIUM_GATEWAY_ENABLED": "false",
    }
    return subprocess.run(
        [sys.executable, "-m", "podiumd"],
        capture_output=True,
        text=True,
        env=environment | settings,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("config show >&-", 0, ""),
        (
            "config show >/dev/full",
            1,
            "podiumd: standard output: No space left on device.\n",
        ),
        ("doctor >&-", 1, ""),  # there is no git
    ],
)
def test_an_output_that_takes_nothing_costs_no_traceback(
    tmp_path: Path, command: str, code: int, words: str
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m podiumd {command}"],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "daemon"), "PATH": str(tmp_path)},
        timeout=HANG_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (code, "", words)


def test_a_script_by_half_a_path_is_asked_for_by_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[agents.scripted]\nscript = "turns.toml"\n')

    done = podiumd(tmp_path)

    assert done.returncode == 1
    assert done.stderr == (
        f"podiumd: {tmp_path}/config.toml:2: agents.scripted.script: turns.toml: cannot be read: "
        "No such file or directory; give the whole path\n"
    )


SERVING = """
import gc, sys
from podiumd import __main__
from podiumd.daemon import app
with __main__._importing():
    print(gc.isenabled())
    junk = []
    junk.append(junk)
app.run = lambda *_: print(gc.isenabled(), gc.get_freeze_count() > 10_000, junk in gc.get_objects())
sys.exit(__main__.main([]))
"""


def test_garbage_is_collected_but_never_looked_for_in_what_was_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVING],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "daemon")},
        timeout=HANG_SECONDS,
        check=False,
    )

    assert (done.stdout.splitlines(), done.stderr) == (["False", "True True False"], "")


# -- what keeps the daemon from starting is said in a sentence -------------------------------


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    home = tmp_path / "home"
    home.mkdir()
    environ = {"HOME": str(home), "PODIUM_HOME": str(tmp_path / "podium")}
    found = load(environ, sys.platform, home, None)
    prepare(found.places, os.getuid())
    return found


def start(loaded: Loaded) -> None:
    app.run(loaded.config, loaded.places, {"HOME": str(loaded.places.state.parent)})


@pytest.mark.parametrize("what", ["hold_lock", "listening", "LeaseBook", "open_store"])
def test_a_full_disk_is_named_wherever_it_is_met(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(app, what, full)
    with pytest.raises(app.CannotStart, match=r"^The disk of .* is full. Free some space\.$"):
        start(loaded)


def test_another_fault_of_the_system_is_not_taken_for_a_full_disk(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(app, "hold_lock", broken)
    with pytest.raises(OSError, match="Input/output error"):
        start(loaded)


# -- what ``make run`` says at its end -------------------------------------------------------


def test_no_line_of_the_words_at_its_end_is_broken_at_eighty_columns() -> None:
    said = NEXT.format(recipe=RECIPE, repository="/tmp/podium-demo-abcdefgh/shop")
    assert max(map(len, said.splitlines())) <= 80


def test_no_agent_is_missed_that_the_demo_has_no_use_for(tmp_path: Path) -> None:
    """A person without one would read of it in the second line."""
    patient = subject(tmp_path)
    assert why_unready(patient) != ""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    home = demo._environment(scratch)["PODIUM_HOME"]
    written = tomllib.loads(Path(home, "config.toml").read_text())
    provider = written["agents"]["native"]["provider"]
    assert why_unready(with_settings(patient, agents__native__provider=provider)) == ""
