"""A pipe in the place of a file of the client's is refused, and never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.fake_daemon import FakeDaemon, environment, podium
from tests.patience import HANG_SECONDS


@pytest.mark.parametrize(
    "arguments",
    [
        ("recipe", "outcome", "fix-it", "fix", "pipe"),
        ("recipe", "sim", "fix-it", "--step", "fix", "--script", "pipe"),
        ("transcribe", "pipe"),
    ],
)
def test_a_pipe_that_is_named_is_refused(
    daemon: FakeDaemon, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = podium(daemon, *arguments, cwd=tmp_path)
    assert done.returncode != 0 and daemon.calls == []
    assert "pipe" in done.stderr and "this is no plain file" in done.stderr


def test_what_a_shell_hands_over_is_read_though_it_is_a_pipe(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.outcome"] = {"ok": True, "outcome": "done", "source": "text"}
    line = (
        f"exec {sys.executable} -m podium recipe outcome fix-it fix <(sleep 0; echo words) --json"
    )
    subprocess.run(["bash", "-c", line], env=environment(daemon.path), check=True)
    assert daemon.params_of("recipes.outcome")[0]["text"] == "words\n"


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("state/chat_history", "from podium.chat import history; assert history.read() == []"),
        (
            "state/podiumd.lock",
            "from podium import orphan_daemon; assert orphan_daemon.daemon_pid() is None",
        ),
        (
            "systemd/user/podiumd.socket",
            "from podium.rpc import installed; assert not installed.serves('/run/podium.sock')",
        ),
    ],
)
def test_a_pipe_in_the_place_of_a_file_of_podium_is_passed_over(
    tmp_path: Path, place: str, code: str
) -> None:
    (tmp_path / place).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / place)
    (tmp_path / place).with_name("podiumd.service").touch()
    settings = {"PODIUM_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", code],
        env={**environment(tmp_path / "socket"), **settings},
        timeout=HANG_SECONDS,
        check=True,
    )
