"""A plain prompt's turn: the answer on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from typing import Any

from podium import phase_words, text
from podium.narrate import end_line
from podium.phase import Carried, of_phase, say_command, waits_for_words
from podium.question import SHOWN_LINES, answer_command, heading, listed
from podium.streamed import Words

Json = dict[str, Any]


class AnswerView:
    """Streams one turn's answer. ``started`` is what ``sessions.prompt`` returned."""

    def __init__(self, started: Json, said: str, interactive: bool) -> None:
        self._turn = started.get("turn_id")
        self._session = started.get("session_id")
        self._said = said
        self._interactive = interactive
        self._words = Words()
        self._unhinted: dict[str, Json] = {}
        self._terminal = text.is_terminal(sys.stdout)
        self._style = text.Style(sys.stderr)
        self._fresh = True

    def event(self, event: Json) -> None:
        """Tell what belongs to this turn."""
        data, kind = event.get("data") or {}, event.get("type")
        if kind == "run.started" and data.get("text") != self._said:
            self._aside(f"handed to the running turn of run {event.get('run_id')}")
        elif kind == "question.opened" and not self._interactive:
            self._asked(data)
        elif kind == "question.closed":
            self._unhinted.pop(str(data.get("question_id")), None)
        elif kind == "run.ended":
            self._ended(data.get("run") or {})
        elif data.get("turn_id") == self._turn:
            if kind == "turn.output":
                self._output(data)
            elif kind == "turn.ended":
                self._rest(data)

    def tick(self) -> None:
        """Show how to answer what is open. The answer alone is shown: no live line."""
        for question in self._unhinted.values():
            self._aside(f"  answer with: {answer_command(question)}")
        self._unhinted.clear()

    def waits(self, run: Json) -> None:
        """One turn waits for nothing but answers."""

    def rejoined(self) -> None:
        """A daemon that was started again tells the running turn from its beginning."""
        self._words.again()

    def finish(self) -> None:
        """End the answer's last line."""
        if not self._fresh:
            self._answer("\n")

    def _output(self, data: Json) -> None:
        if not self._words.is_new(data):
            return
        if data.get("kind") == "text":
            self._answer(self._words.add(data))
        elif data.get("kind") in ("tool", "status") and not phase_words.is_told(data):
            mark = "⚙" if data["kind"] == "tool" else "…"
            self._aside(f"{mark} {text.fold(data.get('delta'), 100)}")

    def _rest(self, data: Json) -> None:
        missing, late = self._words.missing(data)
        if late:
            self.finish()
        self._answer(missing)

    def _asked(self, question: Json) -> None:
        self._aside(f"? {heading(question)}")
        for line in listed(question, SHOWN_LINES):
            text.tell(self._style("dim", f"    {line}"))
        self._unhinted[str(question.get("question_id"))] = question

    def _answer(self, words: str) -> None:
        if words:
            # Into a pipe or file the answer goes as it is; a terminal must not obey it.
            text.emit(text.clean(words) if self._terminal else words)
            self._fresh = words.endswith("\n")

    def _aside(self, words: str) -> None:
        if self._terminal and self._style.terminal:
            self.finish()
        text.tell(self._style("dim", text.fold(words)))

    def _ended(self, run: Json) -> None:
        self.finish()
        ended = run.get("exit") or {}
        if ended.get("class") != "completed":
            text.tell(end_line(run, self._style))
            if detail := text.clean(ended.get("detail") or "").strip("\n"):
                text.tell(detail)
        elif self._style.terminal and self._session:
            self._aside(f"go on with: podium prompt --session {self._session} TEXT")


class PhaseAnswerView(AnswerView):
    """Streams what comes of a message in a conversation, until it is the person's turn again.

    That may be more than one turn: a phase that needs no person goes on by itself. What was said
    before the message is passed over.
    """

    def __init__(self, started: Json, said: str, interactive: bool) -> None:
        super().__init__(started, said, interactive)
        self._carried = Carried(started)

    def event(self, event: Json) -> None:
        """Tell what belongs to this turn and those after it."""
        data, kind = event.get("data") or {}, event.get("type")
        turn = data.get("turn_id")
        self._carried.event(event)
        if not self._carried.begun:
            return
        if turn is not None and kind in ("turn.intended", "turn.output"):
            if turn != self._turn:
                self.finish()
            self._turn = turn
        if kind == "step.entered":
            self._aside(f"▸ {data.get('step')}")
        elif kind == "tool.used" and (told := phase_words.tool_used(data)):
            self._aside(told[0])
        elif kind == "turn.intended" and data.get("anew"):
            self._aside(phase_words.GONE)
        elif kind == "question.opened" and self._interactive and of_phase(data):
            self._asked(data)
        super().event(event)

    def waits(self, run: Json) -> None:
        """Say how to go on: the answer to a question, or the next message."""
        if not self._carried.answered:
            return
        self.finish()
        self.tick()
        if waits_for_words(run):
            self._aside(f"go on with: {say_command(run)}")
