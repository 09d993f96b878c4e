from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.client import stories
from tests.client.chats import Chatty, at_terminal, turn
from tests.client.fake_daemon import SESSION_ID, FakeDaemon, podium
from tests.client.listeners import SILENT, TRANSCRIPT, Listener
from tests.client.recorders import Recorders, tone
from tests.client.terminal import Terminal
from tests.client.test_chat_questions import COMMAND, KEYS

Json = Any

SPEAK = "(Enter speaks) > "


@pytest.fixture
def recorders(tmp_path: Path) -> Recorders:
    (tmp_path / "bin").mkdir()
    found = Recorders(tmp_path / "bin")
    found.add("arecord", tone(0.3))
    return found


@pytest.fixture
def listener(daemon: FakeDaemon) -> Listener:
    daemon.answers |= {
        "voice.say": {"spoken": "x"},
        "voice.hush": {},
    }
    return Listener(daemon)


class Talk:
    """A chat with voice at a terminal; it begins when it is entered."""

    def __init__(self, daemon: FakeDaemon, home: Path, recorders: Recorders) -> None:
        self.daemon = daemon
        self._begin = partial(at_terminal, daemon, home, "--voice", **recorders.environment)

    def __enter__(self) -> Terminal:
        self._chat = self._begin()
        self.terminal = self._chat.__enter__()
        return self.terminal

    def __exit__(self, *given: Any) -> None:
        self._chat.__exit__(*given)


@pytest.fixture
def talk(daemon: FakeDaemon, tmp_path: Path, recorders: Recorders) -> Talk:
    return Talk(daemon, tmp_path, recorders)


def speak(daemon: FakeDaemon, terminal: Terminal, times: int = 1) -> None:
    """Press Enter, say something, press Enter."""
    terminal.expect(SPEAK)
    terminal.type("\n")
    daemon.wait_for("voice.audio", 3 * times)
    terminal.type("\n")


def test_enter_begins_and_ends_and_what_was_said_stands_before_the_turn(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    chatty = Chatty(daemon, turn("All fixed."))
    with talk as terminal:
        speak(daemon, terminal)
        terminal.expect("You said: fix the session_lock")
        terminal.expect("All fixed.")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        assert terminal.end() == 0

    assert chatty.prompts == ["fix the session_lock"]
    assert listener.heard == tone(0.3)


def test_the_answer_is_spoken_and_a_key_silences_it(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    Chatty(daemon, turn("All fixed."))
    with talk as terminal:
        speak(daemon, terminal)
        assert daemon.wait_for("voice.say") == {"text": "All fixed."}
        terminal.expect("All fixed.")
        terminal.expect(SPEAK)
        assert daemon.params_of("voice.hush") == []
        terminal.type("x")
        daemon.wait_for("voice.hush")
        terminal.type("\x7f\x04")
        terminal.end()


def test_to_speak_again_silences_the_answer(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    Chatty(daemon, turn("First answer."), turn("Second answer."))
    with talk as terminal:
        speak(daemon, terminal)
        terminal.expect("First answer.")
        terminal.expect(SPEAK)
        terminal.type("\n")
        daemon.wait_for("voice.hush")
        daemon.wait_for("voice.start", 2)
        terminal.expect("●")
        terminal.type("\n")
        terminal.expect("Second answer.")
        terminal.expect(SPEAK)
        terminal.type("exit\n")
        assert terminal.end() == 0


def test_typing_goes_on_as_ever(daemon: FakeDaemon, listener: Listener, talk: Talk) -> None:
    chatty = Chatty(daemon, turn("Typed answer."), turn("Another."))
    with talk as terminal:
        terminal.expect(SPEAK)
        terminal.type("fix")
        terminal.expect("> fix")
        terminal.type(" the tests\n")
        terminal.expect("Typed answer.")
        terminal.expect(SPEAK)
        terminal.type("pasted line\n")
        terminal.expect("Another.")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        terminal.end()
    assert chatty.prompts == ["fix the tests", "pasted line"]
    assert daemon.params_of("voice.start") == []


def test_text_switches_to_typing_and_voice_back(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    chatty = Chatty(daemon, turn("Typed answer."))
    with talk as terminal:
        terminal.expect(SPEAK)
        terminal.type("text\n")
        terminal.expect("typing; 'voice'")
        terminal.type("hello\n")
        terminal.expect("Typed answer.")
        terminal.type("Voice\n")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        terminal.end()
    assert chatty.prompts == ["hello"]
    assert daemon.params_of("voice.say") == []


def test_a_switch_that_is_typed_while_the_agent_works_is_no_prompt(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    chatty = Chatty(daemon, turn("Typed answer.")[:1])
    with talk as terminal:
        terminal.expect(SPEAK)
        terminal.type("text\n")
        terminal.expect("typing; 'voice'")
        terminal.type("hello\n")
        daemon.wait_for("runs.events")
        terminal.type("Voice\n")
        terminal.expect("next: Voice")
        daemon.publish(*turn("Typed answer.")[1:])
        terminal.expect("Typed answer.")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        terminal.end()
    assert chatty.prompts == ["hello"]


def test_speech_that_fails_falls_back_to_typing(
    daemon: FakeDaemon, listener: Listener, tmp_path: Path, recorders: Recorders
) -> None:
    recorders.add("arecord", b"", ends=True, complaint="no soundcards found...\n", code=1)
    chatty = Chatty(daemon, turn("Typed answer."))
    with Talk(daemon, tmp_path, recorders) as terminal:
        terminal.expect(SPEAK)
        terminal.type("\n")
        terminal.expect("no soundcards found....")
        terminal.expect("Typing from here")
        terminal.type("hello\n")
        terminal.expect("Typed answer.")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert chatty.prompts == ["hello"]


@pytest.mark.parametrize(
    "status",
    [
        {"state": "not-installed", "problem": 'Install it: pip install "faster-whisper>=1.1".'},
        {"state": "off"},
    ],
)
def test_what_is_missing_is_told_and_typing_is_left(
    daemon: FakeDaemon, listener: Listener, talk: Talk, status: Json
) -> None:
    daemon.answers["voice.status"] = status
    Chatty(daemon, turn("Typed answer."))
    with talk as terminal:
        terminal.expect(status.get("problem") or "Voice is off")
        terminal.expect("Typing from here")
        terminal.type("hello\n")
        terminal.expect("Typed answer.")
        terminal.type("\x04")
        terminal.end()


def test_where_nobody_spoke_nothing_is_sent(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    daemon.answers["voice.end"] = SILENT
    chatty = Chatty(daemon)
    with talk as terminal:
        speak(daemon, terminal)
        terminal.expect("no speech")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        terminal.end()
    assert chatty.prompts == []


def test_a_command_that_the_daemon_has_carried_out_is_no_prompt(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    command = {"command": "next", "state": "applied", "read_back": "The next question."}
    daemon.answers["voice.end"] = TRANSCRIPT | {"text": "next", "command": command}
    chatty = Chatty(daemon)
    with talk as terminal:
        speak(daemon, terminal)
        terminal.expect("The next question.")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        terminal.end()
    assert chatty.prompts == []


def test_ctrl_c_forgets_what_was_said_and_the_chat_goes_on(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    chatty = Chatty(daemon)
    with talk as terminal:
        terminal.expect(SPEAK)
        terminal.type("\n")
        daemon.wait_for("voice.audio", 3)
        terminal.type("\x03")
        daemon.wait_for("voice.cancel")
        terminal.expect(SPEAK)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert chatty.prompts == []


def test_words_spoken_to_a_question_stand_in_the_line_until_enter_sends_them(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    """Spoken words that are no command never answer by themselves."""
    Chatty(daemon, [*turn()[:1], stories.event(2, "question.opened", **COMMAND)])
    daemon.answers["voice.end"] = TRANSCRIPT | {"text": "yes but not now"}
    daemon.answers["questions.answer"] = {}
    with talk as terminal:
        terminal.expect(SPEAK)
        terminal.type("go\n")
        terminal.expect(KEYS)
        terminal.type("v\n")
        daemon.wait_for("voice.audio", 3)
        terminal.type("\n")
        terminal.expect("> yes but not now")
        assert daemon.params_of("questions.answer") == []


def test_a_daemon_that_cannot_speak_says_so_once(
    daemon: FakeDaemon, listener: Listener, talk: Talk
) -> None:
    del daemon.answers["voice.say"]
    Chatty(daemon, turn("One."), turn("Two."))
    with talk as terminal:
        for words in ("One.", "Two."):
            terminal.expect(SPEAK)
            terminal.type("go\n")
            terminal.expect(words)
        terminal.expect(SPEAK)
        terminal.type("\x04")
        terminal.end()
    assert terminal.screen.count("answers are not spoken") == 1


def test_without_a_terminal_there_is_no_voice(daemon: FakeDaemon) -> None:
    done = podium(daemon, "chat", "--voice", "--session", SESSION_ID)
    assert done.returncode == 2
    assert "podium listen" in done.stderr
