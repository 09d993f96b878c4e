"""A client that was forked ends, and says, what one of a fresh interpreter does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.fake_daemon import FakeDaemon, environment, start
from tests.client.processes import Piped


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("runs", "--nothing"),
        ("runs",),
        ("answer", "7ab1e", "-"),
        ("recipe", "outcome", "a"),
    ],
    ids=" ".join,
)
def test_its_words_and_its_exit_code_are_the_same(
    daemon: FakeDaemon, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    daemon.answers["runs.list"] = 7  # a fault of the client
    variables, words = environment(daemon.path, TZ="Asia/Tokyo"), "Grüße\n".encode()
    anew = subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        input=words,
        capture_output=True,
        cwd=tmp_path,
        env=variables,
        check=False,
    )
    asked = list(daemon.calls)
    daemon.calls.clear()

    with Piped(arguments, variables, words, tmp_path) as forked:
        out, err = forked.communicate()

    assert (forked.returncode, out.encode(), err.encode()) == (
        anew.returncode,
        anew.stdout,
        anew.stderr,
    )
    assert daemon.calls == asked


def test_an_end_by_a_signal_is_told_as_that(daemon: FakeDaemon) -> None:
    with start(daemon, "run", "fix-it") as client:
        client.send_signal(signal.SIGKILL)

    assert client.returncode == -signal.SIGKILL
