"""``podium prompt``: the answer alone on standard output."""

import json
from pathlib import Path
from typing import Any

import pytest

from podium.render import conversation_words, run_words
from tests.client import phases, stories
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    finish,
    podium,
    start,
)
from tests.client.stories import ended, event, said, started, turn_ended
from tests.client.terminal import Terminal

# What these tests name of what is sent is all that they are about.
again_command: Any = run_words.again_command

Json = Any

SECOND = "7u2n0000-0000-4000-8000-000000000099"


def taken_up(seq: int, purpose: str) -> Json:
    """Begin another turn of the prompt's run."""
    return event(seq, "turn.intended", turn_id=SECOND, purpose=purpose, attempt=1)


def second_ended(seq: int, words: str) -> Json:
    return event(seq, "turn.ended", turn_id=SECOND, text=words, report={"kind": "done"})


@pytest.fixture
def prompted(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers["sessions.prompt"] = {
        "run_id": RUN_ID,
        "turn_id": stories.TURN_ID,
        "session_id": SESSION_ID,
    }
    return daemon


def test_the_answer_is_streamed_as_it_is_and_tools_go_to_the_other_stream(
    prompted: FakeDaemon,
) -> None:
    client = start(prompted, "prompt", "What is it?")
    prompted.wait_for("runs.events")
    prompted.publish(
        started(text="What is it?"),
        said("A b"),
        said("ook.\x1b"),
        said("Read pots.txt", kind="tool"),
        said("Two.", uuid="m2"),
        turn_ended(2, "Two."),
        ended(3),
    )

    out, err = finish(client)

    assert (out, err) == ("A book.\x1b\n\nTwo.\n", "⚙ Read pots.txt\n")
    assert client.returncode == 0


def test_an_answer_that_was_not_streamed_is_printed_at_the_end(prompted: FakeDaemon) -> None:
    prompted.events = [started(text="hi"), turn_ended(2, "Hello."), ended(3)]

    assert podium(prompted, "prompt", "hi").stdout == "Hello.\n"


LIMITED = (
    event(2, "turn.ended", turn_id=stories.TURN_ID, text="", report={"kind": "usage_limit"}),
    event(3, "run.parked", until="2026-05-01T12:00:00.000Z", detail="limit"),
    event(4, "run.resumed"),
    taken_up(5, "go-on"),
)
PARKED = "⏸ usage limit: parked until 2026-05-01T12:00:00.000Z"


def test_the_answer_of_the_turn_that_goes_on_after_a_usage_limit_is_printed(
    prompted: FakeDaemon,
) -> None:
    prompted.events = [started(text="hi"), *LIMITED, second_ended(6, "The answer."), ended(7)]

    done = podium(prompted, "prompt", "hi")

    assert (done.returncode, done.stdout) == (0, "The answer.\n")
    assert done.stderr == f"{PARKED}\nasking the agent to go on\n"


def test_at_a_terminal_the_answer_after_a_usage_limit_is_printed_below_why_it_took_so_long(
    prompted: FakeDaemon,
) -> None:
    prompted.events = [started(text="hi"), *LIMITED, second_ended(6, "The answer."), ended(7)]

    with Terminal(prompted, "prompt", "hi", NO_COLOR="1") as terminal:
        terminal.expect(PARKED)
        terminal.expect("The answer.")

        assert terminal.end() == 0


def test_the_turn_that_the_next_daemon_begins_in_place_of_one_cut_off_has_the_answer(
    prompted: FakeDaemon,
) -> None:
    client = start(prompted, "prompt", "hi")
    prompted.wait_for("runs.events")
    prompted.publish(started(text="hi"), said("Let me"), said("Read pots.txt", kind="tool"))
    assert client.stderr is not None
    assert client.stderr.readline() == "⚙ Read pots.txt\n"

    prompted.stop()
    cut_off = event(2, "turn.ended", turn_id=stories.TURN_ID, text="", report={"kind": "broken"})
    prompted.events = [started(text="hi"), cut_off, taken_up(3, "interrupted")]
    prompted.listen()
    prompted.wait_for("runs.events", 2)
    streamed = said("Let me see")
    streamed["data"]["turn_id"] = SECOND
    prompted.publish(streamed, second_ended(4, "Let me see: two."), ended(5))
    out, err = finish(client)

    assert (client.returncode, out) == (0, "Let me\nLet me see: two.\n")
    assert err.endswith("telling the agent that it was interrupted\n")


def test_the_next_turn_of_a_recipe_is_no_answer_to_a_prompt_that_went_into_it(
    prompted: FakeDaemon,
) -> None:
    prompted.events = [
        started(text="something else"),
        turn_ended(2, "Yes."),
        taken_up(3, "step"),
        second_ended(4, "Other work."),
        ended(5),
    ]

    assert podium(prompted, "prompt", "go").stdout == "Yes.\n"


def test_a_script_is_named_by_its_whole_path_also_to_run_it_again(
    prompted: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = str(tmp_path / "lines.toml")

    podium(prompted, "prompt", "hi", "--agent", "scripted", "--script", "lines.toml", "--detach")

    assert prompted.params_of("sessions.prompt")[0]["script"] == lines
    again = again_command({"kind": "prompt", "text": "hi", "script": lines}, {"agent": "scripted"})
    assert again.endswith(f" --agent scripted --script {lines} hi")


def test_images_are_named_by_their_whole_paths_also_to_send_it_again(
    prompted: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    door, gate = str(tmp_path / "door.png"), "/elsewhere/a gate.png"

    podium(prompted, "prompt", "hi", "--file", "door.png", "--file", gate, "--detach")
    podium(prompted, "prompt", "hi", "--detach")

    with_images, without = prompted.params_of("sessions.prompt")
    assert with_images["files"] == [door, gate] and "files" not in without
    started = {"kind": "prompt", "text": "hi", "images": [{"file": door}, {"file": gate}]}
    again = again_command(started, {"agent": "claude"})
    assert again.endswith(f" --agent claude --file {door} --file '{gate}' hi")


def test_the_text_can_come_from_standard_input(prompted: FakeDaemon) -> None:
    text = "zwei\nZeilen: ü\n"

    done = podium(prompted, "prompt", "-", "--detach", stdin=text.encode())

    assert prompted.params_of("sessions.prompt")[0]["text"] == text
    assert done.stdout == f"{RUN_ID}\n"


@pytest.mark.parametrize("stdin", [b"\xff\xfe", b" \n"])
def test_what_is_no_text_is_a_usage_error(prompted: FakeDaemon, stdin: bytes) -> None:
    done = podium(prompted, "prompt", "-", stdin=stdin)

    assert (done.returncode, done.stderr.count("\n"), prompted.calls) == (2, 1, [])


@pytest.mark.parametrize("option", ["--fork", "--take-over"])
def test_what_is_done_to_a_session_needs_one(prompted: FakeDaemon, option: str) -> None:
    done = podium(prompted, "prompt", "go", option)

    assert (done.returncode, prompted.calls) == (2, [])
    assert done.stderr == (
        f"podium: {option} needs '--session ID', the session that it is about.\n"
    )


def test_all_options_reach_the_daemon(prompted: FakeDaemon) -> None:
    podium(
        prompted, "prompt", "go", "--session", SESSION_ID, "--cwd", "/tmp", "--agent", "claude",
        "--if-busy", "queue", "--fork", "--take-over", "--detach",
    )  # fmt: skip

    (sent,) = prompted.params_of("sessions.prompt")
    del sent["client_token"]
    assert sent == {
        "text": "go",
        "session_id": SESSION_ID,
        "working_directory": "/tmp",
        "agent": "claude",
        "if_busy": "queue",
        "fork": True,
        "take_over": True,
    }


def test_a_message_steered_into_a_turn_is_followed_to_the_end_of_that_turn(
    prompted: FakeDaemon,
) -> None:
    prompted.events = [
        started(text="something else"),
        event(2, "turn.ended", turn_id="another", text="Not yours."),
    ]
    client = start(prompted, "prompt", "go", "--if-busy", "steer")
    prompted.wait_for("runs.events")
    prompted.publish(said("Yes, I see."), turn_ended(3, "Yes, I see."))

    out, err = finish(client)

    assert (out, client.returncode) == ("Yes, I see.\n", 0)
    assert err == f"handed to the running turn of run {RUN_ID}\n"


def test_an_unhappy_end_is_told_on_the_other_stream(prompted: FakeDaemon) -> None:
    unhappy = ended(2, "error")
    unhappy["data"]["run"]["kind"] = "prompt"
    prompted.events = [started(text="hi"), unhappy]

    done = podium(prompted, "prompt", "hi")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("✗ Turn failed: agent invocation error (error)")


def test_json_is_an_event_a_line(prompted: FakeDaemon) -> None:
    prompted.events = [started(text="hi"), turn_ended(2, "Hello."), ended(3)]

    done = podium(prompted, "prompt", "hi", "--json")

    assert [json.loads(line) for line in done.stdout.splitlines()] == prompted.events


def test_a_prompt_to_a_conversation_streams_what_comes_of_it_until_it_is_the_persons_turn(
    daemon: FakeDaemon,
) -> None:
    before = [
        event(3, "turn.intended", turn_id="t0", purpose="opening"),
        event(4, "turn.ended", turn_id="t0", text="What is it?", seconds=1.0, cost_usd=0.1),
        phases.message(5, "earlier", uuid="other"),
    ]
    design = phases.Design(daemon, *before)
    second = "7u2n0000-0000-4000-8000-000000000099"
    design.then(
        phases.run("waiting", phases.SEVERAL, step=phases.DESIGN),
        phases.message(6, "A rota."),
        phases.intended(7),
        phases.used(8, "save", key="goal_summary", value="A rota"),
        turn_ended(9, "Agreed."),
        event(10, "edge.taken", step=phases.GOAL, outcome="agreed", to=phases.DESIGN),
        stories.entered(11, phases.DESIGN),
        event(12, "turn.intended", turn_id=second, purpose="opening", anew=True),
        event(13, "turn.ended", turn_id=second, text="Who is it for?", seconds=1.0, cost_usd=0.1),
        phases.opened(14, phases.SEVERAL),
    )

    done = podium(daemon, "prompt", "A rota.", "--session", SESSION_ID)

    assert done.stdout == "Agreed.\nWho is it for?\n"
    assert done.stderr.splitlines() == [
        "✓ saved goal_summary: A rota",
        f"▸ {phases.DESIGN}",
        conversation_words.GONE,
        "? ask: Who is it for?",
        "    nurses  Nurses: on the ward",
        "    kin     Relatives: at home",
        f"it waits; answer with: podium answer {QUESTION_ID[:8]} nurses[,kin]|TEXT",
    ]
    assert done.returncode == 0


def test_after_an_answer_in_a_conversation_it_is_said_how_to_go_on(daemon: FakeDaemon) -> None:
    design = phases.Design(daemon)
    design.then(phases.run(), phases.message(3, "Hm"), phases.intended(4), turn_ended(5, "And?"))

    done = podium(daemon, "prompt", "Hm", "--session", SESSION_ID)

    assert done.stdout == "And?\n"
    assert done.stderr == f"go on with: podium prompt --session {SESSION_ID} TEXT\n"


def test_the_last_message_of_a_conversation_ends_with_how_it_ended(daemon: FakeDaemon) -> None:
    design = phases.Design(daemon)
    over = stories.ended(6, "guardrail")
    design.then(
        phases.run(), phases.message(3, "Hm"), phases.intended(4), turn_ended(5, "So."), over
    )

    done = podium(daemon, "prompt", "Hm", "--session", SESSION_ID)

    assert (done.stdout, done.returncode) == ("So.\n", 3)
    assert "Recipe stopped: reached maximum step limit" in done.stderr


def test_at_a_terminal_a_question_that_ends_the_turn_is_left_for_later(daemon: FakeDaemon) -> None:
    design = phases.Design(daemon)
    design.then(
        phases.run("waiting", phases.ASK),
        phases.message(3, "Hm"),
        phases.intended(4),
        turn_ended(5, "So:"),
        phases.opened(6, phases.ASK),
    )
    with Terminal(daemon, "prompt", "Hm", "--session", SESSION_ID, NO_COLOR="1") as terminal:
        terminal.expect("? ask: Who is it for?")
        terminal.expect(f"answer with: podium answer {QUESTION_ID[:8]} nurses|kin|TEXT")

        assert terminal.end() == 0
    assert design.answers == []


def test_a_prompt_may_allow_everything(prompted: FakeDaemon) -> None:
    podium(prompted, "prompt", "hi", "--agent", "native", "--allow-all", "--detach")

    assert prompted.params_of("sessions.prompt")[0]["permission_mode"] == "allow-all"
