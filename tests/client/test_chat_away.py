"""What is typed in a chat while the daemon is away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.chats import Chatty, answering, at_terminal, turn
from tests.client.fake_daemon import FakeDaemon
from tests.client.test_chat_questions import COMMAND, KEYS, answered, asked, rest


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_what_is_typed_while_the_daemon_is_away_answers_no_question(
    daemon: FakeDaemon, tmp_path: Path, term: str
) -> None:
    Chatty(daemon, [*turn()[:1], asked(COMMAND)])
    daemon.answers["questions.answer"] = answering(daemon, answered(by="local"), *rest("Done."))
    with at_terminal(daemon, tmp_path, TERM=term) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        daemon.stop()
        terminal.expect("the daemon went away")
        terminal.type("y\n")
        daemon.listen()
        terminal.expect("not taken, the question is asked again: y")
        terminal.expect(KEYS)
        terminal.type("n\n")
        terminal.expect("Done.")
        terminal.leave()
    assert [one["answer"] for one in daemon.params_of("questions.answer")] == ["deny"]


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_what_was_typed_before_a_question_was_seen_is_the_next_message(
    daemon: FakeDaemon, tmp_path: Path, term: str
) -> None:
    chatty = Chatty(daemon, turn()[:1], turn("Well."))
    daemon.answers["questions.answer"] = answering(daemon, answered(by="local"), *rest("Done."))
    with at_terminal(daemon, tmp_path, TERM=term) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        daemon.stop()
        terminal.expect("the daemon went away")
        terminal.type("y\n")
        daemon.events.append(asked(COMMAND))
        daemon.listen()
        terminal.expect("next: y")
        terminal.expect(KEYS)
        terminal.type("n\n")
        terminal.expect("Done.")
        terminal.expect("Well.")
        terminal.leave()
    assert [one["answer"] for one in daemon.params_of("questions.answer")] == ["deny"]
    assert chatty.prompts == ["go", "y"]
