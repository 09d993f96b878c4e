"""``podium sessions``: the list, and taking a session off it."""

import json
from pathlib import Path
from typing import Any

import pytest

from podium import text
from podium.commands.sessions import distinct
from tests.client import whole
from tests.client.conversations import HELD_BY_RUN, RECIPE, row
from tests.client.fake_daemon import RUN_ID, SESSION_ID, FakeDaemon, Refused, podium
from tests.client.terminal import Terminal

AGE = text.ago(row()["last_modified"])


def listing(daemon: FakeDaemon, *rows: dict[str, Any], total: int | None = None) -> FakeDaemon:
    daemon.answers["sessions.list"] = {
        "sessions": list(rows),
        "total": len(rows) if total is None else total,
    }
    return daemon


def lines(daemon: FakeDaemon, *arguments: str) -> list[str]:
    return podium(daemon, "sessions", *arguments).stdout.splitlines()


def test_sessions_are_an_aligned_table(daemon: FakeDaemon) -> None:
    listing(daemon, row(), row("6one0000", name="", preview="So be it", agent="codex"))

    assert lines(daemon) == [
        f"SESSION   {'UPDATED':<{len(AGE)}}  MESSAGES  AGENT   NAME          DIRECTORY",
        f"5e5510aa  {AGE}  7         claude  Fix the pots  ~/pots",
        f"6one0000  {AGE}  7         codex   So be it      ~/pots",
    ]
    assert daemon.calls == [("sessions.list", {"limit": 20})]


def test_the_list_says_what_is_going_on_with_a_session(daemon: FakeDaemon) -> None:
    listing(
        daemon,
        row(holder=HELD_BY_RUN, active_recipe=RECIPE),
        row(holder={"kind": "prompt", "id": RUN_ID}),
        row(holder={"kind": "foreign", "pid": 4711}),
        row(gone=True),
        row(),
    )
    listed = daemon.answers["sessions.list"]["sessions"]
    for number, one in enumerate(listed):
        one["session_id"] = f"{number}one0000"

    heading, *rows = lines(daemon)

    start, end = heading.index("STATE"), heading.index("NAME")
    assert [line[start:end].rstrip() for line in rows] == [
        "fix-it: review 4/12",
        f"prompt {RUN_ID[:8]}",
        "foreign process 4711",
        "gone",
        "",
    ]


def test_an_id_is_as_long_as_it_takes_to_tell_it_from_the_others() -> None:
    ids = ["0198aaaa-bbbb-1", "8c1f2d3e-0a4b", "0198aaaa-bbbb-2", "0198aaaa-b"]

    assert distinct(ids) == ["0198aaaa-bbbb-1", "8c1f2d3e", "0198aaaa-bbbb-2", "0198aaaa-b"]


@pytest.mark.parametrize("columns", [80, 120])
def test_no_row_is_wider_than_the_terminal_whatever_it_holds(
    daemon: FakeDaemon, columns: int
) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 \u202eevil\r\n\tname " * 3
    listing(
        daemon,
        row(
            "1one0000", name="漢字かな交じり文" * 10, working_directory="/home/ada/" + "深い/" * 40
        ),
        row("2one0000", name=hostile, agent="claude\x9b2J", gone=True),
        row("3one0000", name="👩‍👩‍👧 e\u0301 ❤\ufe0f" * 12),
        total=9,
    )

    with Terminal(daemon, "sessions", columns=columns, NO_COLOR="1") as terminal:
        assert terminal.end() == 0

    shown = terminal.screen.replace("\r\n", "\n").splitlines()
    assert len(shown) == 5
    assert not [char for char in "".join(shown) if not char.isprintable() and char != "\u200d"]
    assert max(text.cells(line) for line in shown[:4]) <= columns
    starts = [text.cells(line[: line.index(name)]) for line, name in zip(
        shown, ["NAME", "漢字", "\\x1b[2J", "👩"], strict=False
    )]  # fmt: skip
    assert len(set(starts)) == 1


def test_the_last_line_says_how_to_see_the_rest(daemon: FakeDaemon) -> None:
    listing(daemon, row(), total=413)

    assert lines(daemon)[-1] == "… 412 more: 'podium sessions --limit 413' lists all."
    assert lines(daemon, "--project", "my pots")[-1] == (
        "… 412 more: 'podium sessions --project 'my pots' --limit 413' lists all."
    )


def test_a_project_is_asked_for_as_the_system_names_its_directory(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    listing(daemon, row())
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    podium(daemon, "sessions", "--project", ".", cwd=tmp_path)
    podium(daemon, "sessions", "--project", "link", "--limit", "3", cwd=tmp_path)

    assert daemon.params_of("sessions.list") == [
        {"working_directory": str(tmp_path), "limit": 20},
        {"working_directory": str(tmp_path / "real"), "limit": 3},
    ]


def test_more_than_the_daemon_gives_at_once_is_asked_for_by_pages(daemon: FakeDaemon) -> None:
    stamps = {
        f"{number:08}": f"2026-05-01T10:00:00.{999 - number // 3:03}Z" for number in range(1500)
    }
    everything = [row(one, last_modified=stamp) for one, stamp in stamps.items()]

    def paged(params: dict[str, Any]) -> dict[str, Any]:
        left = [one for one in everything if one["last_modified"] < params.get("before", "A")]
        page = left[: params["limit"]]
        # All that are as old as the last one come with it: none falls between two pages.
        page += [
            one for one in left[len(page) :] if one["last_modified"] == page[-1]["last_modified"]
        ]
        return {"sessions": page, "total": 1500}

    daemon.answers["sessions.list"] = paged

    done = podium(daemon, "sessions", "--limit", "1200", "--json")

    told = json.loads(done.stdout)
    assert told == whole.answer("sessions.list", {"sessions": everything[:1200], "total": 1500})
    assert [params["limit"] for params in daemon.params_of("sessions.list")] == [1000, 198]


def test_no_sessions_are_a_sentence(daemon: FakeDaemon) -> None:
    listing(daemon)

    assert lines(daemon) == ["No sessions yet."]
    assert lines(daemon, "--project", "/home/ada/pots") == [
        "No sessions in ~/pots: 'podium sessions' lists those of all directories."
    ]
    assert json.loads(podium(daemon, "sessions", "--json").stdout) == {"sessions": [], "total": 0}


def test_a_gone_session_is_forgotten_by_the_beginning_of_its_id(daemon: FakeDaemon) -> None:
    daemon.answers |= {"sessions.get": row(gone=True), "sessions.forget": {}}

    assert lines(daemon, "--forget", "5e55") == [
        f"Session {SESSION_ID} ('Fix the pots') is forgotten."
    ]
    assert daemon.calls == [
        ("sessions.get", {"session_id": "5e55"}),
        ("sessions.forget", {"session_id": SESSION_ID}),
    ]
    assert lines(daemon, "--forget", "5e55", "--json") == [f'{{"forgotten":"{SESSION_ID}"}}']


def test_a_session_that_is_there_is_not_forgotten(daemon: FakeDaemon) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise Refused(-32006, "Its transcript is still there: /t.jsonl. Delete that file first.")

    daemon.answers |= {"sessions.get": row(), "sessions.forget": refuse}

    done = podium(daemon, "sessions", "--forget", "5e55")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "podium: Its transcript is still there: /t.jsonl. Delete that file first.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sessions", "--limit", "0"], "--limit takes a whole number from 1 to 100000, not '0'."),
        (
            ["sessions", "--limit", "ten"],
            "--limit takes a whole number from 1 to 100000, not 'ten'.",
        ),
        (["sessions", "--limit", "100001"], "to 100000, not '100001'."),
        (["sessions", "--limit", "9999999999"], "--limit takes a whole number from 1 to 100000"),
        (["sessions", "--forget", "5e55", "--limit", "3"], "goes without --project and --limit."),
        (["show", "5e55", "-n", "-1"], "-n takes a whole number from 0 to 100000, not '-1'."),
        (["show", "5e55", "-n", "²"], "-n takes a whole number from 0 to 100000, not '²'."),
    ],
)
def test_a_wrong_number_is_a_usage_error(
    daemon: FakeDaemon, arguments: list[str], words: str
) -> None:
    done = podium(daemon, *arguments)

    assert (done.returncode, done.stdout, daemon.calls) == (2, "", [])
    assert words in done.stderr
