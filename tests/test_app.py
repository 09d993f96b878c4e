"""The daemon as a whole: what keeps it from starting is one sentence that says what to change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
