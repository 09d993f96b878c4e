"""The client at a terminal: questions, Ctrl-C, colours, the live line."""

import sys
from pathlib import Path

import pytest

from tests.client import stories
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    Refused,
    environment,
)
from tests.client.phases import Design, intended
from tests.client.stories import QUESTION, ended, entered, event, recipe_daemon, said, started
from tests.client.terminal import Shell, Terminal

ASKED = event(3, "question.opened", question_id=QUESTION_ID, kind="gate", text="Commit?")
CLOSED = event(
    4, "question.closed", question_id=QUESTION_ID, closed="answered", answer="yes", by="phone"
)


def asking(daemon: FakeDaemon) -> FakeDaemon:
    recipe_daemon(daemon, started(), entered(2))
    daemon.answers["questions.list"] = [QUESTION]
    return daemon


@pytest.mark.parametrize(
    ("typed", "answer"), [("1", "yes"), ("no", "no"), ("Y", "yes"), ("yes, commit", "yes")]
)
def test_a_question_is_answered_where_it_is_asked(
    daemon: FakeDaemon, typed: str, answer: str
) -> None:
    def answered(params: stories.Json) -> stories.Json:
        daemon.publish(ended(4))
        return QUESTION

    asking(daemon).answers["questions.answer"] = answered
    with Terminal(daemon, "run", "fix-it", NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(ASKED)
        terminal.expect("? gate: Commit?")
        terminal.expect("two files changed")
        terminal.expect("1) yes  Yes, commit")
        terminal.expect("> ")
        terminal.type(f"{typed}\n")
        terminal.expect("✓")

        assert terminal.end() == 0
    assert daemon.params_of("runs.start")[0]["on_question"] == "ask"
    assert daemon.params_of("questions.answer") == [{"question_id": QUESTION_ID, "answer": answer}]


def test_an_answer_that_does_not_fit_is_asked_for_again(daemon: FakeDaemon) -> None:
    def picky(params: stories.Json) -> stories.Json:
        if params["answer"] != "yes":
            raise Refused(-32602, "Answer yes or no.")
        daemon.publish(ended(4))
        return QUESTION

    asking(daemon).answers["questions.answer"] = picky
    with Terminal(daemon, "run", "fix-it") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(ASKED)
        terminal.expect("> ")
        terminal.type("perhaps\n")
        terminal.expect("Answer yes or no.")
        terminal.expect("> ")
        terminal.type("yes\n")

        assert terminal.end() == 0


def test_what_was_typed_before_a_question_was_seen_is_no_answer_to_it(daemon: FakeDaemon) -> None:
    def answered(params: stories.Json) -> stories.Json:
        daemon.publish(ended(4))
        return QUESTION

    asking(daemon).answers["questions.answer"] = answered
    with Terminal(daemon, "run", "fix-it", NO_COLOR="1") as terminal:
        terminal.expect("▸ fix")
        terminal.type("yes\n")
        terminal.expect("yes\r\n")
        daemon.publish(ASKED)
        terminal.expect("not taken, the question came after it: yes")
        terminal.expect("> ")
        terminal.type("no\n")

        assert terminal.end() == 0
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["no"]


def test_words_that_go_into_a_file_leave_the_person_a_word_that_it_waits(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    asking(daemon)
    with Shell(environment(daemon.path)) as terminal:
        terminal.type(f"{sys.executable} -m podium run fix-it > {tmp_path}/log\n")
        daemon.wait_for("runs.events")
        daemon.publish(ASKED)
        terminal.expect(f"podium: It waits for you: podium answer {QUESTION_ID[:8]} TEXT")
        daemon.publish(CLOSED, ended(5))
        terminal.type("exit\n")
        terminal.end()
    told = (tmp_path / "log").read_text()
    assert f"it waits; answer with: podium answer {QUESTION_ID[:8]} TEXT\n" in told


def test_a_conversation_that_goes_into_a_pipe_tells_the_person_that_it_waits(
    daemon: FakeDaemon,
) -> None:
    Design(daemon, intended(3, "opening"), stories.turn_ended(4, "What is it?"))
    with Shell(environment(daemon.path)) as terminal:
        terminal.type(f"{sys.executable} -m podium run guided-design </dev/null | cat >/dev/null\n")
        terminal.expect(f"podium: It waits for your words: podium prompt --session {SESSION_ID}")
        daemon.publish(ended(5))
        terminal.type("exit\n")
        terminal.end()


def test_a_question_that_someone_else_answers_is_taken_back(daemon: FakeDaemon) -> None:
    asking(daemon)
    with Terminal(daemon, "run", "fix-it", NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(ASKED)
        terminal.expect("> ")
        daemon.publish(CLOSED)
        terminal.expect("answered by phone: yes")
        daemon.publish(ended(5))

        assert terminal.end() == 0
    assert daemon.params_of("questions.answer") == []


def test_a_person_who_ends_the_input_is_told_how_to_answer_later(daemon: FakeDaemon) -> None:
    asking(daemon)
    with Terminal(daemon, "run", "fix-it") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(ASKED)
        terminal.expect("> ")
        terminal.type("\x04")
        terminal.expect(f"Answer later with: podium answer {QUESTION_ID[:8]} yes|no")
        daemon.publish(CLOSED, ended(5))

        assert terminal.end() == 0


def test_a_question_long_answered_is_not_asked_again_on_attach(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2), ASKED, CLOSED, ended(5))
    with Terminal(daemon, "attach", RUN_ID) as terminal:
        assert terminal.end() == 0
    assert "> " not in terminal.screen


def test_waiting_leaves_the_answer_to_others_even_at_a_terminal(daemon: FakeDaemon) -> None:
    asking(daemon)
    with Terminal(daemon, "run", "fix-it", "--on-question", "wait", NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(ASKED)
        terminal.expect(f"answer with: podium answer {QUESTION_ID[:8]}")
        daemon.publish(CLOSED, ended(5))

        assert terminal.end() == 0
    assert daemon.params_of("runs.start")[0]["on_question"] == "wait"


def test_ctrl_c_ends_the_following_and_names_what_to_do(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2))
    with Terminal(daemon, "run", "fix-it") as terminal:
        terminal.expect("▸ fix")
        terminal.type("\x03")
        terminal.expect("the run goes on")

        assert terminal.end() == 130
    assert f"podium attach {RUN_ID[:8]}" in terminal.screen
    assert f"podium cancel {RUN_ID[:8]}" in terminal.screen
    assert "Traceback" not in terminal.screen
    assert daemon.params_of("runs.cancel") == []


@pytest.mark.parametrize(
    ("kind", "colour"),
    [("completed", "32"), ("blocked", "33"), ("guardrail", "33"), ("error", "31")],
)
def test_the_end_line_has_the_colour_of_its_class(
    daemon: FakeDaemon, kind: str, colour: str
) -> None:
    recipe_daemon(daemon, started(), ended(2, kind))
    with Terminal(daemon, "run", "fix-it") as terminal:
        terminal.end()

    sign = {"32": "✓", "33": "⚠", "31": "✗"}[colour]
    assert f"\x1b[{colour}m{sign} " in terminal.screen


@pytest.mark.parametrize(("no_color", "term"), [("1", "xterm-256color"), ("", "dumb")])
def test_colours_can_be_switched_off(daemon: FakeDaemon, no_color: str, term: str) -> None:
    recipe_daemon(daemon, started(), ended(2))
    with Terminal(daemon, "run", "fix-it", NO_COLOR=no_color, TERM=term) as terminal:
        terminal.end()

    assert "\x1b[3" not in terminal.screen


def test_the_live_line_shows_time_and_cost_and_leaves_no_trace(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2), stories.turn_ended(3))
    with Terminal(daemon, "run", "fix-it", NO_COLOR="1") as terminal:
        terminal.expect("$0.50  fix (visit 1)")
        daemon.publish(said("Words"), ended(4))
        terminal.expect("\r\x1b[K  Words")

        assert terminal.end() == 0


def test_hostile_words_of_an_answer_are_not_obeyed_by_a_terminal(daemon: FakeDaemon) -> None:
    daemon.answers["sessions.prompt"] = {
        "run_id": RUN_ID,
        "turn_id": stories.TURN_ID,
        "session_id": "5e55",
    }
    with Terminal(daemon, "prompt", "hello") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(started(text="hello"), said("a\x1b[2Jb\r\nc\td"), ended(2))

        assert terminal.end() == 0
    assert "a\\x1b[2Jb\r\nc   d" in terminal.screen
