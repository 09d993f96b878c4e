"""Every end of the daemon stands in a log: its own, or that of the daemon after it."""

from __future__ import annotations

import faulthandler
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podiumd.observe import crash_report as module
from podiumd.observe.crash_report import NAME, keep_crash_report
from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[1]


class Told(Exception):
    """Told by somebody else."""


@pytest.fixture(autouse=True)
def _faults_as_they_were() -> Any:
    enabled = faulthandler.is_enabled()
    yield
    if enabled:
        faulthandler.enable()


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    return [(one.message, one.__dict__["podium"]) for one in caplog.records]


def test_an_end_in_order_leaves_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with keep_crash_report(tmp_path, Told):
            assert (tmp_path / NAME).read_text().startswith("pid ")
            assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
        assert list(tmp_path.iterdir()) == []
    assert events(caplog) == []


def test_a_crash_is_logged_with_its_traceback_and_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ZeroDivisionError), keep_crash_report(tmp_path, Told):
        _ = 1 / 0
    (record,) = caplog.records
    assert record.message == "Daemon crashed" and record.exc_info is not None
    with pytest.raises(Told), keep_crash_report(tmp_path, Told):
        raise Told
    assert len(caplog.records) == 1 and list(tmp_path.iterdir()) == []


CHILD = """
import os, sys, signal
from pathlib import Path
from podiumd.observe.crash_report import keep_crash_report
with keep_crash_report(Path(sys.argv[1]), RuntimeError):
    os.kill(os.getpid(), int(sys.argv[2]))
"""


def killed_by(state: Path, number: int) -> str:
    """Let a daemon die of a signal; returns its pid."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(state), str(number)],
        env={"PYTHONPATH": str(ROOT / "daemon")},
        stderr=subprocess.PIPE,
    )
    child.communicate(timeout=HANG_SECONDS)
    assert child.returncode == -number
    return str(child.pid)


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_the_stacks_of_a_daemon_that_was_aborted_are_told_by_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: signal.Signals
) -> None:
    pid = killed_by(tmp_path, number)
    with keep_crash_report(tmp_path, Told):
        pass
    ((event, fields),) = events(caplog)
    assert (event, fields["pid"]) == ("The daemon before was aborted", pid)
    assert fields["reason"].startswith("Fatal Python error: ")
    assert "<string>" in fields["stacks"]


def test_a_daemon_that_was_killed_is_told_of_by_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pid = killed_by(tmp_path, signal.SIGKILL)
    with keep_crash_report(tmp_path, Told):
        pass
    ((event, fields),) = events(caplog)
    assert (event, fields["pid"]) == ("The daemon before ended without a word", pid)


def test_a_file_that_cannot_be_kept_or_read_costs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / NAME).mkdir()
    with keep_crash_report(tmp_path, Told):
        pass
    assert [event for event, _ in events(caplog)] == [
        "Last words cannot be read",
        "Last words cannot be kept",
    ]


def test_a_link_in_its_place_is_not_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    victim = tmp_path / "victim"
    (tmp_path / NAME).symlink_to(victim)
    with keep_crash_report(tmp_path, Told):
        pass
    assert not victim.exists()
    assert module.NAME not in [path.name for path in tmp_path.iterdir()]


def test_what_keeps_a_detached_daemon_from_starting_stands_in_its_log(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state/facts.db").write_text("no database")
    done = subprocess.run(
        [sys.executable, "-m", "podiumd", "--detached", "--log-format", "json"],
        env={
            "HOME": str(tmp_path),
            "PODIUM_HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT / "daemon"),
            "PODIUM_GATEWAY_ENABLED": "false",
        },
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    log = (tmp_path / "state/podiumd.log").read_text().splitlines()
    line = json.loads(log[-1])
    assert done.returncode == 1
    assert (line["level"], line["event"]) == ("error", "Daemon did not start")
    assert done.stderr == f"podiumd: {line['reason']}\n"
    assert not (tmp_path / "state" / NAME).exists()
