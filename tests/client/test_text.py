"""Words for people: harmless, folded, aligned, and times as people say them."""

import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import paths, text, wire


@given(st.text())
def test_clean_text_holds_no_control_character_but_newline_and_tab(words: str) -> None:
    shown = text.clean(words)

    assert not [c for c in shown if (ord(c) < 32 or 127 <= ord(c) < 160) and c not in "\n\t"]
    assert not set(shown) & set("\u202a\u202e\u2066\u2069\u200e\u2028")


def test_no_colour_stands_around_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    style = text.Style(sys.stdout)
    monkeypatch.setattr(style, "colours", True)

    assert (style("red", ""), style("red", "a")) == ("", "\x1b[31ma\x1b[0m")


FILLERS = "\u115f\u1160\u3164\uffa0"
"""Letters by their category, and blanks to the eye."""


@pytest.mark.parametrize(
    "unseen",
    [
        *"\u00ad\u034f\u061c\u180e\u200b\u2060\u2066\u206f\ufeff\ufffb",
        *FILLERS,
        *"\u200c\u200d\U000e0041\U000e007f\U0001d173",
        *"\ufe00\ufe0d\ufe0e\ufe0f\U000e0100\U000e01ef",
    ],
)
def test_what_nobody_sees_is_shown(unseen: str) -> None:
    escape = f"\\U{ord(unseen):08x}" if ord(unseen) > 0xFFFF else f"\\u{ord(unseen):04x}"
    escape = "\\xad" if unseen == "\u00ad" else escape

    assert text.clean(f"pay{unseen}pal") == f"pay{escape}pal"
    assert text.fold(f"{unseen}{unseen}") == escape * 2


@pytest.mark.parametrize(
    "words",
    [
        *("👩\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "ب\u200cب", "ශ\u0dca\u200dර", "1\ufe0f\u20e3"),
        *("❤\ufe0e", "\u2139\ufe0f", "🏳\ufe0f\u200d🌈", "葛\U000e0100城"),
    ],
)
def test_what_joins_or_parts_what_is_seen_stays(words: str) -> None:
    assert text.clean(words) == words


@pytest.mark.parametrize("before", ["❤", "葛", "a", "\u2139"])
def test_nothing_can_be_written_in_a_row_of_selectors(before: str) -> None:
    hidden = "".join(chr(0xE0100 + ord(letter)) for letter in "rm -rf") + "\ufe0f\ufe0e" * 3

    shown = text.clean(before + hidden + "b")

    assert sum(letter in shown for letter in set(hidden)) <= 1
    assert len(shown) > 8 * len(hidden) - 10


@given(st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters=FILLERS)))
def test_harmless_text_stays_as_it_is(words: str) -> None:
    assert text.clean(words) == words


@given(st.text(), st.integers(1, 50))
def test_folded_text_is_one_line_no_wider_than_asked(words: str, width: int) -> None:
    line = text.fold(words, width)

    assert "\n" not in line
    assert "\t" not in line
    assert len(line) <= width


@given(st.text(st.characters(categories=["L", "M", "S"])), st.integers(1, 20))
def test_a_cut_line_takes_no_more_cells_than_asked(words: str, width: int) -> None:
    shown = text.cut(words, width)

    assert text.cells(shown) <= width
    assert words.startswith(shown.removesuffix("…"))
    assert shown == words or shown.endswith("…")


@pytest.mark.parametrize(
    ("words", "cells"),
    [("abc", 3), ("漢字", 4), ("\uff46", 2), ("e\u0301", 1), ("ü…", 2), ("❤\ufe0f", 2), ("👩", 2)],
)
def test_a_line_is_as_wide_as_a_terminal_shows_it(words: str, cells: int) -> None:
    assert text.cells(words) == cells
    assert text.padded(words, 5) == words + " " * (5 - cells)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2400, 12, 31)))  # noqa: DTZ001
def test_times_are_read_as_the_calendar_says(moment: datetime) -> None:
    exact = moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
    stamp = exact.strftime("%Y-%m-%dT%H:%M:%S.") + f"{exact.microsecond // 1000:03}Z"

    assert text.epoch(stamp) == pytest.approx(exact.timestamp(), abs=1e-4)


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2400, 12, 31)),  # noqa: DTZ001
    st.integers(-23 * 60, 23 * 60),
)
def test_a_time_of_any_zone_is_the_same_moment(moment: datetime, east: int) -> None:
    exact = moment.replace(tzinfo=timezone(timedelta(minutes=east)))

    assert text.epoch(exact.isoformat()) == pytest.approx(exact.timestamp(), abs=1e-4)


@pytest.mark.parametrize(
    ("stamp", "shown"),
    [
        ("2026-05-01T10:00:05.123Z", "2026-05-01 12:00:05"),
        ("2026-05-01T10:00:05.123456789z", "2026-05-01 12:00:05"),
        ("2026-01-01T01:30:00+01:30", "2026-01-01 01:00:00"),
        ("soon\x1b", "soon\\x1b"),
        ("", ""),
    ],
)
def test_a_time_is_told_on_the_clock_of_the_machine(
    stamp: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert text.local(stamp) == shown
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_time_that_no_clock_reaches_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(seconds: float) -> None:
        raise OverflowError

    monkeypatch.setattr("time.localtime", refuse)

    assert text.local("9999-12-31T23:59:59Z") == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    "stamp",
    [None, "", "yesterday", 7, "2026-05-01T10:00:nanZ", "2026-99-01T10:00:00Z",
     "2026-05-01T10:00:00+x"],
)  # fmt: skip
def test_what_is_no_time_is_none(stamp: object) -> None:
    assert text.epoch(stamp) is None
    assert text.ago(stamp) == "-"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "now"),
        (0.5, "now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3600, "1 h ago"),
        (172799, "47 h ago"),
        (172800, "2 days ago"),
    ],
)
def test_the_past_is_told_as_people_do(seconds: float, words: str) -> None:
    assert text.ago("1970-01-02T00:00:00.000Z", 86400 + seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(4.25, "4.2 s"), (42.9, "42 s"), (187, "3:07"), (3723, "1:02:03"), (None, "-")],
)
def test_durations(seconds: float | None, words: str) -> None:
    assert text.duration(seconds) == words


@pytest.mark.parametrize(
    ("dollars", "words"), [(0, "-"), (0.0123, "$0.0123"), (12.345, "$12.35"), (None, "-")]
)
def test_money(dollars: float | None, words: str) -> None:
    assert text.money(dollars) == words


TOLD = {"read": 12_345, "cached": 9_800, "written": 812}


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (None, "-"),
        ({"read": 0, "cached": 0, "written": 0, "untold": 2}, "-"),
        (TOLD, "12.3k in (9.8k cached), 812 out"),
        ({**TOLD, "untold": 0, "cached": 0}, "12.3k in, 812 out"),
        ({**TOLD, "read": 4_510_000, "untold": 1}, "4.5M in (9.8k cached), 812 out, 1 turn untold"),
    ],
)
def test_tokens(used: Any, words: str) -> None:
    assert text.tokens(used) == words


@pytest.mark.parametrize(
    ("dollars", "used", "words"),
    [
        (0.25, None, "$0.25"),
        (0.0, None, "-"),
        (0.0, {**TOLD, "cached": 0}, "12.3k in, 812 out"),
        (0.25, {**TOLD, "cached": 0}, "$0.25 · 12.3k in, 812 out"),
    ],
)
def test_what_was_spent_is_told_in_what_the_agent_tells(
    dollars: float, used: Any, words: str
) -> None:
    assert text.price(dollars, used) == words


def test_a_table_is_aligned_and_its_last_column_cut_to_the_width() -> None:
    rows = [("x\ny", "a" * 80), ("", "b"), ("漢", "字" * 40)]

    shown = text.table(("A", "LONG"), rows, width=75)

    assert shown == f"A    LONG\nx y  {'a' * 69}…\n     b\n漢   {'字' * 34}…\n"


def test_below_seventy_columns_each_row_is_a_block_and_nothing_is_cut() -> None:
    rows = [("fix-it", "", "seven brass pots on a shelf"), ("\u202ered", "-", "🛠️")]

    shown = text.table(("RECIPE", "STEP", "WHAT"), rows, width=24)

    assert shown == (
        "RECIPE  fix-it\nWHAT    seven brass pots\n        on a shelf\n\n"
        "RECIPE  \\u202ered\nWHAT    🛠️\n"
    )


def test_rows_that_do_not_fit_a_wide_terminal_are_blocks_too() -> None:
    row = ("one", "r" * 75, "two")

    assert text.table(("A", "B", "C"), [row], width=80) == f"A  one\nB  {row[1]}\nC  two\n"


ANY_WORDS = st.text(st.characters() | st.sampled_from("ab  😀字e\u0301\u200d\ufe0f"))


@given(ANY_WORDS, st.integers(text.NARROWEST, 40), st.integers(0, 30))
def test_broken_lines_fit_and_hold_every_letter(words: str, width: int, hang: int) -> None:
    line = text.clean(words).replace("\n", " ")

    lines = text.wrapped(line, width, hang)

    assert max(map(text.cells, lines), default=0) <= width
    assert "".join("".join(lines).split()) == "".join(line.split())


def test_lines_break_between_words_and_long_words_within() -> None:
    line = "  one two " + "x" * 25 + " three"

    assert text.wrapped(line, 12, 4) == ["  one two xx", "    xxxxxxxx", *["    xxxxxxxx"],
                                         "    xxxxxxx", "    three"]  # fmt: skip


@given(st.lists(st.tuples(ANY_WORDS, ANY_WORDS, ANY_WORDS), min_size=1), st.integers(20, 120))
def test_no_line_of_a_table_is_wider_than_the_terminal(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    shown = text.table(("A", "LONG", "LONGER"), rows, width)

    assert max(map(text.cells, shown.splitlines())) <= width


@given(st.lists(st.tuples(ANY_WORDS, ANY_WORDS), min_size=1), st.integers(20, 80))
def test_names_of_any_length_have_what_is_said_of_them_beside_or_below(
    pairs: list[tuple[str, str]], width: int
) -> None:
    folded = [(text.fold(name, width), text.fold(said)) for name, said in pairs]

    shown = text.block(folded, width)

    assert max(map(text.cells, shown.splitlines()), default=0) <= width


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_written_is_read_again_and_is_ascii(value: object) -> None:
    line = wire.encode(value)

    assert line.isascii()
    assert "\n" not in line
    assert wire.decode(line.encode()) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        wire.decode(data)
    except ValueError:
        pass


@pytest.mark.parametrize("line", [b'{"a": [1, "\xc3\xbc"]}', b" 7 ", b"[", b"", b"1 2", b"\xff"])
def test_an_interpreter_without_the_c_scanner_reads_the_same(
    line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> object:
        try:
            return wire.decode(line)
        except ValueError:
            return "refused"

    fast = read()
    monkeypatch.setattr(wire, "_scan", None)

    assert read() == fast


@given(st.dictionaries(st.text(), st.floats() | st.integers() | st.text() | st.none()))
def test_an_interpreter_without_the_c_encoder_writes_the_same(value: object) -> None:
    fast = wire.encode(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "_pieces", None)

        assert wire.encode(value) == fast


def test_what_is_no_json_is_not_written() -> None:
    with pytest.raises(TypeError, match="set is no JSON"):
        wire.encode({1})


@pytest.mark.parametrize(
    ("settings", "platform", "expected"),
    [
        ({"PODIUM_SOCKET": "/s", "PODIUM_HOME": "/h"}, "linux", "/s"),
        ({"PODIUM_HOME": "/h", "XDG_RUNTIME_DIR": "/r"}, "linux", "/h/podium.sock"),
        ({"XDG_RUNTIME_DIR": "/r"}, "linux", "/r/podium/podium.sock"),
        ({"XDG_RUNTIME_DIR": "r"}, "linux", "/home/ada/.local/state/podium/podium.sock"),
        ({"XDG_STATE_HOME": "/x"}, "linux", "/x/podium/podium.sock"),
        ({}, "linux", "/home/ada/.local/state/podium/podium.sock"),
        (
            {"XDG_RUNTIME_DIR": "/r"},
            "darwin",
            "/home/ada/Library/Application Support/podium/podium.sock",
        ),
    ],
)
def test_the_socket_is_where_the_environment_says(
    settings: dict[str, str], platform: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PODIUM_SOCKET", "PODIUM_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setattr("sys.platform", platform)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    assert paths.socket_path() == expected


def test_a_child_in_another_directory_gets_absolute_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PODIUM_HOME", "own")
    monkeypatch.delenv("PODIUM_SOCKET", raising=False)

    assert paths.for_child()["PODIUM_HOME"] == str(tmp_path / "own")
    assert "PODIUM_SOCKET" not in paths.for_child()


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("  answer: podium answer 1a2b yes", ["  answer:", "    podium answer 1a2b yes"]),
        ("back: podium chat --session 1a2b", ["back:", "podium chat --session 1a2b"]),
        ("ok: podium up", ["ok: podium up"]),
        ("two short words: podium up", ["two short words: podium up"]),
        ("Now it is all down: 'podium up' starts it.",
         ["Now it is all down:", "    'podium up' starts it."]),
        ("Left some files (podium diff 1a2b)", ["Left some files", "    (podium diff 1a2b)"]),
    ],
)  # fmt: skip
def test_a_command_to_be_copied_is_never_broken(line: str, lines: list[str]) -> None:
    assert text.wrapped(line, 27, 4) == lines


def test_a_command_that_fits_on_no_line_stands_on_one_of_its_own() -> None:
    command = "podium prompt --session 5e5510aa-0a4b-4c5d-9e6f-7a8b9c0d1e2f TEXT"

    assert text.wrapped(f"  your turn: {command}", 40, 4) == ["  your turn:", command]
    assert text.wrapped(f"Say '{command}' now.", 40, 4)[0] == "Say 'podium prompt --session"
