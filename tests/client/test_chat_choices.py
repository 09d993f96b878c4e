"""Choices of a question in a chat: narrower ones, and numbers that none has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.chats import at_terminal
from tests.client.fake_daemon import FakeDaemon
from tests.client.test_chat_questions import CHOICES, COMMAND, KEYS, asking


def test_always_can_be_narrowed_to_commands_that_begin_so(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    like = {"id": "always-like", "label": "Always in this run: commands that begin with 'make x'"}
    asking(daemon, {**COMMAND, "choices": [*CHOICES[:1], like, *CHOICES[1:]]})
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("p: always in this run: commands that begin with 'make x'")
        terminal.expect("a: always: every run_command in this run")
        terminal.expect("y/n/p/a > ")
        terminal.type("p\n")
        terminal.expect("Done.")
        terminal.leave()
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["always-like"]


@pytest.mark.parametrize("typed", ["9", "0"])
def test_a_number_that_no_choice_has_is_asked_again(
    daemon: FakeDaemon, tmp_path: Path, typed: str
) -> None:
    asking(daemon, COMMAND)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        terminal.type(f"{typed}\n")
        terminal.expect(f"There is no choice {typed}: 1 to 3.")
        terminal.expect(KEYS)
        terminal.type("1\n")
        terminal.expect("Done.")
        terminal.leave()
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["allow"]
