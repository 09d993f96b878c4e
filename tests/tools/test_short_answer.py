"""A program that is asked for a few lines."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from podiumd.tools.process.short_answer import (
    MOST_ANSWERED,
    AnsweredTooMuchError,
    short_answer,
)
from tests.patience import HANG_SECONDS

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def sh(script: str, seconds: float = HANG_SECONDS) -> subprocess.CompletedProcess[bytes]:
    return short_answer(["sh", "-c", script], ENVIRONMENT, seconds, cwd="/")


def test_status_and_both_streams_come_back() -> None:
    done = sh("pwd; echo no >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"/\n", b"no\n")


@pytest.mark.parametrize("stream", [1, 2])
def test_one_that_prints_without_end_is_killed_soon(tmp_path: Path, stream: int) -> None:
    counted = tmp_path / "counted"
    with pytest.raises(AnsweredTooMuchError):
        sh(f"while printf %1024s >&{stream}; do echo >> {counted}; done")
    assert counted.stat().st_size * 1024 < 8 * MOST_ANSWERED


def test_one_that_does_not_answer_is_killed_with_what_it_started(tmp_path: Path) -> None:
    """Both would hold the pipe open: its end is read once neither lives."""
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(subprocess.TimeoutExpired):
        sh(f"exec 3> {held}; sleep 600; echo late", 0.3)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_what_is_no_program_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        short_answer(["/no/program"], ENVIRONMENT, HANG_SECONDS)
