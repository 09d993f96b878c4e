"""The daemon as a whole: what keeps it from starting is one sentence that says what to change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long import sampled
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
    ("closed", "code", "words"),
    [(">&-", 0, ""), (">/dev/full", 1, "podiumd: standard output: No space left on device.\n")],
)
def test_an_output_that_takes_nothing_costs_no_traceback(
    tmp_path: Path, closed: str, code: int, words: str
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m podiumd config show {closed}"],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "daemon")},
        timeout=HANG_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (code, "", words)


def test_the_doctor_speaks_into_a_closed_output_too(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m podiumd doctor >&-"],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "daemon"), "PATH": str(tmp_path)},
        timeout=HANG_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")  # there is no git


def test_a_script_by_half_a_path_is_asked_for_by_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[agents.scripted]\nscript = "turns.toml"\n')

    done = podiumd(tmp_path)

    assert done.returncode == 1
    assert done.stderr == (
        f"podiumd: {tmp_path}/config.toml:2: agents.scripted.script: turns.toml: cannot be read: "
        "No such file or directory; give the whole path\n"
    )


def test_a_script_may_be_named_from_the_home(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[agents.scripted]\nscript = "~/turns.toml"\n')

    done = podiumd(tmp_path)

    assert f"agents.scripted.script: {tmp_path}/turns.toml: cannot be read: No such" in done.stderr


@pytest.mark.parametrize(
    ("written", "reason"),
    sampled(
        [
            (b"[[turns]\n", "not TOML: "),
            (None, "cannot be read: No such file or directory"),
            (b"\xff\xfe", "cannot be read: it is not UTF-8 text"),
        ]
    ),
)
def test_a_script_that_cannot_be_used_is_named_with_its_setting(
    tmp_path: Path, written: bytes | None, reason: str
) -> None:
    script = tmp_path / "script.toml"
    if written is not None:
        script.write_bytes(written)

    done = podiumd(tmp_path, PODIUM_AGENTS_SCRIPTED_SCRIPT=str(script))

    assert done.returncode == 1
    place = "environment PODIUM_AGENTS_SCRIPTED_SCRIPT"
    assert done.stderr.startswith(f"podiumd: {place}: agents.scripted.script: {script}: {reason}")
    assert done.stderr.count("\n") == 1


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
