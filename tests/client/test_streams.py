"""Outputs that are closed or take no more: the exit code is right, and nothing odd is said."""

import subprocess
import sys

import pytest

from tests.client.fake_daemon import FakeDaemon, environment
from tests.client.test_views import STATUS
from tests.long import sampled
from tests.patience import HANG_SECONDS

FULL = "podium: No space left on device.\n"


def shell(daemon: FakeDaemon, command: str) -> subprocess.CompletedProcess[str]:
    """A command line of the real client, with the redirections that the shell makes of it."""
    line = command.replace("podium", f"{sys.executable} -m podium", 1)
    return subprocess.run(
        ["/bin/sh", "-c", line],
        capture_output=True,
        text=True,
        env=environment(daemon.path),
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    "command", sampled(["status", "--help", "status --json", "runs --all", "up"], 2)
)
def test_closed_outputs_cost_only_the_words(daemon: FakeDaemon, command: str) -> None:
    daemon.answers |= {"daemon.status": STATUS, "runs.list": []}
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        done = shell(daemon, f"podium {command} {closed}")

        assert (done.returncode, done.stderr) == (0, ""), (closed, done)


@pytest.mark.parametrize("command", ["status", "runs --json", "--help", "--version"])
def test_an_output_that_takes_no_more_is_one_sentence(daemon: FakeDaemon, command: str) -> None:
    daemon.answers |= {"daemon.status": STATUS, "runs.list": []}

    done = shell(daemon, f"podium {command} >/dev/full")

    assert (done.returncode, done.stderr) == (1, FULL)


def test_words_that_nobody_can_be_told_do_not_change_the_exit_code(daemon: FakeDaemon) -> None:
    daemon.stop()
    for lost in ("2>/dev/full", "2>&-"):
        done = shell(daemon, f"podium status {lost}")

        assert (done.returncode, done.stdout, done.stderr) == (6, "", "")


def test_a_closed_input_is_an_empty_one(daemon: FakeDaemon) -> None:
    done = shell(daemon, "podium prompt - <&-")

    assert done.returncode == 2
    assert done.stderr.startswith("podium: The text is empty")
