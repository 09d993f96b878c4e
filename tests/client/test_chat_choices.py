"""Choices of a question in a chat: narrower ones, and numbers that none has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import stories
from tests.client.chats import at_narrow_terminal, at_terminal
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


def test_a_narrow_terminal_shows_every_choice_whole_and_has_room_to_type(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    like = {"id": "always-like", "label": "Always in this run: commands that begin with 'make x'"}
    asking(daemon, {**COMMAND, "choices": [*CHOICES, like]})
    with at_narrow_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("? approval: May the agent use\r\n")
        terminal.expect(
            "  y: yes\r\n"
            "  n: no, with why after it; Enter alone\r\n"
            "    is no too\r\n"
            "  p: always in this run: commands that\r\n"
            "    begin with 'make x'\r\n"
            "  a: always: every run_command in this\r\n"
            "    run\r\n"
        )
        terminal.expect("  y/n/p/a > ")
        terminal.type("not that one")
        terminal.expect("  y/n/p/a > not that one")
        terminal.type("\n")
        terminal.expect("Done.")
        terminal.leave()
    assert "…" not in terminal.screen
    assert daemon.params_of("questions.answer")[0]["note"] == "not that one"


def test_where_the_hint_would_leave_no_room_it_stands_above_the_line(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    asking(daemon, {**stories.QUESTION, "kind": "ask", "multi": True, "free_text": True})
    with at_narrow_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("  numbers, such as 1,3, or your own\r\n    words\r\n")
        terminal.expect("\r\x1b[K  > ")
        terminal.type("1\n")
        terminal.expect("Done.")
        terminal.leave()
