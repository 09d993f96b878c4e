"""``podium run`` without a terminal: what is told, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client import stories
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    HangUp,
    Refused,
    environment,
    finish,
    podium,
    start,
)
from tests.client.stories import ended, entered, event, recipe_daemon, said, started, turn_ended
from tests.patience import HANG_SECONDS


def test_the_first_lines_say_recipe_and_task_where_and_what_bounds_it(daemon: FakeDaemon) -> None:
    """And no prompt: that is for the agent."""
    recipe_daemon(daemon, started(name="fix-it: Mend the gate"), ended(2))

    first, second, *_ = podium(daemon, "run", "fix-it").stdout.splitlines()

    assert first == "fix-it: Mend the gate"
    session = SESSION_ID[:8]
    assert second == f"  run {RUN_ID[:8]} · session {session} · ~/pots · at most 7 steps"


def test_a_round_that_changed_nothing_is_told_at_once(daemon: FakeDaemon) -> None:
    notice = event(
        3, "progress.stalled", step="review", visit=2, since=1, outcome="issues-found", tree={}
    )
    recipe_daemon(daemon, started(), entered(2, "review", 2), notice, ended(4, "guardrail"))

    told = podium(daemon, "run", "fix-it").stdout.splitlines()

    expected = (
        "  ⚠ no progress: visit 2 of 'review' ended as visit 1 did, with the same findings, and "
        "the working tree is the same"
    )
    assert expected in told


@pytest.mark.parametrize(
    ("kind", "code", "sign"),
    [
        ("completed", 0, "✓"),
        ("needs-user", 4, "⚠"),
        ("blocked", 4, "⚠"),
        ("cancelled", 130, "⚠"),
        ("guardrail", 3, "⚠"),
        ("checks-failed", 1, "✗"),
        ("error", 1, "✗"),
    ],
)
def test_the_end_decides_exit_code_sign_and_the_command_to_run_it_again(
    daemon: FakeDaemon, kind: str, code: int, sign: str
) -> None:
    recipe_daemon(daemon, started(), ended(2, kind))

    done = podium(daemon, "run", "fix-it", "--cwd", "/tmp/a b", "-p", "issue=it's 7")

    lines = done.stdout.splitlines()
    message, reason = stories.EXITS[kind][2], stories.EXITS[kind][1]
    last = f"{sign} {message} ({reason})  2 steps · 1:05 · $1.25"
    again = """Run it again: podium run fix-it --cwd '/tmp/a b' -p 'issue=it'"'"'s 7'"""
    assert done.returncode == code
    assert lines[-2:] == ([last, again] if kind != "completed" else [lines[-2], last])


def test_the_end_of_a_run_in_a_worktree_says_where_its_work_is(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    end = ended(2)
    end["data"]["run"]["worktree"] = {
        "repository": "/r",
        "directory": str(tmp_path),
        "branch": "podium/1a",
    }
    recipe_daemon(daemon, started(), end)

    lines = podium(daemon, "run", "fix-it", "--worktree").stdout.splitlines()

    assert f"{tmp_path}, branch podium/1a" in lines[-4] and "worktree merge 1a2b3c4d;" in lines[-3]
    assert lines[-1].startswith("✓ ")


def test_steps_words_checks_and_outcomes_are_told_in_order(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)
    daemon.publish(
        started(),
        entered(2),
        event(3, "turn.intended", turn_id=stories.TURN_ID, purpose="step", attempt=1),
    )
    client = start(daemon, "run", "fix-it")
    daemon.wait_for("runs.events")
    daemon.publish(
        said("Reading the "),
        said("code.\nFixing."),
        said("Bash make test", kind="tool"),
        said("", kind="tool_result"),
        said("3 passed", kind="tool_result"),
        said("Done.", uuid="m2"),
        turn_ended(4, "Done."),
        event(5, "outcome.invalid", step="fix", error="no-json", message="no JSON", attempt=1),
        event(6, "turn.intended", turn_id="t2", purpose="retry", attempt=2),
        event(7, "outcome.parsed", step="fix", outcome="other", description="two\nways"),
        event(
            8,
            "check.ended",
            step="fix",
            run=["make", "test"],
            passed=False,
            exit_status=2,
            seconds=3.25,
            tail="1 failed\n",
        ),
        event(9, "edge.taken", step="fix", outcome="checks-failed", to="fix"),
        ended(10),
    )

    out, _ = finish(client)

    told = [line.strip() for line in out.splitlines()]
    for line in (
        "▸ fix  visit 1 · step 1 of 7",
        "Reading the code.",
        "Fixing.",
        "⚙ Bash make test",
        "3 passed",
        "Done.",
        "turn: 1:02 · $0.50",
        "! no usable outcome (reply 1 of 4): no JSON",
        "asking again for the outcome (reply 2 of 4)",
        "outcome other: two ways",
        "✗ make test (exit 2, 3.2 s)",
        "1 failed",
        "checks-failed → fix · 7.0 s · $0.50 so far",
    ):
        told = told[told.index(line) + 1 :]


def test_words_that_were_not_streamed_are_told_when_the_turn_has_ended(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2), turn_ended(3, "All\nwell."), ended(4))

    assert "\n  All\n  well.\n" in podium(daemon, "run", "fix-it").stdout


def test_json_is_an_event_a_line_and_the_run_at_the_end(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2), ended(3, "guardrail"))

    done = podium(daemon, "run", "fix-it", "--json")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == daemon.events
    assert lines[-1]["data"]["run"]["exit"]["class"] == "guardrail"
    assert done.returncode == 3


def test_detach_prints_the_run_and_nothing_else(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)

    done = podium(daemon, "run", "fix-it", "--detach")

    assert (done.stdout, done.returncode) == (f"{RUN_ID}\n", 0)
    assert daemon.params_of("runs.events") == []


def test_all_options_reach_the_daemon(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)

    podium(
        daemon, "run", "fix-it", "--cwd", "/tmp", "--session", "5e55", "-p", "a=1=2", "--param",
        "b=", "--agent", "scripted", "--model", "m:1", "--worktree", "--anyway",
        "--on-question", "fail", "--detach",
    )  # fmt: skip

    (sent,) = daemon.params_of("runs.start")
    token = sent.pop("client_token")
    assert len(token) == 32
    assert sent == {
        "recipe": "fix-it",
        "working_directory": "/tmp",
        "session_id": "5e55",
        "params": {"a": "1=2", "b": ""},
        "agent": "scripted",
        "model": "m:1",
        "worktree": True,
        "anyway": True,
        "on_question": "fail",
    }


ASKED = event(2, "question.opened", **stories.APPROVAL)
CLOSED = event(
    3, "question.closed", question_id=QUESTION_ID, closed="answered", answer="allow", by="phone"
)


@pytest.mark.parametrize("command", ["run", "prompt"])
def test_without_a_terminal_a_question_is_printed_and_the_run_waits(
    daemon: FakeDaemon, command: str
) -> None:
    recipe_daemon(daemon, started(text="do it"), ASKED)
    daemon.answers["sessions.prompt"] = {"run_id": RUN_ID, "turn_id": stories.TURN_ID}
    client = start(daemon, command, {"run": "fix-it", "prompt": "do it"}[command])
    told = client.stdout if command == "run" else client.stderr
    assert told is not None
    lines: list[str] = []
    while not (lines and "answer with" in lines[-1]):
        lines.append(told.readline().rstrip("\n"))
        assert lines[-1] or command == "run", lines
    daemon.publish(CLOSED, ended(4))
    out, _ = finish(client)

    call = [f"    {line}" for line in stories.CALL]
    assert lines[-5].endswith("? approval: May the agent use Bash?")
    assert lines[-4:-1] == call
    assert lines[-1].endswith(f"it waits; answer with: podium answer {QUESTION_ID[:8]} allow|deny")
    assert client.returncode == 0
    if command == "run":
        assert daemon.params_of("runs.start")[0]["on_question"] == "wait"
        assert "? answered by phone: allow" in out


@pytest.mark.parametrize("command", [["attach", RUN_ID], ["prompt", "do it"]])
def test_a_question_long_closed_is_told_without_how_to_answer(
    daemon: FakeDaemon, command: list[str]
) -> None:
    recipe_daemon(daemon, started(text="do it"), ASKED, CLOSED, ended(4))
    daemon.answers["sessions.prompt"] = {"run_id": RUN_ID, "turn_id": stories.TURN_ID}
    daemon.stored_first = 4

    done = podium(daemon, *command)

    assert "? approval: May the agent use Bash?" in done.stdout + done.stderr
    assert "answer with" not in done.stdout + done.stderr


def test_a_question_that_fails_the_run_is_not_offered_for_an_answer(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(on_question="fail"), ASKED)
    client = start(daemon, "run", "fix-it", "--on-question", "fail")
    assert client.stdout is not None
    told = ""
    while stories.CALL[-1] not in told:
        told += client.stdout.readline()
    daemon.publish(event(3, "question.closed", question_id=QUESTION_ID, closed="expired"))
    daemon.publish(ended(4, "needs-user"))

    out, _ = finish(client)

    assert "answer with" not in told + out
    assert "? question closed, for its run has ended" in out
    assert out.splitlines()[-1].endswith(" --on-question fail")


def test_a_refused_start_is_one_sentence_and_its_own_exit_code(daemon: FakeDaemon) -> None:
    def busy(params: stories.Json) -> None:
        raise Refused(-32001, "The tree is held by run 77; wait, or use --worktree.", {"holder": 1})

    recipe_daemon(daemon).answers["runs.start"] = busy

    done = podium(daemon, "run", "fix-it")

    assert done.stderr == "podium: The tree is held by run 77; wait, or use --worktree.\n"
    assert (done.returncode, done.stdout) == (5, "")


def test_a_restarted_daemon_is_followed_without_hole_or_repeat(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)
    client = start(daemon, "run", "fix-it", "--json")
    daemon.wait_for("runs.events")
    daemon.publish(started(), entered(2))
    assert client.stdout is not None
    first = [client.stdout.readline() for _ in range(2)]

    daemon.stop()
    daemon.events += [entered(3, visit=2), ended(4)]
    daemon.stored_first = 1
    daemon.listen()
    rest, err = finish(client)

    lines = [json.loads(line) for line in [*first, *rest.splitlines()]]
    assert [line["seq"] for line in lines] == [1, 2, 3, 4]
    assert daemon.params_of("runs.events")[-1]["after_seq"] == 2
    assert "the daemon went away" in err
    assert client.returncode == 0


@pytest.mark.parametrize("command", ["run", "prompt"])
def test_a_turn_that_a_restarted_daemon_streams_again_is_told_once(
    daemon: FakeDaemon, command: str
) -> None:
    pieces = [
        said("I need a shell.", at=0),
        said("Bash ls", "m2", "tool", at=0),
        said("Touched.", "m3", at=15),
    ]
    recipe_daemon(daemon)
    daemon.answers["sessions.prompt"] = {"run_id": RUN_ID, "turn_id": stories.TURN_ID}
    client = start(daemon, command, {"run": "fix-it", "prompt": "do it"}[command])
    daemon.wait_for("runs.events")
    daemon.publish(started(text="do it"), *pieces[:2])
    told = client.stdout if command == "run" else client.stderr
    assert told is not None
    before = ""
    while "Bash ls" not in before:
        before += told.readline()

    daemon.stop()
    daemon.events = [started(text="do it")]
    daemon.listen()
    daemon.wait_for("runs.events", 2)
    daemon.publish(*pieces, turn_ended(2, "I need a shell.\n\nTouched."), ended(3))
    out, err = finish(client)

    whole = before + out + err
    assert [whole.count(one) for one in ("shell.", "Bash ls", "Touched.")] == [1, 1, 1]


def test_a_hole_in_the_events_is_asked_for_again(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)
    client = start(daemon, "run", "fix-it", "--json")
    daemon.wait_for("runs.events")
    daemon.publish(started())
    daemon.events.append(entered(2))
    daemon.publish(entered(3, visit=2), ended(4))

    out, _ = finish(client)

    assert [json.loads(line)["seq"] for line in out.splitlines()] == [1, 2, 3, 4]


def test_an_event_that_is_lost_for_good_does_not_stop_the_following(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(3), ended(4))

    done = podium(daemon, "run", "fix-it", "--json")

    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == [1, 3, 4]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_start_whose_answer_is_lost_is_asked_again_under_the_same_token(
    daemon: FakeDaemon,
) -> None:
    recipe_daemon(daemon, started(), ended(2))
    tokens = []

    def lose_the_first(params: stories.Json) -> stories.Json:
        tokens.append(params["client_token"])
        if len(tokens) == 1:
            raise HangUp(b'{"jsonrpc": "2.0", "id"')
        return {"run_id": RUN_ID}

    daemon.answers["runs.start"] = lose_the_first

    done = podium(daemon, "run", "fix-it")

    assert done.returncode == 0
    assert len(tokens) == 2
    assert tokens[0] == tokens[1]


def test_a_daemon_that_keeps_hanging_up_is_given_up(daemon: FakeDaemon) -> None:
    def hang_up(params: stories.Json) -> None:
        raise HangUp

    recipe_daemon(daemon).answers["runs.events"] = hang_up

    done = podium(daemon, "run", "fix-it")

    assert done.returncode == 1
    assert "The daemon keeps closing the connection" in done.stderr


def test_a_reader_that_leaves_ends_only_the_following(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon)
    with subprocess.Popen(
        [sys.executable, "-m", "podium", "run", "fix-it", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(daemon.path),
    ) as client:
        daemon.wait_for("runs.events")
        assert client.stdout is not None
        assert client.stderr is not None
        client.stdout.close()
        daemon.publish(started())
        err = client.stderr.read().decode()
        code = client.wait(HANG_SECONDS)

    assert code == 130
    assert err.count("\n") == 1
    assert f"podium attach {RUN_ID[:8]}" in err
