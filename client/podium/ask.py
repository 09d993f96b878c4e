"""Questions of a run, answered at the terminal while its events go on.

The terminal stays in its ordinary line mode; a question that someone else answers first (from a
phone, say) is taken back at once.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from podium import text
from podium.connection import Connection
from podium.errors import ALREADY_ENDED, INVALID_PARAMETER, Refusal
from podium.question import answer_command, body, choices_of, heading
from podium.screen import Screen

Json = dict[str, Any]


class Asker:
    """The questions of one run at one terminal. ``waiting``: input is wanted now."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._open: list[Json] = []
        self._typed = b""
        self._ended = False

    @property
    def waiting(self) -> bool:
        """Whether a question stands and there is still someone to type."""
        return bool(self._open) and not self._ended

    def fileno(self) -> int:
        """The terminal's input."""
        return sys.stdin.fileno()

    def event(self, connection: Connection, event: Json) -> None:
        """Take note of questions that open and close."""
        question_id = (event.get("data") or {}).get("question_id")
        if event.get("type") == "question.opened":
            # The daemon's list says what is still open: a replayed event may be long answered.
            for question in connection.call("questions.list"):
                if question.get("question_id") == question_id:
                    self._open.append(question)
                    if len(self._open) == 1:
                        self._show()
        elif event.get("type") == "question.closed":
            self._close(question_id)

    def typed(self, connection: Connection) -> None:
        """Read what was typed; each whole line answers the question that stands."""
        data = os.read(self.fileno(), 65536)
        if not data:
            self._ended = True
            self._screen.line()
            for question in self._open:
                self._screen.line(f"  Answer later with: {answer_command(question)}")
            return
        self._screen.typed()
        *lines, self._typed = (self._typed + data).split(b"\n")
        for line in lines:
            if self._open:
                self._answer(connection, line.decode("utf-8", "replace").strip())

    def _show(self) -> None:
        question, style = self._open[0], self._screen.style
        self._screen.line()
        self._screen.line(style("yellow", f"? {heading(question)}"))
        for line in body(question):
            self._screen.line(f"    {line}")
        choices = choices_of(question)
        width = max((len(text.fold(value)) for value, _ in choices), default=0)
        for number, (value, label) in enumerate(choices, 1):
            said = label if label.casefold() != value.casefold() else ""
            line = f"  {number}) {text.fold(value).ljust(width)}  {text.fold(said)}"
            self._screen.line(line.rstrip())
        self._invite()

    def _invite(self) -> None:
        self._screen.write(self._screen.style("yellow", "> "))

    def _answer(self, connection: Connection, words: str) -> None:
        question = self._open[0]
        if not words:
            return self._invite()
        answer = chosen(question, words)
        try:
            connection.call(
                "questions.answer", {"question_id": question["question_id"], "answer": answer}
            )
        except Refusal as refusal:
            self._screen.line(f"  {refusal.sentence}")
            if refusal.code == INVALID_PARAMETER:
                return self._invite()
            if refusal.code != ALREADY_ENDED:
                raise
        return self._close(question["question_id"])

    def _close(self, question_id: object) -> None:
        stood = self._open[0] if self._open else None
        self._open = [one for one in self._open if one.get("question_id") != question_id]
        if self._open and self._open[0] is not stood:
            self._show()


LEAVE = {"y": "allow", "yes": "allow", "n": "deny", "no": "deny"}
"""What a person says where leave is asked for, and what that is called."""


def chosen(question: Json, words: str) -> str:
    """What a person means: a choice by number, id, label or a clear beginning, yes and no where
    leave is asked for; else the words."""
    choices = choices_of(question)
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1][0]
    wanted = words.casefold()
    for value, label in choices:
        if wanted in (value.casefold(), label.casefold()):
            return value
    if question.get("kind") == "approval" and wanted in LEAVE:
        return LEAVE[wanted]
    near = [value for value, _ in choices if value.casefold().startswith(wanted)]
    return near[0] if len(near) == 1 else words
