"""``podium chat`` without a terminal, and a session that goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client import stories
from tests.client.chats import Chatty, answering, at_terminal, turn
from tests.client.conversations import HELD_BY_RUN, message, row, text, tool
from tests.client.fake_daemon import (
    QUESTION_ID,
    SESSION_ID,
    FakeDaemon,
    Refused,
    environment,
    podium,
)
from tests.patience import HANG_SECONDS

CLOSED = stories.event(3, "question.closed", question_id=QUESTION_ID, closed="answered", by="local")
REST = [{**event, "seq": event["seq"] + 2} for event in turn("Done.")[1:]]


def test_each_line_is_a_prompt_and_only_answers_go_to_standard_output(daemon: FakeDaemon) -> None:
    chatty = Chatty(daemon, turn("One.\x1b"), turn("Two."))

    done = podium(daemon, "chat", stdin="first\\\nline\n\nsecönd\r\nexit\nnever\n".encode())

    assert done.stdout == "One.\x1b\nTwo.\n"
    assert chatty.prompts == ["first\nline", "secönd"]
    assert done.stderr.startswith("native · ")
    assert done.stderr.endswith(f"podium chat --session {SESSION_ID[:8]}\n")
    assert done.returncode == 0


def test_a_last_line_without_an_end_counts(daemon: FakeDaemon) -> None:
    chatty = Chatty(daemon, turn("One."))

    assert podium(daemon, "chat", stdin=b"only\xff").returncode == 0
    assert chatty.prompts == ["only\ufffd"]


@pytest.mark.parametrize(
    ("stdin", "answer", "prompts"),
    [
        (b"go\ny\nnext\n", "allow", ["go", "next"]),
        (b"go\n\nnext\n", "deny", ["go", "next"]),
        (b"go\n", "deny", ["go"]),
    ],
)
def test_the_line_after_a_question_answers_it_and_none_is_no(
    daemon: FakeDaemon, stdin: bytes, answer: str, prompts: list[str]
) -> None:
    asked = stories.event(2, "question.opened", **stories.APPROVAL)
    chatty = Chatty(daemon, [*turn()[:1], asked], turn("Next."))
    daemon.answers["questions.answer"] = answering(daemon, CLOSED, *REST)

    done = podium(daemon, "chat", stdin=stdin)

    assert done.stdout == "Done.\n" + "Next.\n" * (len(prompts) - 1)
    assert "? approval: May the agent use Bash?" in done.stderr
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == [answer]
    assert chatty.prompts == prompts


def test_a_question_that_has_no_no_is_left_open_at_the_end_of_input(daemon: FakeDaemon) -> None:
    choices = [{"id": one, "label": one} for one in ("retry", "continue", "stop")]
    question = {**stories.QUESTION, "kind": "recover", "choices": choices}
    Chatty(daemon, [*turn()[:1], stories.event(2, "question.opened", **question)])

    done = podium(daemon, "chat", stdin=b"go\n")

    assert done.returncode == 4
    assert f"podium answer {QUESTION_ID[:8]} retry|continue|stop" in done.stderr


def test_a_script_learns_how_its_last_request_went(daemon: FakeDaemon) -> None:
    Chatty(daemon, turn("One."), turn(end="error"))

    done = podium(daemon, "chat", stdin=b"first\nsecond\n")

    assert (done.returncode, done.stdout) == (1, "One.\n")


def test_a_refused_prompt_is_told_and_the_next_one_is_tried(daemon: FakeDaemon) -> None:
    def refused(params: stories.Json) -> stories.Json:
        if params["text"] == "first":
            raise Refused(-32001, "The session is held by run 1a2b3c4d.")
        sent: stories.Json = prompted(params)
        return sent

    Chatty(daemon, turn("Two."))
    prompted = daemon.answers["sessions.prompt"]
    daemon.answers["sessions.prompt"] = refused

    done = podium(daemon, "chat", stdin=b"first\nsecond\n")

    assert (done.returncode, done.stdout) == (0, "Two.\n")
    assert "podium: The session is held by run 1a2b3c4d." in done.stderr


def test_ctrl_c_interrupts_the_turn_of_a_script_and_ends_it(daemon: FakeDaemon) -> None:
    chatty = Chatty(daemon, turn()[:1])
    run = stories.ended_run("cancelled")
    ended = stories.event(2, "run.ended", run=run)
    daemon.answers["runs.interrupt"] = answering(daemon, ended)
    client = subprocess.Popen(
        [sys.executable, "-m", "podium", "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(daemon.path),
    )
    assert client.stdin is not None
    client.stdin.write(b"first\nsecond\n")
    client.stdin.flush()
    daemon.wait_for("runs.events")
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=HANG_SECONDS)

    assert (client.returncode, out) == (130, b"")
    assert b"user-requested" in err and b"Traceback" not in err
    assert chatty.prompts == ["first"]


def test_without_a_daemon_it_says_so_at_once(daemon: FakeDaemon) -> None:
    daemon.stop()

    assert podium(daemon, "chat", stdin=b"hi\n").returncode == 6
    daemon.listen()


def test_a_session_goes_on_after_its_last_messages(daemon: FakeDaemon, tmp_path: Path) -> None:
    Chatty(daemon, turn("On."))
    daemon.answers["sessions.get"] = row()
    daemon.messages = [
        *(message(seq, text(f"Word {seq}.")) for seq in range(1, 8)),
        message(8, text("Look:"), tool("Bash", command="make"), role="assistant"),
    ]
    with at_terminal(daemon, tmp_path, "--session", "5e55") as terminal:
        terminal.expect("claude · ~/pots · session 5e5510aa")
        terminal.expect("… 2 earlier messages")
        terminal.expect("Word 3.")
        terminal.expect("⚙ Bash: make")
        terminal.expect("> ")
        terminal.type("go on\n")
        terminal.expect("On.")
        terminal.expect("> ")
        terminal.type("exit\n")

        assert terminal.end() == 0
    (sent,) = daemon.params_of("sessions.prompt")
    del sent["client_token"]
    assert sent == {"text": "go on", "session_id": SESSION_ID}
    assert "Word 2." not in terminal.screen


def test_a_session_without_a_transcript_goes_on_too(daemon: FakeDaemon) -> None:
    def unknown(params: stories.Json) -> stories.Json:
        raise Refused(-32002, "There is no session.", {"kind": "session"})

    Chatty(daemon, turn("On."))
    daemon.answers["sessions.get"] = unknown

    done = podium(daemon, "chat", "--session", SESSION_ID, stdin=b"go on\n")

    assert done.stdout == "On.\n"
    assert "No transcript of this session is here to show." in done.stderr


def test_the_beginning_of_a_session_that_the_daemon_completes_goes_on(daemon: FakeDaemon) -> None:
    def unknown(params: stories.Json) -> stories.Json:
        raise Refused(-32002, "There is no session.", {"kind": "session", "id": "5e55"})

    def without_transcript(params: stories.Json) -> stories.Json:
        raise Refused(-32002, "There is no session.", {"kind": "session", "id": SESSION_ID})

    Chatty(daemon, turn("On."))
    daemon.answers |= {"sessions.get": unknown, "sessions.messages": without_transcript}

    assert podium(daemon, "chat", "--session", "5e55", stdin=b"go on\n").stdout == "On.\n"
    assert daemon.params_of("sessions.prompt")[0]["session_id"] == SESSION_ID


def test_a_session_that_nobody_knows_is_refused_at_once(daemon: FakeDaemon) -> None:
    def unknown(params: stories.Json) -> stories.Json:
        raise Refused(-32002, "There is no session 'zzzz'.", {"kind": "session", "id": "zzzz"})

    chatty = Chatty(daemon)
    daemon.answers |= {"sessions.get": unknown, "sessions.messages": unknown}

    done = podium(daemon, "chat", "--session", "zzzz", stdin=b"go on\n")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "podium: There is no session 'zzzz'. 'podium sessions' lists what there is.\n"
    )
    assert chatty.prompts == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            ("--agent", "cluade"),
            "There is no agent 'cluade'; the nearest is 'claude'; there are: claude, native.",
        ),
        (("--agent", "zz"), "There is no agent 'zz'; there are: claude, native."),
        (("--cwd", "/no/such"), "--cwd: '/no/such' is not a directory."),
    ],
)
def test_a_wrong_agent_or_directory_is_refused_at_once(
    daemon: FakeDaemon, option: tuple[str, str], words: str
) -> None:
    chatty = Chatty(daemon)

    done = podium(daemon, "chat", *option, stdin=b"hi\n")

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"podium: {words}\n")
    assert chatty.prompts == []


def test_a_conversation_with_another_agent_is_refused_at_once(daemon: FakeDaemon) -> None:
    chatty = Chatty(daemon)
    daemon.answers["sessions.get"] = row(agent="claude")

    done = podium(daemon, "chat", "--session", SESSION_ID, "--agent", "native", stdin=b"hi\n")

    assert (done.returncode, done.stdout, chatty.prompts) == (2, "", [])
    short = SESSION_ID[:8]
    assert done.stderr == (
        f"podium: Session {short} is a conversation with claude, of which native knows nothing: "
        f"'podium chat --session {short}' goes on with it, 'podium chat --agent native' begins "
        "another.\n"
    )


@pytest.mark.parametrize("agent", ["work", "scripted"])
def test_one_with_a_second_account_or_of_played_turns_is_not(
    daemon: FakeDaemon, agent: str
) -> None:
    Chatty(daemon, turn("On."))
    values = [("agents.claude.model", ""), ("agents.work.driver", "claude")]
    listed = [*values, ("agents.scripted.script", "")]
    daemon.answers["daemon.configuration"] = {
        "values": [{"key": key, "value": value, "source": "file"} for key, value in listed]
    }
    daemon.answers["sessions.get"] = row(agent="claude")

    done = podium(daemon, "chat", "--session", SESSION_ID, "--agent", agent, stdin=b"hi\n")

    assert done.stdout == "On.\n", done.stderr
    assert [one["agent"] for one in daemon.params_of("sessions.prompt")] == [agent]


def test_a_script_that_leaves_at_a_question_leaves_it_open(daemon: FakeDaemon) -> None:
    Chatty(daemon, [*turn()[:1], stories.event(2, "question.opened", **stories.APPROVAL)])

    done = podium(daemon, "chat", stdin=b"go\nexit\nnever\n")

    assert done.returncode == 4
    assert f"the question stays open: podium answer {QUESTION_ID[:8]} allow|deny" in done.stderr
    assert daemon.params_of("questions.answer") == []


def test_it_is_said_who_holds_a_session(daemon: FakeDaemon) -> None:
    Chatty(daemon)
    daemon.answers["sessions.get"] = row(holder={**HELD_BY_RUN, "kind": "prompt"})

    done = podium(daemon, "chat", "--session", SESSION_ID)

    assert "Held by prompt 1a2b3c4d." in done.stderr
