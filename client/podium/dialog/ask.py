"""Questions of a run, answered at the terminal while its events go on.

The terminal stays in its ordinary line mode; a question that someone else answers first (from a
phone, say) is taken back at once.
"""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING

from podium import text
from podium.errors import ALREADY_ENDED, INVALID_PARAMETER, Refusal
from podium.render.question import answer_command, body, choice_lines, choices_of, heading, how
from podium.render.screen import Screen
from podium.render.table_entry import TableEntry, described
from podium.rpc.connection import Connection
from podium.rpc.conversation_state import ends_turn

if TYPE_CHECKING:
    from podium import protocol
    from podium.render.question import Asked


class Asker:
    """The questions of one run at one terminal. ``waiting``: input is wanted now."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._open: list[protocol.Question] = []
        self._table: TableEntry | None = None
        self._typed = b""
        self._ended = False

    @property
    def waiting(self) -> bool:
        """Return whether a question is open and a person can still type."""
        return bool(self._open) and not self._ended

    def fileno(self) -> int:
        """Return the descriptor of the terminal's input."""
        return sys.stdin.fileno()

    def event(self, connection: Connection, event: protocol.Event) -> None:
        """Take note of questions that open and close."""
        question_id = event["data"].get("question_id")
        if event.get("type") == "question.opened":
            # The daemon's list says what is still open: a replayed event may be long answered.
            for question in connection.call("questions.list"):
                if question.get("question_id") == question_id and self._takes(question):
                    self._open.append(question)
                    if len(self._open) == 1:
                        self._show()
        elif event.get("type") == "question.closed":
            self._close(question_id)

    def typed(self, connection: Connection) -> None:
        """Read what was typed; each whole line answers the question that stands."""
        for line in self._lines():
            if self._open:
                self._answer(connection, line.strip())

    def _takes(self, question: protocol.Question) -> bool:
        """Return whether this question is asked here."""
        return True

    def waits(self, run: protocol.Run) -> None:
        """Questions alone are asked here, and they were shown when they were opened."""

    def _lines(self) -> list[str]:
        """Read the whole lines typed since the last call; none at the end of input."""
        data = os.read(self.fileno(), 65536)
        if not data:
            self._input_over()
            return []
        self._screen.typed()
        *lines, self._typed = (self._typed + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def _input_over(self) -> None:
        self._ended = True
        self._screen.line()
        for question in self._open:
            self._screen.line(f"  Answer later with: {answer_command(question)}")

    def _show(self) -> None:
        self._put_aside()
        question, style = self._open[0], self._screen.style
        columns = question.get("columns") or []
        self._table = TableEntry(columns) if columns else None
        self._screen.line()
        self._screen.line(style("yellow", f"? {heading(question)}"))
        for line in body(question):
            self._screen.line(f"    {line}")
        for line in choice_lines(question):
            self._screen.line(line)
        if columns:
            self._screen.line(f"  columns: {described(columns)}")
        if said := how(question):
            self._screen.line("  " + style("dim", said))
        self._invite()

    def _put_aside(self) -> None:
        """Discard what was typed before a question was seen: it is no answer to it."""
        early: list[str] = []
        while not self._ended and select.select([self], [], [], 0)[0]:
            early += self._lines()
        for line in early:
            if line.strip():
                self._screen.line(f"  not taken, the question came after it: {text.fold(line)}")

    def _invite(self) -> None:
        prompt = self._table.prompt if self._table is not None else "> "
        self._screen.write(self._screen.style("yellow", prompt))

    def _answer(self, connection: Connection, words: str) -> None:
        question, table = self._open[0], self._table
        if table is not None:
            if wrong := table.take(words):
                self._screen.line(f"  {wrong}")
            if table.answer is None:
                return self._invite()
            answer = table.answer
        elif not words:
            return self._invite()
        elif wrong := beyond(question, words):
            self._screen.line(f"  {wrong}")
            return self._invite()
        else:
            answer = chosen(question, words)
        try:
            connection.call(
                "questions.answer", {"question_id": question["question_id"], "answer": answer}
            )
        except Refusal as refusal:
            self._screen.line(f"  {refusal.sentence}")
            if refusal.code == INVALID_PARAMETER:
                self._table = None if table is None else TableEntry(question["columns"])
                return self._invite()
            if refusal.code != ALREADY_ENDED:
                raise
        return self._close(question["question_id"])

    def _close(self, question_id: object) -> None:
        stood = self._open[0] if self._open else None
        self._open = [one for one in self._open if one.get("question_id") != question_id]
        if self._open and self._open[0] is not stood:
            self._show()


class TurnAsker(Asker):
    """The questions within a turn; one that ends it is answered some other time."""

    def _takes(self, question: protocol.Question) -> bool:
        return not ends_turn(question)


LEAVE = {"y": "allow", "yes": "allow", "n": "deny", "no": "deny"}
"""Replies that a person types to a permission request, and the choices that they name."""


def chosen(question: Asked, words: str) -> str:
    """Convert a person's words to an answer.

    That is a choice by number, id, label or a clear beginning, several where the question takes
    them, yes and no where leave is asked for; else the words.
    """
    choices = choices_of(question)
    if question.get("multi"):
        return _several(choices, words)
    if (one := _choice(choices, words)) is not None:
        return one
    if len(words) > 2 and words[0] == words[-1] == '"' and words[1:-1].isdecimal():
        return words[1:-1]
    wanted = words.casefold()
    if question.get("kind") == "approval" and wanted in LEAVE:
        return LEAVE[wanted]
    return _beginning(choices, words) or words


def beyond(question: Asked, words: str) -> str:
    """Return the complaint about a number that is none of the choices; empty if all is well.

    Such a number is not meant as an answer.
    """
    choices = choices_of(question)
    numbers = words.replace(",", " ").split()
    if not choices or not numbers or not all(one.isdecimal() for one in numbers):
        return ""
    wrong = [one for one in numbers if _choice(choices, one) is None]
    if not wrong or (len(numbers) > 1 and not question.get("multi")):
        return ""
    said = f"There is no choice {wrong[0]}: 1 to {len(choices)}"
    if question.get("free_text"):
        said += f', or in quotes where you mean the number itself: "{wrong[0]}"'
    return f"{said}."


def _several(choices: list[tuple[str, str]], words: str) -> str:
    """Choices joined by commas, numbers by blanks too; the words, where one of them is none."""
    said = words.replace(",", " ").split()
    if not all(one.isdecimal() for one in said):
        said = [one.strip() for one in words.split(",")]
    found = [_choice(choices, one) or _beginning(choices, one) for one in said if one]
    if not found or None in found:
        return words
    return ",".join(dict.fromkeys(one for one in found if one is not None))


def _choice(choices: list[tuple[str, str]], words: str) -> str | None:
    """Find the choice by its number, id or label."""
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1][0]
    wanted = words.casefold()
    named = [value for value, label in choices if wanted in (value.casefold(), label.casefold())]
    return named[0] if named else None


def _beginning(choices: list[tuple[str, str]], words: str) -> str | None:
    near = [value for value, _ in choices if value.casefold().startswith(words.casefold())]
    return near[0] if len(near) == 1 else None
