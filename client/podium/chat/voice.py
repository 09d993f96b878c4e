"""Speaking in a chat: Enter begins and ends, what was understood is shown, the answer is spoken.

Typing goes on as ever: the first key that is no Enter begins a line. ``text`` leaves speaking,
``voice`` comes back to it, and speech that fails leaves it too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from podium import text
from podium.audio.dictation import Dictation, Keys, problem, spoken
from podium.audio.microphone import recorders
from podium.chat.input import CTRL_C, MORE, Person
from podium.chat.session import Session
from podium.chat.terminal import Terminal
from podium.errors import Failure
from podium.render.screen import ERASE_LINE, Screen
from podium.rpc.connection import Connection, call

if TYPE_CHECKING:
    from podium import protocol

SPEAK = "(Enter speaks) > "
HINT = (
    "Enter begins and ends what you say; while the agent works, or asks, v and Enter begin it. "
    "'text' is for typing, 'voice' for speaking again."
)
TYPING, SPEAKING = "text", "voice"
AT_WORK = ("v", SPEAKING)
"""Lines that begin speech while the agent works, or asks."""


CTRL_D, ESCAPE = "\x04", "\x1b"


class Voice(Person):
    """A person at a terminal who speaks, or types."""

    def __init__(self, screen: Screen, terminal: Terminal, session: Session) -> None:
        super().__init__(screen, terminal)
        self._session = session
        self._speaks = True
        self._told = False
        self._mute = False
        self._begin()

    def next(self, draft: str = "") -> str | None:
        """Return the next message, spoken or typed; ``None`` at the end of input.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        while True:
            message = super().next(draft)
            draft = ""
            if message is None or not self.switches(message):
                return message

    def switches(self, message: str) -> bool:
        """Leave speaking, or come back to it, where a line is the word for that."""
        word = message.strip().casefold()
        if word not in (TYPING, SPEAKING):
            return False
        self._speaks = word == SPEAKING
        self._note(HINT if self._speaks else f"typing; '{SPEAKING}' is for speaking again")
        return True

    def pump(self) -> None:
        """Take the keys that were pressed while the agent works. ``v`` begins to speak (Enter
        alone is an answer); words that are no command become the line that is typed, which Enter
        then ends: they answer no question by themselves."""
        before = len(self.said)
        super().pump()
        self._hush()
        wanted = [line.strip().casefold() for line in self.said][before:]
        if self._speaks and wanted and wanted[-1] in AT_WORK:
            self.said.pop()
            self._typed.words = self._say()

    def catch_up(self) -> str:
        """Take everything that was typed up to now: an Enter among it begins nothing."""
        spoke, self._speaks = self._speaks, False
        try:
            return super().catch_up()
        finally:
            self._speaks = spoke

    def answered(self, words: str) -> None:
        """Say the agent's answer, while everything goes on."""
        if self._speaks and not self._mute and words.strip():
            try:
                call("voice.say", {"text": words[:100_000]})
            except Failure as failure:
                self._mute = True
                self._note(f"answers are not spoken: {failure.sentence}")
            else:
                self._told = True

    def _begin(self) -> None:
        """Show how to speak, or what is missing."""
        try:
            recorders()
            with Connection() as connection:
                lacking = problem(connection)
        except Failure as failure:
            lacking = failure.sentence
        if lacking:
            return self._give_up(lacking)
        return self._note(HINT)

    def _line(self, prompt: str, draft: str) -> str | None:
        unfinished = draft or self._typed.words
        while self._speaks and prompt != MORE and not (unfinished or self.said or self.ended):
            key = self._first_key()
            if key != "\n":
                draft = self._typed_already(key)
                break
            words = self._say()
            if words:
                self._screen.line(f"You said: {text.clean(words)}")
                return words
        line = super()._line(prompt, draft)
        self._hush()
        return line

    def _first_key(self) -> str:
        """Read the first key of a line, or a paste; silence the voice as soon as it is there.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        self._screen.fresh_line()
        self._screen.write(SPEAK)
        self._terminal.keys(shown=False, ctrl_c=True)
        try:
            data = os.read(self.fileno(), 4096)
        except OSError:  # the terminal is gone
            data = b""
        finally:
            self._between()
            self._hush()
        self._screen.write(ERASE_LINE)
        self._screen.typed()
        self._gone = not data
        keys = data.decode("utf-8", "replace").replace("\r", "\n") or CTRL_D
        if CTRL_C in keys:  # pressed before it was a signal again
            raise KeyboardInterrupt
        return keys

    def _typed_already(self, keys: str) -> str:
        """Return the beginning of a line; take note of whole lines, and of an end."""
        if keys.startswith(ESCAPE):
            return ""  # an arrow, say: there is nothing to edit yet
        if keys.startswith(CTRL_D):
            self.ended = True
            return ""
        *lines, rest = keys.split("\n")
        self.said.extend(lines)
        return "".join(letter for letter in rest if letter.isprintable())

    def _say(self) -> str:
        """Record speech and return its words.

        They are empty where nothing is to be sent: it was silence, or a command that the daemon has
        carried out, or it failed.

        Raises:
            KeyboardInterrupt: Ctrl-C: forgotten.
        """
        self._hush()
        try:
            answer = self._recorded()
        except Failure as failure:
            self._give_up(failure.sentence)
            return ""
        command = answer.get("command")
        if command is not None:
            self._note(f"{command.get('read_back') or command.get('command')}")
            self.answered(str(command.get("read_back") or ""))
            return ""
        words = str(answer.get("text") or "").strip()
        if not words:
            self._note("no speech")
        return words

    def _recorded(self) -> protocol.Heard:
        dictation = Dictation(Connection(), None, self._session.id)
        self._terminal.keys(shown=False, ctrl_c=True)
        try:
            return spoken(dictation, Keys(), None, self._screen)
        except BaseException:
            dictation.cancel()
            raise
        finally:
            dictation.connection.close()
            if not self._at_work:
                self._between()

    def _give_up(self, why: str) -> None:
        self._speaks = False
        self._note(f"{why} Typing from here; '{SPEAKING}' tries again.")

    def _hush(self) -> None:
        if self._told:
            self._told = False
            try:
                call("voice.hush")
            except Failure:
                pass  # no daemon, no voice

    def _note(self, words: str) -> None:
        self._screen.line("  " + self._screen.style("dim", text.fold(words)))
