"""Lists at terminals of any width: a block a row below 70 columns, and nothing is cut there."""

import pytest

from podium import flow, text
from tests.client import stories
from tests.client.conversations import row
from tests.client.fake_daemon import RUN_ID, FakeDaemon, Json, Refused
from tests.client.stories import RECIPE
from tests.client.terminal import Terminal
from tests.client.test_views import STATUS
from tests.long import sampled

COMMANDS = [
    ["runs"],
    ["runs", "--all"],
    ["sessions"],
    ["locks"],
    ["questions"],
    ["devices"],
    ["status"],
    ["recipe", "list"],
    ["recipe", "show", "fix-it"],
]

LONG = "What a row says goes on for longer than any terminal has room for beside the rest of it"


@pytest.fixture
def kitchen(daemon: FakeDaemon) -> FakeDaemon:
    """A daemon that has one of everything, each with long words."""
    recipe = {**RECIPE, "source": "built-in", "description": LONG, "ok": True}
    question = {
        "question_id": "0a1b2c3d-0000",
        "run_id": RUN_ID,
        "kind": "gate",
        "prompt": LONG,
        "options": ["continue", "stop"],
    }
    daemon.answers |= {
        "runs.list": [stories.ended_run("guardrail", working_directory="/home/ada/" + "pots/" * 9)],
        "sessions.list": {"sessions": [row(name=LONG)], "total": 1},
        "sessions.locks": [{"working_directory": "/home/ada/" + "pots/" * 9, "holder": {}}],
        "questions.list": [question],
        "gateway.devices": [{"device": "phone", "name": LONG, "connected": True}],
        "daemon.status": STATUS,
        "recipes.list": [recipe],
        "recipes.get": recipe,
    }
    return daemon


def shown(daemon: FakeDaemon, command: list[str], columns: int) -> list[str]:
    with Terminal(daemon, *command, columns=columns) as terminal:
        assert terminal.end() == 0
    return [flow.plain(line) for line in terminal.screen.replace("\r\n", "\n").splitlines()]


@pytest.mark.parametrize("columns", sampled([40, 80, 120]))
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_line_of_a_list_is_broken_by_the_terminal(
    kitchen: FakeDaemon, command: list[str], columns: int
) -> None:
    assert max(map(text.cells, shown(kitchen, command, columns))) <= columns


def test_at_forty_columns_a_row_is_a_block_that_says_all(kitchen: FakeDaemon) -> None:
    lines = shown(kitchen, ["runs", "--all"], 40)

    assert [line.split()[0] for line in lines[:3]] == ["RUN", "NAME", "STATUS"]
    assert lines[0].split()[1] == RUN_ID[:8]
    assert "pots/" * 9 in "".join(line.strip() for line in lines)


def test_at_eighty_columns_a_run_takes_two_lines(kitchen: FakeDaemon) -> None:
    run = stories.ended_run("guardrail", name=f"fix-it: {LONG}", working_directory="/home/ada/pots")
    run["exit"]["reason"] = "max-step-visits-exceeded:write"
    kitchen.answers["runs.list"] = [run, run]

    heading, *lines = shown(kitchen, ["runs", "--all"], 80)

    assert heading.split() == ["RUN", "STATUS", "STARTED", "COST", "DIRECTORY"]
    assert len(lines) == 4
    assert lines[0].startswith(f"{RUN_ID[:8]}  ⚠ max-step-visits-exceeded:write  ")
    assert lines[1].startswith(f"{' ' * 10}fix-it: What a row says ")


SENTENCES: list[tuple[list[str], int]] = [
    (["--help"], 0),
    (["--help", "--all"], 0),
    (["worktree", "merge", "--help"], 0),
    (["up"], 0),
    (["orchestration"], 0),
    (["worktree", "list"], 0),
    (["runs", "show", "no-such-run"], 1),
    (["runs", "export", "no-such-run"], 1),
    (["orchestrate"], 2),
    (["steer"], 2),
]


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(("command", "code"), SENTENCES, ids=str)
def test_no_word_of_a_sentence_is_broken_by_the_terminal(
    kitchen: FakeDaemon, command: list[str], code: int, columns: int
) -> None:
    def refuse(params: Json) -> Json:
        raise Refused(-32002, f"There is no run '{params['run_id']}': it may be forgotten by now.")

    kitchen.answers |= {"runs.get": refuse, "orchestration.get": {"enabled": True}}
    kitchen.answers["worktrees.list"] = []
    with Terminal(kitchen, *command, columns=0) as terminal:
        assert terminal.end() == code
        words = set(terminal.screen.split())
    with Terminal(kitchen, *command, columns=columns) as terminal:
        assert terminal.end() == code
        lines = terminal.screen.replace("\r\n", "\n").splitlines()
    assert max(map(text.cells, lines)) <= columns
    assert {word for line in lines for word in line.split()} <= words


def test_a_command_to_be_copied_stays_in_one_piece(kitchen: FakeDaemon) -> None:
    kitchen.answers["worktrees.list"] = []
    assert shown(kitchen, ["worktree", "list"], 40) == [
        "No worktrees:",
        "'podium run RECIPE --worktree' makes",
        "one.",
    ]
