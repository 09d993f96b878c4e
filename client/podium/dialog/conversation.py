"""Input to a conversation, typed at a terminal while its events are shown.

The terminal stays in its ordinary line mode. When the run waits for its person, a line is asked for
and sent; its questions are asked as those of any run.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, cast

from podium import text
from podium.dialog.ask import Asker
from podium.dialog.slash_commands import goes_on, leaves
from podium.errors import ALREADY_ENDED, Refusal
from podium.render.screen import Screen
from podium.rpc.connection import Connection
from podium.rpc.conversation_state import say_command, waits_for_words
from podium.rpc.follow import certain

if TYPE_CHECKING:
    from podium import protocol

PROMPT, MORE = "you> ", "...> "


class ConversationAsker(Asker):
    """Questions and words of one run at one terminal.

    ``said`` are the ids of the messages sent from here.
    """

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen)
        self.said: list[str] = []
        self._wanted: protocol.Run | None = None
        self._message: list[str] = []

    @property
    def waiting(self) -> bool:
        """Return whether an answer or a message is wanted, and a person can still type."""
        return super().waiting or (bool(self._wanted) and not self._ended)

    def event(self, connection: Connection, event: protocol.Event) -> None:
        """Take note of questions, and of messages that another client sent first."""
        if event.get("seq") is not None:
            self._wanted = None
        super().event(connection, event)

    def waits(self, run: protocol.Run) -> None:
        """Ask for a line where the run waits for words."""
        if not self._open and waits_for_words(run):
            self._wanted = run
            self._screen.fresh_line()
            self._invite_words()

    def typed(self, connection: Connection) -> None:
        """Read what was typed: answers, or a message; a paste of several lines is one message."""
        if not self._wanted:
            super().typed(connection)
            return
        lines = self._lines()
        while lines and select.select([self], [], [], 0)[0]:
            more = self._lines()
            lines += more
            if not more:
                break
        self._message += lines
        if lines and goes_on(self._message[-1]):
            self._message[-1] = self._message[-1][:-1]
            self._screen.write(self._screen.style("yellow", MORE))
        elif lines:
            self._say("\n".join(self._message))

    def _invite_words(self) -> None:
        self._screen.write(self._screen.style("yellow", PROMPT))

    def _say(self, words: str) -> None:
        self._message = []
        if not words.strip():
            return self._invite_words()
        if leaves(words):
            raise KeyboardInterrupt  # as with Ctrl-C: the following ends, and nothing else
        assert self._wanted is not None
        try:
            told = say(self._wanted, words)
        except Refusal as refusal:
            self._screen.line(f"  {refusal.sentence}")
            if refusal.code != ALREADY_ENDED:
                self._invite_words()
        else:
            self.said.append(str(told.get("uuid")))
            self._wanted = None
        return None

    def _input_over(self) -> None:
        if not self._wanted:
            return super()._input_over()
        self._screen.line()
        self._screen.line(f"  Go on later with: {text.clean(say_command(self._wanted))}")
        raise KeyboardInterrupt


def say(run: protocol.Run, words: str) -> protocol.Went:
    """Say something in a conversation, once and for all; returns where it went.

    Raises:
        Failure: it was refused, or the daemon did not come back.
    """
    asked: protocol.Prompt = {
        "text": words,
        "session_id": run["session_id"],
        "client_token": os.urandom(16).hex(),
    }
    return cast("protocol.Went", certain("sessions.prompt", asked))  # it waits for no turn
