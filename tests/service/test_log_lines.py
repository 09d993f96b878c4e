"""``podium service logs``: lines of both formats, chosen by level and time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podiumd.service.logs import NoLog, chosen, parse, since, tail
from tests.patience import HANG_SECONDS
from tests.service.person import Person

NOW = datetime(2026, 1, 31, 18, 0, tzinfo=UTC)
JSON = (
    '{"ts": "2026-01-31T17:59:00.000Z", "level": "warning", "event": "Accept failed",'
    ' "run_id": null, "reason": "no file left"}'
)
TEXT = "2026-01-31T17:00:00.000Z INFO Daemon ready pid=7"
LINES = [TEXT, "  some more of it", JSON, "Traceback (most recent call last):"]


def texts(level: str = "debug", after: datetime | None = None) -> list[str]:
    return [line.text for line in chosen(LINES, level, after)]


def test_a_line_of_json_is_told_as_text() -> None:
    line = parse(JSON + "\n")

    assert (line.ts, line.level) == ("2026-01-31T17:59:00.000Z", "warning")
    assert line.text == '2026-01-31T17:59:00.000Z WARNING Accept failed reason="no file left"'


def test_a_value_that_could_drive_a_terminal_is_shown_escaped() -> None:
    record = {"ts": "T", "level": "info", "event": "a\x1b[2J", "path": "b\x1b[2J", "c": ["\x9b"]}

    assert parse(json.dumps(record)).text == r'T INFO a\x1b[2J path=b\x1b[2J c=["\x9b"]'


@pytest.mark.parametrize("raw", ["", "{", '{"a": 1}', "[1]", "2026-01-31 no line of ours", "{}"])
def test_what_is_no_line_of_the_log_stays_as_it_is(raw: str) -> None:
    assert parse(raw) == ("", "", raw)


@pytest.mark.parametrize("mark", ["\x1b[2J", "\x1b]0;title\x07", "\u202e", "\x9b", "\r"])
@pytest.mark.parametrize("line", ["Traceback {}", "{{ {}", "2026-01-31T17:00:00.000Z INFO Odd {}"])
def test_a_line_that_is_no_json_drives_no_terminal(line: str, mark: str) -> None:
    told = parse(line.format(mark) + "\n").text

    assert told.isprintable() and told[0] == line[0]


def test_a_line_nested_without_end_is_shown_and_the_others_too() -> None:
    deep = '{"a":' * 100_000

    assert [line.text for line in chosen([deep, TEXT], "debug", None)] == [deep, TEXT]


def test_a_pipe_in_the_place_of_the_log_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "podiumd.log"
    os.mkfifo(pipe)

    with pytest.raises(NoLog, match="is no regular file: move it away"):
        tail(pipe, None, follow=False)


def test_lines_are_chosen_by_level_and_what_follows_a_line_belongs_to_it() -> None:
    warning = '2026-01-31T17:59:00.000Z WARNING Accept failed reason="no file left"'

    assert texts() == [TEXT, "  some more of it", warning, LINES[3]]
    assert texts("warning") == [warning, LINES[3]]
    assert texts("error") == []
    assert texts(after=NOW - timedelta(minutes=5)) == [warning, LINES[3]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("90s", NOW - timedelta(seconds=90)),
        ("10m", NOW - timedelta(minutes=10)),
        ("10min", NOW - timedelta(minutes=10)),
        ("2h", NOW - timedelta(hours=2)),
        ("3d", NOW - timedelta(days=3)),
        ("1w", NOW - timedelta(weeks=1)),
        ("2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("2026-01-31T10:00:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_a_time_is_an_age_or_a_date(words: str, expected: datetime) -> None:
    assert since(words, NOW) == expected


@pytest.mark.parametrize(
    "words", ["", "yesterday", "10", "m", "-5m", "99999999w", "0001-01-01T00:00:00+23:59"]
)
def test_another_word_for_a_time_is_named(words: str) -> None:
    with pytest.raises(ValueError, match="give an age like 10m, 2h or 1d, or a time like"):
        since(words, NOW)


def test_the_log_of_a_daemon_without_service_is_its_file(somebody: Person) -> None:
    somebody.podium("up")

    shown = somebody.podium("service", "logs", "--since", "1h")
    data = somebody.podium("service", "logs", "--json")
    none = somebody.podium("service", "logs", "--level", "error")
    wrong = somebody.podium("service", "logs", "--since", "noon")

    assert "INFO Daemon ready" in shown.stdout
    assert json.loads(data.stdout.splitlines()[0])["level"] == "info"
    assert (none.returncode, none.stdout) == (0, "")
    assert wrong.returncode == 2 and "--since is 'noon'" in wrong.stderr


@pytest.mark.needs("systemd-socket-activate")
def test_the_log_of_the_service_is_asked_of_the_journal(somebody: Person) -> None:
    somebody.noting("journalctl", f"print({JSON!r})")
    somebody.podium("service", "install")
    somebody.forget_calls()

    done = somebody.podium("service", "logs", "--follow", "--since", "2026-01-31T10:00:00Z")

    assert done.stdout == '2026-01-31T17:59:00.000Z WARNING Accept failed reason="no file left"\n'
    (call,) = somebody.calls
    assert call[:3] == ["journalctl", "--user", "--user-unit=podiumd.service"]
    assert "--since=@1769853600" in call and "--follow" in call


def test_following_ends_by_ctrl_c(somebody: Person) -> None:
    log = somebody.home / ".local" / "state" / "podium" / "podiumd.log"
    log.parent.mkdir(parents=True)
    log.write_text(TEXT + "\n")
    client = subprocess.Popen(
        [sys.executable, "-m", "podium", "service", "logs", "--follow"],
        env=somebody.environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert client.stdout is not None
    first = client.stdout.readline()
    with log.open("a") as file:
        file.write(JSON + "\n")
    second = client.stdout.readline()
    os.killpg(client.pid, signal.SIGINT)  # as a terminal does

    assert (first, client.wait(HANG_SECONDS)) == (TEXT + "\n", 130)
    assert "Accept failed" in second
    client.stdout.close()
    assert somebody.living() == []
