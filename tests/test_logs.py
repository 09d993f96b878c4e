"""Logs: their shape, no secret in any sink, no forged line, and a full disk survived."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.observe import logs
from podiumd.observe.logs import LogFile, log, set_up
from podiumd.observe.redaction import escape, is_secret_name, redact, snippet

Lines = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("podium")
    before = (root.level, own.level, root.handlers[:])
    yield
    for handler in root.handlers[:]:
        if handler not in before[2]:
            root.removeHandler(handler)
            handler.close()
    root.setLevel(before[0])
    own.setLevel(before[1])


def written(format: Any) -> tuple[io.StringIO, Lines]:
    stream = io.StringIO()
    set_up(format, stream=stream)
    return stream, lambda: stream.getvalue().splitlines()


def test_a_json_line_has_the_contracts_members() -> None:
    _, lines = written("json")
    log("Outcome parsed", run_id="r", step="fix", outcome="complete", source="text")
    (line,) = lines()
    record = json.loads(line)
    stamp = record.pop("ts")
    assert stamp[10] == "T" and stamp[-5] == "." and stamp.endswith("Z")
    assert record == {
        "level": "info",
        "event": "Outcome parsed",
        "run_id": "r",
        "session_id": None,
        "recipe_id": None,
        "step": "fix",
        "outcome": "complete",
        "source": "text",
    }


def test_a_text_line_has_the_event_right_after_the_level() -> None:
    _, lines = written("text")
    log("Limit hit", "warning", limit="max-total-steps", count=3, run_id="r", note="two words")
    (line,) = lines()
    _, rest = line.split(" ", 1)
    assert rest == 'WARNING Limit hit run_id=r limit=max-total-steps count=3 note="two words"'


def test_levels_below_info_are_left_out() -> None:
    _, lines = written("json")
    log("Detail", "debug")
    assert lines() == []


def test_a_librarys_warning_is_an_event_with_its_logger() -> None:
    _, lines = written("json")
    logging.getLogger("library").warning("used %s", "sk-ant-api03-abcdefgh")
    logging.getLogger("library").info("chatter")
    (line,) = lines()
    assert (
        json.loads(line)["event"] == "used [redacted]" and json.loads(line)["logger"] == "library"
    )


def test_an_exception_is_one_line_with_its_traceback_redacted() -> None:
    stream, lines = written("json")
    try:
        raise ValueError("token=abcdef123456")
    except ValueError as error:
        log("Internal error", "error", exception=error, log_id="1")
    (line,) = lines()
    assert "ValueError" in json.loads(line)["exception"]
    assert "test_logs.py" in json.loads(line)["exception"]
    assert "abcdef123456" not in stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "output_tokens: 1234",
        "the token was refused",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "https://example.org/a@b",
        "task-list sk-1",
        "run 0192f0c1-7d1e-7cc0-8a52-2f4b6f1f9a01",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_counts_of_tokens_are_no_secret() -> None:
    assert not is_secret_name("token_count") and is_secret_name("auth_token")
    _, lines = written("json")
    log("Usage", output_tokens=12)
    assert json.loads(lines()[0])["output_tokens"] == 12


def test_a_snippet_is_short_and_cuts_no_secret_in_two() -> None:
    assert snippet("short") == "short"
    cut = snippet("x" * 190 + " sk-ant-api03-" + "s" * 300)
    assert len(cut) <= 200 and "sk-ant" not in cut
    assert len(snippet("y" * 10_000)) == 200


@given(st.text(), st.text())
def test_no_text_can_forge_a_line(event: str, value: str) -> None:
    for formatter in (logs.TextLines(), logs.JsonLines()):
        record = logging.LogRecord("podium", logging.INFO, "", 0, "%s", (event,), None)
        record.podium = {"value": value}
        line = formatter.format(record)
        assert len(line.splitlines()) == 1
        assert not any(ord(mark) < 32 or 127 <= ord(mark) < 160 for mark in line)


def test_control_and_direction_characters_are_shown_not_obeyed() -> None:
    assert escape("a\n\x1b[2J\x9b\u202e\u2028\ud800b") == (
        "a\\n\\x1b[2J\\x9b\\u202e\\u2028\\ud800b"
    )
    assert escape("Grüße 漢字 🙂") == "Grüße 漢字 🙂"


@given(st.text(alphabet="abc=:\"' \n-_tokenBearer/@", max_size=400))
def test_redaction_is_total_and_settles(text: str) -> None:
    once = redact(text)
    assert isinstance(redact(once), str)


def test_a_value_that_is_no_json_is_written_as_text() -> None:
    _, lines = written("json")
    log("Event", path=Path("/x"), odd=float("inf"), numbers={1})
    record = json.loads(lines()[0])
    assert record["path"] == "/x" and record["numbers"] == [1] and record["odd"] == "inf"


def test_a_line_for_the_file_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = list[str](), logs.JsonLines.format

    def counted(self: logs.JsonLines, record: logging.LogRecord) -> str:
        made.append(make(self, record))
        return made[-1]

    monkeypatch.setattr(logs.JsonLines, "format", counted)
    path = tmp_path / "podiumd.log"
    set_up("json", file=path)
    log("First")
    log("Second")
    assert path.read_text().splitlines() == made and len(made) == 2


def test_the_file_is_private_even_if_it_was_not_and_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_FILE_BYTES", 2000)
    path = tmp_path / "podiumd.log"
    path.write_text("old\n")
    path.chmod(0o644)
    set_up("json", file=path)
    for number in range(100):
        log("Event", number=number, text="x" * 100)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["podiumd.log"] + [
        f"podiumd.log.{n}" for n in (1, 2, 3)
    ]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert all(file.stat().st_size <= 2000 for file in files)
    assert json.loads(path.read_text().splitlines()[-1])["number"] == 99


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "podiumd.log").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"):
        set_up("json", file=tmp_path / "podiumd.log")


class Full(io.StringIO):
    """A stream of a disk that is full for a while."""

    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_a_full_disk_loses_lines_says_so_later_and_kills_nothing() -> None:
    stream = Full()
    set_up("json", stream=stream)
    for _ in range(3):
        log("Event")
    stream.full = False
    log("Event")
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["Event", "Log lines lost"]
    assert events[1]["count"] == 3 and events[1]["level"] == "warning"


def test_a_file_that_cannot_be_written_is_survived_too(tmp_path: Path) -> None:
    handler = set_up("json", file=tmp_path / "podiumd.log")
    assert isinstance(handler, LogFile)
    assert handler.stream is not None
    handler.stream.close()
    handler.stream = Full()  # type: ignore[assignment]
    log("Event")
    assert handler.lost == 1


def test_setting_up_again_replaces_the_sink(tmp_path: Path) -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up("json", stream=first)
    set_up("json", stream=second)
    log("Event")
    assert first.getvalue() == "" and "Event" in second.getvalue()


def test_a_line_that_a_full_disk_cut_short_does_not_run_into_the_next_daemon_s(
    tmp_path: Path,
) -> None:
    path = tmp_path / "podiumd.log"
    set_up("json", file=path)
    log("Whole")
    with path.open("a") as file:
        file.write('{"ts": "2026-01-02T03')
    set_up("json", file=path)
    log("Next")
    whole, cut, following = path.read_text().splitlines()
    assert json.loads(whole)["event"] == "Whole"
    assert cut == '{"ts": "2026-01-02T03'
    assert json.loads(following)["event"] == "Next"
