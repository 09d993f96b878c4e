"""An agent that loses a session which it loads in its first minute waits, and a copy is kept."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podiumd.agents.acp.minute import prepare, seconds_left, session_file, waiting

NOW = datetime(2026, 11, 22, 10, 15, 26, tzinfo=UTC)
FILES = "~/.gemini/tmp/*/chats/session-*-{id8}.jsonl"
SESSION = "47883827-884f-4e38-ad51-d974d870da0a"


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("session-2026-11-22T10-15-47883827.jsonl", 35),
        ("session-2026-11-22T10-14-47883827.jsonl", 0),
        ("session-2026-11-22T10-16-47883827.jsonl", 0),
        ("session-47883827.jsonl", 0),
    ],
)
def test_the_rest_of_the_minute_is_waited_for(name: str, seconds: int) -> None:
    assert seconds_left(name, NOW) == seconds


def test_the_wait_is_never_longer_than_a_minute() -> None:
    first = NOW.replace(second=0)
    assert (
        max(
            seconds_left("session-2026-11-22T10-15-x", first + timedelta(seconds=one))
            for one in range(60)
        )
        == 60
    )


def test_the_file_of_a_session_is_found_by_its_id_and_copied(tmp_path: Path) -> None:
    assert prepare(FILES, str(tmp_path), SESSION, tmp_path / "none") == 0
    chats = tmp_path / ".gemini" / "tmp" / "w" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-11-22T10-15-11111111.jsonl").write_text("another")
    own = chats / "session-2026-11-22T10-15-47883827.jsonl"
    own.write_text("words")
    assert session_file(FILES, str(tmp_path), SESSION) == own
    copy = tmp_path / "kept" / "it.copy"
    assert prepare(FILES, str(tmp_path), SESSION, copy) == 0  # its minute is long over
    assert copy.read_text() == "words" and copy.stat().st_mode & 0o077 == 0


def test_the_process_says_that_it_waits_and_becomes_the_agent() -> None:
    command = waiting(["sh", "-c", 'echo "$0 $$"', "it's me"], "gemini", 0)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={"PATH": os.defpath})
    said, _ = process.communicate()
    notice, words = said.decode().splitlines()
    assert "waiting 0 s: gemini" in notice and "_podium/status" in notice
    assert words == f"it's me {process.pid}"
