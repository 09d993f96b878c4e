"""Following, in the small: a daemon that stays away, and words that are told once."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.dialog import ask
from podium.errors import Failure
from podium.rpc import feed
from tests.client import stories
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    HangUp,
    environment,
    finish,
    start,
)
from tests.client.terminal import Terminal

# What these tests name of what is sent is all that they are about.
chosen: Any = ask.chosen

RESUME = (
    f"'podium resume {RUN_ID[:8]}' lets a recipe go on that was at work, and "
    f"'podium attach {RUN_ID[:8]}' follows it"
)


def test_a_daemon_that_stays_away_is_given_up_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "GONE_SECONDS", 0.0)

    with pytest.raises(Failure, match="'podium up' starts it and all is well") as gone:
        feed.wait_for_daemon(str(tmp_path / "podium.sock"), "and all is well")

    assert gone.value.exit_code == 6


def test_a_daemon_is_back_once_it_has_answered(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that dies still accepts for a moment."""

    def dying_first(params: stories.Json) -> stories.Json:
        if len(daemon.params_of("daemon.ping")) == 1:
            raise HangUp
        return {}

    daemon.answers["daemon.ping"] = dying_first

    feed.wait_for_daemon(str(daemon.path), "").close()

    assert len(daemon.params_of("daemon.ping")) == 2
    assert capsys.readouterr().err.count("the daemon is back") == 1


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["attach", RUN_ID], RESUME),
        (["prompt", "words"], RESUME),
        (["runs", "log", RUN_ID, "--follow"], RESUME),
        (["show", SESSION_ID, "--follow"], f"then 'podium show {SESSION_ID[:8]} --follow' goes on"),
    ],
)
def test_a_daemon_that_was_stopped_is_not_waited_for(
    daemon: FakeDaemon, arguments: list[str], asked: str
) -> None:
    daemon.events = [stories.started()]
    daemon.answers |= {
        "sessions.prompt": {"run_id": RUN_ID, "turn_id": stories.TURN_ID, "session_id": "5e55"},
        "sessions.get": {"session_id": SESSION_ID},
    }
    client = start(daemon, *arguments)
    daemon.wait_for("sessions.subscribe" if arguments[0] == "show" else "runs.events")
    daemon.leave("interrupt")
    _, err = finish(client)

    assert client.returncode == 6
    assert err.endswith(
        f"podium: The daemon was stopped. Nothing is lost: 'podium up' starts it, {asked}.\n"
    )
    assert "went away" not in err


def test_the_end_of_a_run_that_comes_after_the_news_of_the_stop_is_told(
    daemon: FakeDaemon,
) -> None:
    daemon.events = [stories.started()]
    client = start(daemon, "attach", RUN_ID)
    daemon.wait_for("runs.events")
    with daemon._changed:
        for follower in daemon._followers:
            daemon.notify(follower, {"turns": "interrupt"}, "daemon.stopping")
        daemon.publish(stories.ended(2, "cancelled"))
        daemon.stop()
    out, err = finish(client)

    assert client.returncode == 130
    assert "stopped on request" in out and err == ""


@pytest.mark.parametrize(
    ("arguments", "status", "code", "parting"),
    [
        (["attach", RUN_ID], "ended", 0, ""),
        (["attach", RUN_ID, "--json"], "ended", 0, ""),
        (["runs", "log", RUN_ID], "ended", 0, ""),
        (["runs", "log", RUN_ID, "--follow"], "ended", 0, ""),
        (["attach", RUN_ID], "running", 130, "podium: following ended, the run goes on:"),
    ],
)
def test_a_reader_that_has_enough_of_a_run_is_told_only_that_the_run_goes_on(
    daemon: FakeDaemon, arguments: list[str], status: str, code: int, parting: str
) -> None:
    daemon.events = [stories.started(), stories.ended(2)]
    daemon.answers["runs.get"] = stories.ended_run() | {"status": status}
    reader, writer = os.pipe()
    os.close(reader)  # as 'head' leaves it
    with os.fdopen(writer) as closed:
        done = subprocess.run(
            [sys.executable, "-m", "podium", *arguments],
            stdout=closed,
            stderr=subprocess.PIPE,
            env=environment(daemon.path),
            text=True,
            check=False,
        )
    assert done.returncode == code
    assert done.stderr.startswith(parting) and done.stderr.count("\n") == bool(parting)


def test_a_daemon_that_leaves_its_agents_at_work_is_waited_for(daemon: FakeDaemon) -> None:
    daemon.events = [stories.started()]
    client = start(daemon, "attach", RUN_ID)
    daemon.wait_for("runs.events")
    daemon.leave("leave")
    daemon.events.append(stories.ended(2))
    daemon.listen()
    _, err = finish(client)

    assert client.returncode == 0
    assert "the daemon is back" in err


def test_words_that_a_new_daemon_told_before_the_client_was_back_stand_in_their_place(
    daemon: FakeDaemon,
) -> None:
    """A program gets each word once and in order."""
    daemon.events = [stories.started(text="count")]
    daemon.answers["sessions.prompt"] = {
        "run_id": RUN_ID,
        "turn_id": stories.TURN_ID,
        "session_id": "5e55",
    }
    client = start(daemon, "prompt", "count")
    daemon.wait_for("runs.events")
    daemon.publish(stories.said("w1 w2 w"))
    daemon.stop()
    daemon.listen()
    daemon.wait_for("runs.events", 2)
    run = stories.ended(3)
    daemon.publish(stories.said("5 w6", at=13), stories.turn_ended(2, "w1 w2 w3 w4 w5 w6"), run)
    out, _ = finish(client)

    assert (client.returncode, out) == (0, "w1 w2 w3 w4 w5 w6\n")


def test_a_queued_start_says_so(daemon: FakeDaemon) -> None:
    stories.recipe_daemon(daemon, stories.started(), stories.ended(2))
    daemon.answers["runs.start"] = {"run_id": RUN_ID, "status": "queued"}

    out, err = finish(start(daemon, "run", "fix-it"))

    first, *more = out.splitlines()
    assert first == "Fix it"
    assert (more[1], err) == ("  queued until another agent is done", "")
    _, err = finish(start(daemon, "run", "fix-it", "--json"))
    assert err == "podium: queued until another agent is done.\n"


def test_a_doubt_about_the_start_and_each_step_that_another_agent_takes_are_told(
    daemon: FakeDaemon,
) -> None:
    doubt = "'claude' is implementer and judge: choose another with -p judge=AGENT"
    reviewed = stories.turn_intended(3)
    reviewed["data"]["agent"] = "codex"
    own = [stories.entered(4, visit=2), stories.turn_intended(5, visit=2), stories.ended(6)]
    begin = stories.started(doubts=[doubt], agent="claude")
    stories.recipe_daemon(daemon, begin, stories.entered(2), reviewed, *own)

    out, _ = finish(start(daemon, "run", "fix-it"))

    lines = out.splitlines()
    assert f"  ⚠ {doubt}" in lines[: lines.index("▸ fix  visit 1 · step 1 of 7")]
    assert [line for line in lines if "taken by" in line] == ["  taken by codex"]
    assert lines[lines.index("▸ fix  visit 1 · step 1 of 7") + 1] == "  taken by codex"


def test_an_approval_of_a_plain_prompt_is_asked_at_the_terminal(daemon: FakeDaemon) -> None:
    def answered(params: stories.Json) -> stories.Json:
        daemon.publish(stories.turn_ended(3, "Made."), stories.ended(4))
        return stories.APPROVAL

    daemon.answers |= {
        "sessions.prompt": {"run_id": RUN_ID, "turn_id": stories.TURN_ID, "session_id": "5e55"},
        "questions.list": [stories.APPROVAL],
        "questions.answer": answered,
    }
    with Terminal(daemon, "prompt", "make it", NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(
            stories.started(text="make it"),
            stories.event(2, "question.opened", question_id=QUESTION_ID),
        )
        terminal.expect("? approval: May the agent use Bash?")
        for line in stories.CALL:
            terminal.expect(line)
        terminal.expect("1) allow  Allow once")
        terminal.expect("2) deny\r\n")
        terminal.expect("> ")
        terminal.type("d\n")
        terminal.expect("Made.")

        assert terminal.end() == 0
    assert daemon.params_of("questions.answer")[0]["answer"] == "deny"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("2", "blue"), ("4", "4"), ("RED", "red"), ("b", "blue"), ("r", "r"), ("none", "none")],
)
def test_what_is_typed_is_a_choice_only_where_it_is_clear(typed: str, meant: str) -> None:
    question = {"choices": [{"id": one, "label": one.title()} for one in ("red", "blue", "rose")]}

    assert chosen(question, typed) == meant
