"""What a person and a program read of the findings."""

from __future__ import annotations

import pytest

from podiumd.doctor.report import document, is_broken, text, wants_colours
from podiumd.observe.checks import broken, ok, warn

CHECKS = [
    ok("git", "2.40"),
    warn("disk latency", "150 ms a commit", "use a local disk"),
    broken("port", "taken", "set gateway.port"),
]


def test_each_check_is_one_line_with_its_fix_and_the_last_line_sums_up() -> None:
    assert text(CHECKS, colours=False, whole=True) == (
        "ok      git           2.40\n"
        "warn    disk latency  150 ms a commit. Fix: use a local disk\n"
        "broken  port          taken. Fix: set gateway.port\n"
        "3 checks: 1 broken, 1 to look at, 1 well. Nothing was changed.\n"
    )
    assert text(CHECKS[:1], colours=False, whole=True).endswith("All 1 checks are well.\n")


def test_what_is_well_is_counted_and_not_listed_unless_it_is_asked_for() -> None:
    assert text(CHECKS, colours=False, whole=False) == (
        "warn    disk latency  150 ms a commit. Fix: use a local disk\n"
        "broken  port          taken. Fix: set gateway.port\n"
        "3 checks: 1 broken, 1 to look at, 1 well ('podium doctor --all' lists them). "
        "Nothing was changed.\n"
    )
    assert text(CHECKS[:1], colours=False, whole=False) == (
        "All 1 checks are well ('podium doctor --all' lists them).\n"
    )


def test_at_a_terminal_lines_end_between_words() -> None:
    found = [
        warn("user", "all of it is open", "look into /a/directory/whose-name-is-longer-than/lines"),
        ok("git", ""),
    ]
    assert text(found, colours=False, whole=True, columns=40) == (
        "warn    user\n"
        "    all of it is open. Fix: look into\n"
        "    /a/directory/whose-name-is-longer-than/lines\n"
        "ok      git\n"
        "2 checks: 0 broken, 1 to look at, 1\n"
        "well. Nothing was changed.\n"
    )
    assert text(found[:1], colours=True, whole=False, columns=72).splitlines()[:2] == [
        "\x1b[33mwarn  \x1b[0m  user  all of it is open. Fix: look into",
        "              /a/directory/whose-name-is-longer-than/lines",
    ]


def test_a_fix_that_is_a_command_is_not_announced_twice() -> None:
    found = [warn("voice", "no model", "Run: podium voice install base")]
    line = text(found, colours=False, whole=False)
    assert line.startswith("warn    voice  no model. Fix: podium voice install base\n")


def test_what_a_program_named_itself_cannot_change_a_terminal() -> None:
    line = text([ok("port", "taken by \x1b[2J\nx")], colours=False, whole=True).splitlines()[0]
    assert line.endswith("taken by \\x1b[2J\\nx")


def test_colours_stand_for_the_states_alone() -> None:
    lines = text(CHECKS, colours=True, whole=True).splitlines()
    assert [line[:5] for line in lines[:3]] == ["\x1b[32m", "\x1b[33m", "\x1b[31m"]


def test_only_what_is_broken_makes_the_whole_not_well() -> None:
    assert not is_broken(CHECKS[:2]) and is_broken(CHECKS)
    assert document(CHECKS)["ok"] is False
    assert document(CHECKS[:2]) == {
        "ok": True,
        "checks": [
            {"check": "git", "state": "ok", "message": "2.40", "fix": ""},
            {
                "check": "disk latency",
                "state": "warn",
                "message": "150 ms a commit",
                "fix": "use a local disk",
            },
        ],
    }


@pytest.mark.parametrize(
    ("environ", "terminal", "wanted"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False),
     ({"TERM": "dumb"}, True, False)],
)  # fmt: skip
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], terminal: bool, wanted: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    assert wants_colours(environ) is wanted
