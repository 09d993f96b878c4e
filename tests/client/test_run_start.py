"""What ``podium run`` asks before it starts, and what it is told of a start that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import stories
from tests.client.fake_daemon import RUN_ID, FakeDaemon, Refused, podium
from tests.client.stories import ended, entered, event, recipe_daemon, started
from tests.client.terminal import Terminal

UNUSUAL = Refused(
    -32006,
    "'/root' is your whole home, and recipe 'fix-it' works in all of it and commits.",
    {"what": "unusual-place", "fix": "Start it in a project, or with --anyway if you mean that."},
)


@pytest.mark.parametrize(("answer", "started_there"), [("y", True), ("", False)])
def test_a_person_is_asked_before_a_recipe_commits_in_the_whole_home(
    daemon: FakeDaemon, answer: str, started_there: bool
) -> None:
    recipe_daemon(daemon, started(), ended(2))
    begin: stories.Json = daemon.answers["runs.start"]

    def careful(params: stories.Json) -> stories.Json:
        if not params.get("anyway"):
            raise UNUSUAL
        return begin

    daemon.answers["runs.start"] = careful
    with Terminal(daemon, "run", "fix-it") as terminal:
        terminal.expect("'/root' is your whole home")
        terminal.expect("Start it there anyway? [y/N]")
        terminal.type(f"{answer}\r")
        assert (terminal.end() == 0) is started_there
    sent = daemon.params_of("runs.start")
    assert [params.get("anyway") for params in sent] == [None, True][: 1 + started_there]


def test_without_a_terminal_the_refusal_says_how_to_force_it(daemon: FakeDaemon) -> None:
    def careful(params: stories.Json) -> stories.Json:
        raise UNUSUAL

    recipe_daemon(daemon).answers["runs.start"] = careful
    done = podium(daemon, "run", "fix-it")

    assert "--anyway" in done.stderr and done.returncode == 1


def test_a_claim_that_is_not_so_is_told_as_such(daemon: FakeDaemon) -> None:
    invalid = event(
        3, "outcome.invalid", step="commit", error="not-so", attempt=1, expected=[],
        message="'committed' is not so: there is no new commit",
    )  # fmt: skip
    recipe_daemon(daemon, started(), entered(2), invalid, ended(4))

    told = podium(daemon, "run", "fix-it").stdout
    assert "): 'committed' is not so: there is no new commit" in told
    assert "no usable outcome" not in told


@pytest.mark.parametrize("pair", ["issue", "=7"])
def test_a_parameter_without_name_or_value_is_a_usage_error(daemon: FakeDaemon, pair: str) -> None:
    done = podium(daemon, "run", "fix-it", "-p", pair)

    assert (done.returncode, daemon.calls) == (2, [])
    assert done.stderr == f"podium: '-p {pair}' is no parameter: write -p NAME=VALUE.\n"


def test_what_a_detached_run_waits_for_is_told_beside_its_id(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)
    waiting = {"run_id": RUN_ID, "status": "waiting", "questions": [stories.QUESTION]}
    daemon.answers["runs.start"] = waiting

    done = podium(daemon, "run", "fix-it", "--detach")

    assert done.stdout == f"{RUN_ID}\n"
    question = str(stories.QUESTION["question_id"])[:8]
    assert done.stderr == f"podium: It waits for you: podium answer {question} yes|no\n"


def test_a_detached_conversation_waits_for_words(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)
    talk = {"run_id": RUN_ID, "status": "waiting", "questions": [], "session_id": "5e55"}
    daemon.answers["runs.start"] = talk

    done = podium(daemon, "run", "fix-it", "--detach")

    assert (done.stdout, done.stderr) == (
        f"{RUN_ID}\n",
        "podium: It waits for your words: podium prompt --session 5e55 TEXT\n",
    )


@pytest.mark.parametrize("empty", [(), ("-p", "goal=")], ids=["not given", "given empty"])
@pytest.mark.parametrize(("goal", "started_with"), [("Mend it", True), ("", False)])
def test_a_person_is_asked_for_a_parameter_that_nobody_gave(
    daemon: FakeDaemon, goal: str, started_with: bool, empty: tuple[str, ...]
) -> None:
    recipe_daemon(daemon, started(), ended(2))
    begin: stories.Json = daemon.answers["runs.start"]

    def needing(params: stories.Json) -> stories.Json:
        if not params.get("params", {}).get("goal"):
            raise Refused(-32602, "parameter 'goal' is missing", {"missing": "goal"})
        return begin

    daemon.answers["runs.start"] = needing
    with Terminal(daemon, "run", "fix-it", *empty) as terminal:
        terminal.expect("goal? ")
        terminal.type(f"{goal}\r")
        assert (terminal.end() == 0) is started_with
    given = [params.get("params") for params in daemon.params_of("runs.start")]
    first = {"goal": ""} if empty else None
    assert given == [first, {"goal": goal}][: 1 + started_with]


@pytest.mark.parametrize(("given", "whole"), [("lines.toml", "cwd"), ("~/lines.toml", "home")])
def test_a_script_is_found_from_where_the_person_is(
    daemon: FakeDaemon, tmp_path: Path, given: str, whole: str
) -> None:
    recipe_daemon(daemon, started(), ended(2, "error"))

    done = podium(
        daemon, "run", "fix-it", "--agent", "scripted", "--script", given,
        cwd=tmp_path, HOME="/home/ada",
    )  # fmt: skip

    file = {"cwd": f"{tmp_path}/lines.toml", "home": "/home/ada/lines.toml"}[whole]
    assert daemon.params_of("runs.start")[0]["script"] == file
    assert f"--script {file}" in done.stdout


NO_LOGIN = "claude is not logged in: run 'claude' in a terminal of the daemon's machine and log in"


def test_who_follows_a_run_is_told_that_it_is_to_pause_and_how_it_goes_on(
    daemon: FakeDaemon,
) -> None:
    stop, paused = event(3, "stop.intended", how="pause"), event(4, "run.paused", why="requested")
    recipe_daemon(daemon, started(), entered(2), stop, paused, ended(5))

    said = podium(daemon, "run", "fix-it", "--cwd", "/tmp").stdout

    assert "⏸ will pause at the end of its turn, command or check\n" in said
    assert f"⏸ paused (requested); to go on: podium resume {RUN_ID[:8]}\n" in said


def failed_for_want_of_a_login() -> list[stories.Json]:
    end = ended(3, "error")
    end["data"]["run"]["exit"] |= {"reason": "error", "detail": NO_LOGIN}
    return [started(), entered(2), end]


def test_what_ended_a_run_is_to_be_mended_before_it_is_run_again(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, *failed_for_want_of_a_login())

    lines = podium(daemon, "run", "fix-it", "--cwd", "/tmp").stdout.splitlines()

    assert lines[-2:] == [
        f"    {NO_LOGIN}",
        "First fix the cause, then run it again: podium run fix-it --cwd /tmp",
    ]


def test_a_run_that_is_shown_later_says_it_in_the_same_words(daemon: FakeDaemon) -> None:
    events = failed_for_want_of_a_login()
    daemon.events = events
    daemon.answers["runs.get"] = events[-1]["data"]["run"]

    lines = podium(daemon, "runs", "show", RUN_ID).stdout.splitlines()

    assert f"    {NO_LOGIN}" in lines
    assert lines[-1].startswith("  First fix the cause, then run it again: podium run fix-it")


def test_what_the_turn_has_told_is_not_told_twice(daemon: FakeDaemon) -> None:
    first, step, end = failed_for_want_of_a_login()
    report = {"kind": "api_error", "detail": NO_LOGIN}
    turn = event(3, "turn.ended", turn_id="t", report=report, text="", seconds=1.0, cost_usd=0.0)
    recipe_daemon(daemon, first, step, turn, {**end, "seq": 4})

    said = podium(daemon, "run", "fix-it", "--cwd", "/tmp").stdout

    assert said.count(NO_LOGIN) == 1
    assert said.endswith("First fix the cause, then run it again: podium run fix-it --cwd /tmp\n")


def test_a_command_to_be_copied_is_in_one_piece_on_a_narrow_terminal(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, *failed_for_want_of_a_login())
    given = ["fix-it", "--cwd", "/tmp", "-p", "task=Give-the-pots-and-pans-their-lids-back"]

    with Terminal(daemon, "run", *given, columns=36) as terminal:
        terminal.end()
    lines = terminal.screen.replace("\r\n", "\n").splitlines()

    assert lines[-3:-1] == ["First fix the cause, then run it", "  again:"]
    assert lines[-1:] == [f"podium run {' '.join(given)}"]
