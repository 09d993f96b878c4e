"""``podium prompt``: the answer alone on standard output."""

import json

import pytest

from tests.client import stories
from tests.client.fake_daemon import RUN_ID, SESSION_ID, FakeDaemon, finish, podium, start
from tests.client.stories import ended, event, said, started, turn_ended


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


def test_the_text_can_come_from_standard_input(prompted: FakeDaemon) -> None:
    text = "zwei\nZeilen: ü\n"

    done = podium(prompted, "prompt", "-", "--detach", stdin=text.encode())

    assert prompted.params_of("sessions.prompt")[0]["text"] == text
    assert done.stdout == f"{RUN_ID}\n"


@pytest.mark.parametrize("stdin", [b"\xff\xfe", b" \n"])
def test_what_is_no_text_is_a_usage_error(prompted: FakeDaemon, stdin: bytes) -> None:
    done = podium(prompted, "prompt", "-", stdin=stdin)

    assert (done.returncode, done.stderr.count("\n"), prompted.calls) == (2, 1, [])


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
