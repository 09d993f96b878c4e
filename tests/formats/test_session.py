"""Summaries, identities, times, and the way from a fork to the message before it."""

from __future__ import annotations

import hashlib
import uuid as uuids
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.session import (
    TIPS_LIMIT,
    Cursor,
    NoFormat,
    Summary,
    identity_of,
    identity_of_line,
    milliseconds,
    one_line,
    public_id,
)


def test_a_session_is_called_by_its_title_else_by_its_first_prompt() -> None:
    assert Summary().name == ""
    assert Summary(prompt="fix it").name == "fix it"
    assert Summary(prompt="p" * 61).name == "p" * 59 + "…"
    assert Summary(prompt="fix it", title="The fix").name == "The fix"


def test_a_better_title_stands_and_a_later_one_of_its_rank_replaces_it() -> None:
    summary = Summary()
    for title, rank, now in [
        ("old", 1, "old"),
        ("of the agent", 2, "of the agent"),
        ("older", 1, "of the agent"),
        ("  of a\n person ", 3, "of a person"),
        (" ", 3, "of a person"),
        ("renamed", 3, "renamed"),
    ]:
        summary.entitle(title, rank)
        assert summary.title == now


def test_in_a_file_of_an_agent_that_nobody_knows_lines_are_counted_and_no_message_found() -> None:
    summary, line = Summary(), b'{"type": "user"}\n'
    NoFormat().fold(summary, line * 2)
    assert summary.lines == 2
    assert NoFormat().entries(Cursor(), line) == [] and NoFormat().message(line) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("  a \n\n b ", "a b"),
        ("123456789", "123456789"),
        ("1234567890", "1234567890"),
        ("12345678901", "123456789…"),
        ("12345678 0123", "12345678…"),
        (" " * 1000 + "late", "late"),
    ],
)
def test_words_are_folded_to_one_line_and_cut(text: str, line: str) -> None:
    assert one_line(text, 10) == line


@given(st.text(), st.integers(1, 30))
def test_a_cut_line_is_the_start_of_the_folded_words(text: str, limit: int) -> None:
    whole, line = " ".join(text.split()), one_line(text, limit)
    assert len(line) <= limit
    assert line == whole if len(whole) <= limit else whole.startswith(line.removesuffix("…"))


@given(st.uuids())
def test_a_uuids_identity_is_its_bytes(uuid: uuids.UUID) -> None:
    assert identity_of(str(uuid)) == identity_of(str(uuid).upper()) == uuid.bytes


@pytest.mark.parametrize("uuid", ["msg_1", "é", "g" * 36, "1" * 36, "1111-" * 7 + "1", ""])
def test_another_names_identity_is_a_digest(uuid: str) -> None:
    assert identity_of(uuid) == hashlib.sha256(uuid.encode()).digest()[:16]


def test_a_line_has_an_identity_of_its_own() -> None:
    assert identity_of_line(b"{}") == hashlib.sha256(b"{}").digest()[:16]


@pytest.mark.parametrize(
    ("timestamp", "value"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01t02:00:00.123456789+02:00", 123),
        ("1969-12-31T23:59:59.999z", -1),
        ("2026-11-21T20:45:09.750Z", 1795293909750),
        ("0001-01-01T00:00:00+23:59", -62135683140000),
        ("9999-12-31T23:59:59-23:59", 253402387139000),
    ],
)
def test_a_timestamp_is_read_to_the_millisecond(timestamp: str, value: int) -> None:
    assert milliseconds(timestamp) == value


@pytest.mark.parametrize(
    "timestamp",
    [
        "",
        "soon",
        "2026-11-21",
        "2026-11-21T20:45:09",
        "2026-11-21 20:45:09Z",
        "2026-13-21T20:45:09Z",
        "2026-11-21T25:45:09Z",
        "2026-11-21T20:45:09Z\n",
        "0000-01-01T00:00:00Z",
        "2026-11-21T20:45:09+24:00",
        "²026-11-21T20:45:09Z",
    ],
)
def test_what_is_no_rfc_3339_time_has_no_value(timestamp: str) -> None:
    assert milliseconds(timestamp) is None


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))  # noqa: DTZ001
def test_any_time_as_python_writes_it_is_read(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    found = milliseconds(aware.isoformat())
    assert found is not None
    assert 0 <= aware.timestamp() * 1000 - found + 0.5 < 2


def test_the_tips_are_the_last_message_and_what_the_tree_grew_after_it() -> None:
    cursor = Cursor()
    cursor.extend("before any message", None)
    assert cursor.tips == []
    cursor.reach("m")
    for name, parent in (("a", "m"), ("", "a"), ("b", "m"), ("x", "older"), ("y", ""), ("c", None)):
        cursor.extend(name, parent)
    assert cursor.tips == ["m", "a", "b", "c"] == cursor.turn
    cursor.reach("n")
    assert cursor.tips == ["n"]
    for number in range(100):
        cursor.extend(str(number), "n" if number == 0 else str(number - 1))
    assert cursor.tips == [str(number) for number in range(100 - TIPS_LIMIT, 100)]
    cursor.reach("")
    assert cursor.tips == []


def test_a_copy_of_a_cursor_moves_on_by_itself() -> None:
    cursor = Cursor(["m"], ["m"])
    other = cursor.copy()
    assert other == cursor
    other.extend("a", "m")
    assert (cursor, other) == (Cursor(["m"], ["m"]), Cursor(["m", "a"], ["m", "a"]))


def test_links_are_taken_once_and_are_not_in_a_copy() -> None:
    """A scan that goes on from a copy tells what it has read itself."""
    cursor = Cursor()
    cursor.link("hook", "m")
    cursor.link("date", "hook")
    assert cursor.copy() == Cursor()
    names = ("hook", "m", "date", "hook")
    assert cursor.take_links() == b"".join(identity_of(name) for name in names)
    assert cursor.take_links() == b""


def test_in_files_of_an_agent_that_nobody_knows_nothing_is_a_message() -> None:
    reads, summary = NoFormat(), Summary()
    reads.fold(summary, b'{"type": "user"}\n{}\n')
    assert summary == Summary(lines=2)
    assert reads.entries(Cursor(), b"{}\n") == [] and reads.message(b"{}") is None


def test_a_session_is_known_by_a_uuid_that_follows_from_its_agents_id_for_good() -> None:
    uuid = "0f5a3b52-0000-4000-8000-000000000001"
    own = f"session_{uuid}"
    assert public_id(uuid.upper()) == uuid
    assert public_id(own) == public_id(public_id(own)) == "078517ed-8cf1-524a-890c-c627ebcde1ed"
