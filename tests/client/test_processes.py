"""A client that was forked ends, and says, what one of a fresh interpreter does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from podium import __main__
from tests.client import processes
from tests.client.fake_daemon import FakeDaemon, environment, podium, start
from tests.client.processes import USUAL, Piped, is_usual


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


def test_a_request_that_is_wrong_ends_its_own_process_alone_and_says_why(
    daemon: FakeDaemon,
) -> None:
    words, theirs = os.pipe()
    ours, channel = socket.socketpair()
    with open(os.devnull) as nothing, ours, channel:
        streams = [nothing.fileno(), theirs, theirs]
        socket.send_fds(processes._parent(), [b"!"], [*streams, channel.fileno()])
        ours.sendall(b'{"arguments": ')
        ours.shutdown(socket.SHUT_WR)
        os.close(theirs)
        channel.close()
        with ours.makefile("rb") as told:
            _, code = told.read().split()
    with open(words) as said:
        assert (code, "JSONDecodeError" in said.read()) == (b"1", True)
    with pytest.raises(TypeError, match="not JSON serializable"):
        Piped((b"--help",), environment(daemon.path))  # type: ignore[arg-type]

    assert podium(daemon, "--version").returncode == 0


@pytest.mark.parametrize(
    ("changes", "usual"),
    [
        ({"TERM": "xterm", "PODIUM_SOCKET": "/x"}, True),
        ({"PYTHONUTF8": "1"}, False),
        ({"LC_ALL": "C"}, False),
        ({"LANG": "C"}, False),
        ({"LANG": None}, False),
        ({"PYTHONPATH": None}, False),
    ],
)
def test_a_fresh_interpreter_is_started_where_it_would_be_another_one(
    changes: dict[str, str | None], usual: bool
) -> None:
    changed = {**USUAL, **changes}
    variables = {name: value for name, value in changed.items() if value is not None}

    assert is_usual(variables) is usual


def test_an_end_by_a_signal_is_told_as_that(daemon: FakeDaemon) -> None:
    with start(daemon, "run", "fix-it") as client:
        client.send_signal(signal.SIGKILL)

    assert client.returncode == -signal.SIGKILL


def test_a_daemon_that_sends_less_is_named_as_the_cause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"run_id": "1a2b"}
    monkeypatch.setattr("podium.commands.runs.call", lambda _method, _params: row)
    assert __main__.main(["runs", "rename", "1a2b", "A title"]) == 1
    assert "KeyError: 'name'); a daemon of another release may send less" in capsys.readouterr().err
