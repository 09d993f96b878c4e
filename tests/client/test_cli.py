"""The command line itself: help, usage errors, and the table it is made from."""

import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

from podium import cli
from podium.__main__ import HOT
from podium.commands import COMMANDS, Command
from podium.views import HOT as HOT_VIEWS
from tests.client.fake_daemon import FakeDaemon, podium

WITH_HANDLER = [command for command in COMMANDS if command.handler]


def name(command: Command) -> str:
    return " ".join(command.path)


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_the_help_of_each_command_is_whole(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*command.path, "--help"]) == 0

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


@pytest.mark.parametrize("command", WITH_HANDLER, ids=name)
def test_each_example_parses(command: Command) -> None:
    import shlex

    words = shlex.split(command.example.partition("|")[2] or command.example, comments=True)
    if words[0] == "source":
        words = ["podium", "completion", "bash"]

    parsed = cli.parser().parse_args(words[1:])

    assert parsed.handler == command.handler


@pytest.mark.parametrize("words", [[], ["run"], ["recipe"], ["recipe", "list"], ["help"]])
def test_the_command_help_is_the_option_help(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*words, "--help"]) == 0
    by_option = capsys.readouterr().out

    assert cli.run(["help", *words]) == 0

    assert capsys.readouterr().out == by_option


def test_the_help_of_down_says_what_becomes_of_running_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cli.run(["help", "down"])

    flat = " ".join(capsys.readouterr().out.split())
    assert "is paused: after the next 'podium up', 'podium resume RUN' lets it go on." in flat
    assert "A plain prompt is ended." in flat


def test_the_example_of_run_gives_a_parameter_that_the_shipped_recipe_has() -> None:
    (example,) = [command.example for command in COMMANDS if command.path == ("run",)]
    shipped = Path(__file__).parents[2] / "recipes" / "implement-and-review.toml"

    name = example.partition("-p ")[2].partition("=")[0]

    assert name in tomllib.loads(shipped.read_text())["params"]


def test_the_overview_names_every_command_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run([]) == 0

    shown = capsys.readouterr().out
    for command in WITH_HANDLER:
        assert f"  {name(command)} " in shown
        assert command.summary in shown
    assert "6 the daemon is not running" in shown


def test_the_short_way_knows_the_same_flags_as_the_table() -> None:
    table = {command.path[0]: command for command in COMMANDS if len(command.path) == 1}

    assert HOT.keys() == HOT_VIEWS.keys()
    for command, flags in HOT.items():
        arguments = table[command].arguments
        assert flags == {one.names[0]: one.dest for one in arguments if one.flag}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sttaus"], "no command 'sttaus': the nearest is 'status', and 'podium --help'"),
        (["recipe", "lst"], "'recipe lst': the nearest is 'recipe list', and 'podium recipe --h"),
        (["runs", "shwo", "1a"], "no command 'runs shwo': the nearest is 'runs show'"),
        (["frobnicate"], "no command 'frobnicate': 'podium --help' lists them all."),
        (["recipe", "zzz"], "no command 'recipe zzz': 'podium recipe --help' lists them all."),
        (["help", "sttaus"], "no command 'sttaus'"),
        (["--json", "status"], "'podium' alone does not take --json: options stand after the"),
        (["-x"], "'podium' alone does not take -x: "),
        (["status", "--jsn"], "'podium status' does not take --jsn"),
        (["runs", "--al"], "'podium runs' does not take --al"),
        (["run"], "the following arguments are required: RECIPE"),
        (["run", "a", "--on-question", "b"], "invalid choice: 'b'"),
        (["recipe"], "'podium recipe' needs one of: "),
        (["voice"], "see 'podium voice --help'"),
        (["chat", "hello"], "'podium chat' does not take hello: see 'podium chat --help'"),
        (["runs", "show", "1a", "2b", "--c"], "'podium runs show' does not take 2b --c"),
        (["orchestration", "maybe"], "invalid choice: 'maybe'"),
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
