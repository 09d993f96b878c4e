"""The command line itself: help, usage errors, and the table it is made from."""

import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

from podium.__main__ import HOT
from podium.cli import arguments, dispatch
from podium.commands.spec.all import COMMANDS, FIRST_DAY, GROUPS, Argument, Command
from podium.commands.status import HOT as HOT_VIEWS
from podium.errors import Failure
from tests.client.fake_daemon import FakeDaemon, podium

WITH_HANDLER = [command for command in COMMANDS if command.handler]


def name(command: Command) -> str:
    return " ".join(command.path)


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_the_help_of_each_command_is_whole(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch.run([*command.path, "--help"]) == 0

    shown = capsys.readouterr().out
    flat = " ".join(shown.split())
    assert shown.startswith(f"usage: podium {name(command)}")
    assert f"example:\n  {command.example}\n" in shown
    assert command.description in flat
    for argument in command.arguments:
        assert argument.help in flat
        assert all(option in shown for option in argument.names if argument.is_option)


@pytest.mark.parametrize("command", WITH_HANDLER, ids=name)
def test_each_handler_takes_exactly_the_arguments_of_its_command(command: Command) -> None:
    module, _, function = command.handler.partition(":")
    handler = getattr(importlib.import_module(f"podium.{module}"), function)

    assert list(inspect.signature(handler).parameters) == [
        argument.dest for argument in command.arguments
    ]


def test_each_command_that_prints_data_can_print_json() -> None:
    """All others converse or ask, print words for a program already, or help."""
    without = {
        name(command)
        for command in WITH_HANDLER
        if not any("--json" in argument.names for argument in command.arguments)
    }

    assert without == {"chat", "completion", "help", "mcp", "schema", "web setup"}


@pytest.mark.parametrize("command", WITH_HANDLER, ids=name)
def test_each_example_parses(command: Command) -> None:
    import shlex

    words = shlex.split(command.example.partition("|")[2] or command.example, comments=True)
    if words[0] == "source":
        words = ["podium", "completion", "bash"]

    found, rest = dispatch.find(words[1:])

    assert found == command
    assert arguments.parse(found, rest).keys() == {one.dest for one in command.arguments}


@pytest.mark.parametrize("words", [[], ["run"], ["recipe"], ["recipe", "list"], ["help"]])
def test_the_command_help_is_the_option_help(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch.run([*words, "--help"]) == 0
    by_option = capsys.readouterr().out

    assert dispatch.run(["help", *words]) == 0

    assert capsys.readouterr().out == by_option


def test_the_help_of_down_says_what_becomes_of_running_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dispatch.run(["help", "down"])

    flat = " ".join(capsys.readouterr().out.split())
    assert "is paused: after the next 'podium up', 'podium resume RUN' lets it go on." in flat
    assert "A plain prompt is ended." in flat


def test_the_example_of_run_gives_a_parameter_that_the_shipped_recipe_has() -> None:
    (example,) = [command.example for command in COMMANDS if command.path == ("run",)]
    shipped = Path(__file__).parents[2] / "recipes" / "implement-and-review.toml"

    name = example.partition("-p ")[2].partition("=")[0]

    assert name in tomllib.loads(shipped.read_text())["params"]


def test_the_overview_names_ten_commands_of_a_first_day_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert dispatch.run([]) == 0

    shown = capsys.readouterr().out
    listed = [line.split("  ")[1] for line in shown.splitlines() if line.startswith("  ")]
    assert listed == [" ".join(path) for path in FIRST_DAY]
    assert len(listed) == 10
    assert "'podium --help --all' lists every command" in shown
    assert "6 the daemon is not running" in shown


@pytest.mark.parametrize("words", [["--help", "--all"], ["help", "--all"]])
def test_all_names_every_command_once_under_what_it_is_for(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch.run(words) == 0

    shown = capsys.readouterr().out.splitlines()
    names = [group for group, _ in GROUPS]
    assert [line.rstrip(":") for line in shown if line.rstrip(":") in names] == names
    for command in WITH_HANDLER:
        lines = [line for line in shown if line.startswith(f"  {name(command)}  ")]
        assert [line.endswith(f"  {command.summary}") for line in lines] == [True]


def test_the_usage_of_run_begins_with_what_matters_most(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dispatch.run(["help", "run"])

    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(
        "usage: podium run [RECIPE] [-p NAME=VALUE]... [--worktree] [--detach] "
    )


def test_no_line_of_help_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("podium.text.columns", lambda: 60)

    dispatch.run(["help", "run"])

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[: lines.index("example:")])) <= 60


TABLE = Command(
    ("try",),
    "",
    "",
    "",
    "",
    (
        Argument(("one",), "", "one", "ONE"),
        Argument(("more",), "", "more", "MORE", optional=True),
        Argument(("-p", "--param"), "", "params", "NAME=VALUE", repeat=True),
        Argument(("-n",), "", "count", "N"),
        Argument(("--kind",), "", "kind", choices=("a", "b"), default="a"),
        Argument(("--json",), "", "json", flag=True),
    ),
)
NOTHING: dict[str, object] = {
    "one": "x",
    "more": None,
    "params": [],
    "count": None,
    "kind": "a",
    "json": False,
}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("x", {}),
        ("x y", {"more": "y"}),
        ("x --json y", {"more": "y", "json": True}),
        ("--kind b x", {"kind": "b"}),
        ("x --kind=b", {"kind": "b"}),
        ("x -p a=1 --param=b=2 -pc=3", {"params": ["a=1", "b=2", "c=3"]}),
        ("x -n 5", {"count": "5"}),
        ("x -n5", {"count": "5"}),
        ("x -n -5", {"count": "-5"}),
        ("- -5", {"one": "-", "more": "-5"}),
        ("-- --json -p", {"one": "--json", "more": "-p"}),
    ],
)
def test_options_and_places_may_stand_in_any_order(words: str, given: dict[str, object]) -> None:
    assert arguments.parse(TABLE, words.split()) == NOTHING | given


def test_a_message_that_begins_with_a_dash_is_no_option() -> None:
    assert arguments.parse(TABLE, ["- one\n- two"])["one"] == "- one\n- two"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "'podium try' needs ONE: see 'podium try --help'."),
        ("x y z", "'podium try' does not take z: "),
        ("x --jsno", "does not take --jsno; the nearest is --json: "),
        ("x --limit 3 --json", "does not take --limit 3; it takes --param, -n, --kind, --json: "),
        ("x --json=1", "takes --json without a value: "),
        ("x --kind", "needs a value after --kind, as in --kind a|b: "),
        ("x --kind --json", "needs a value after --kind"),
        ("x --kind c", "takes a or b after --kind, not 'c': "),
    ],
)
def test_what_a_command_does_not_take_is_said_with_what_it_takes(words: str, said: str) -> None:
    with pytest.raises(Failure) as failed:
        arguments.parse(TABLE, words.split())

    assert said in failed.value.sentence


def test_the_short_way_knows_the_same_flags_as_the_table() -> None:
    table = {command.path[0]: command for command in COMMANDS if len(command.path) == 1}

    assert HOT.keys() == HOT_VIEWS.keys()
    for command, flags in HOT.items():
        arguments = table[command].arguments
        assert flags == {one.names[0]: one.dest for one in arguments if one.flag}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sttaus"], "no command 'sttaus': the nearest is 'status', and 'podium --help --all'"),
        (["recipe", "lst"], "'recipe lst': the nearest is 'recipe list', and 'podium recipe --h"),
        (["runs", "shwo", "1a"], "no command 'runs shwo': the nearest is 'runs show'"),
        (["frobnicate"], "no command 'frobnicate': 'podium --help --all' lists them all."),
        (["recipe", "zzz"], "no command 'recipe zzz': 'podium recipe --help' lists them all."),
        (["help", "sttaus"], "no command 'sttaus'"),
        (["--json", "status"], "'podium' alone does not take --json: options stand after the"),
        (["-x"], "'podium' alone does not take -x: "),
        (["status", "--jsn"], "'podium status' does not take --jsn"),
        (["runs", "--al"], "'podium runs' does not take --al"),
        (
            ["run", "a", "--on-question", "b"],
            "takes ask, wait or fail after --on-question",
        ),
        (["recipe"], "'podium recipe' needs one of: "),
        (["voice"], "see 'podium voice --help'"),
        (["chat", "hello"], "'podium chat' does not take hello: see 'podium chat --help'"),
        (["runs", "show", "1a", "2b", "--c"], "'podium runs show' does not take 2b --c"),
        (["orchestration", "maybe"], "takes on or off, not 'maybe'"),
        (
            ["config", "set", "x"],
            "not 'set': settings are changed in the file that ",
        ),
        (["answer"], "'podium answer' needs QUESTION: 'podium questions' lists what there is."),
        (["steer"], "'podium steer' needs RUN and TEXT: 'podium runs --all' lists what there is."),
        (["worktree", "remove"], "needs RUN: 'podium worktree list' lists what there is."),
        (["show"], "'podium show' needs SESSION: 'podium sessions' lists what there is."),
        (["run", ""], "takes no empty RECIPE: 'podium recipe list' lists what there is."),
        (["run", "a", ""], "'podium run' does not take '': see"),
        (["answer", "5e6f", ""], "no empty VALUE: without one the question and its choices are"),
        (["run", "a", "-p", "a b=3"], "its name is letters, digits, '-', '_' and '.'."),
        (["completion"], "'podium completion' needs SHELL (bash, zsh or fish): see "),
        (
            ["run", "a", "--session", ""],
            "no empty value after --session, but one as in --session ID",
        ),
        (
            ["run", "a", "--model="],
            "'podium run' takes no empty value after --model, but one as in",
        ),
        (["chat", "--agent", ""], "'podium chat' takes no empty value after --agent"),
        (["runs", "--zzz", "x"], "it takes --all, --limit, --before, --json: see"),
        (["prune", "--what", "worktrees"], "takes runs, turns, checks, transcripts, gone, marks"),
        (["rpc", "daemon.ping", "{"], "not JSON"),
        (["rpc", "daemon.ping", "[1]"], "Parameters go by name"),
        (["rpc", 'a"b'], "is no method name"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(
    daemon: FakeDaemon, arguments: list[str], words: str
) -> None:
    done = podium(daemon, *arguments)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr
    assert daemon.calls == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], []])
def test_help_and_version_touch_nothing(
    daemon: FakeDaemon, tmp_path: Path, arguments: list[str]
) -> None:
    home = tmp_path / "home"
    done = podium(daemon, *arguments, HOME=str(home), PODIUM_HOME=str(home))

    assert (done.returncode, done.stderr) == (0, "")
    assert daemon._clients == []
    assert list(tmp_path.iterdir()) == []
