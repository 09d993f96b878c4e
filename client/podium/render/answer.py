"""A plain prompt's turn: the answer on standard output, everything else on standard error."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from podium import text
from podium.render import conversation_words
from podium.render.activity import NOTICE_CELLS, Activity, brief
from podium.render.narrate import PURPOSES
from podium.render.question import SHOWN_LINES, answer_command, heading, listed
from podium.render.run_words import end_line, parked_line
from podium.render.screen import Screen
from podium.render.spending import Spending
from podium.render.streamed import Words
from podium.rpc.conversation_state import Carried, ends_turn, say_command, waits_for_words

if TYPE_CHECKING:
    from podium import protocol

TAKEN_UP = ("again", "go-on", "interrupted", "prompt")
"""Purposes of a turn that goes on with the one before it, which came to no end of its own."""


class AnswerView:
    """Streams a prompt's answer. ``started`` is the result of ``sessions.prompt``.

    It is that of the prompt's turn and of those that take it up after a usage limit or the end of
    its daemon: an agent may have said nothing before.
    ``screen`` is standard output. Where standard error is the same terminal, all is shown there in
    its order, above a live line.
    """

    def __init__(
        self, started: protocol.Went | protocol.Turn, said: str, interactive: bool, screen: Screen
    ) -> None:
        self._turn = started.get("turn_id")
        self._session = started.get("session_id")
        self._over = False
        self._said = said
        self._interactive = interactive
        self._words = Words()
        self._activity = Activity()
        self._unhinted: dict[str, protocol.QuestionOpenedData] = {}
        self._screen = screen
        self._style = text.Style(sys.stderr)
        self._aside_here = screen.draws and self._style.terminal
        self._began = time.monotonic()
        self._spent = Spending()

    def event(self, event: protocol.Event) -> None:
        """Show an event that belongs to this turn."""
        data, kind = event["data"], event.get("type")
        if kind == "run.started" and data.get("text") != self._said:
            self._aside(f"handed to the running turn of run {event.get('run_id')}")
        elif kind == "question.opened" and not self._interactive:
            self._asked(data)
        elif kind == "question.closed":
            self._unhinted.pop(str(data.get("question_id")), None)
        elif kind == "run.ended":
            self._ended(data.get("run"))
        elif kind == "run.parked":
            self._aside(parked_line(data))
        elif kind == "turn.intended" and self._over and data.get("purpose") in TAKEN_UP:
            self._take_up(data)
        elif data.get("turn_id") == self._turn:
            if kind == "turn.output":
                self._output(data)
            elif kind == "reply.received":
                self._answer(self._words.reply(data))
            elif kind == "turn.ended":
                self._rest(data)
                self._over = True

    def tick(self) -> None:
        """Show how to answer what is open, and how long it has been going on."""
        for question in self._unhinted.values():
            self._aside(f"  it waits; answer with: {answer_command(question)}")
        self._unhinted.clear()
        if self._aside_here:
            took = text.duration(int(time.monotonic() - self._began))
            self._screen.status(self._activity.line(took, str(self._spent), "", self._screen.tail))

    def waits(self, run: protocol.Run) -> None:
        """Do nothing: one turn waits only for answers."""

    def finish(self) -> None:
        """End the answer's last line."""
        self._screen.clear()
        self._screen.not_reported()
        self._screen.fresh_line()

    def _take_up(self, intended: protocol.TurnIntendedData) -> None:
        """Go on with the turn that takes up the last one; its words begin a line."""
        self.finish()
        self._turn, self._over = intended.get("turn_id"), False
        if told := PURPOSES.get(str(intended.get("purpose"))):
            self._aside(told)

    def _output(self, data: protocol.TurnOutput) -> None:
        if not self._words.is_new(data):
            return
        self._activity.output(data["kind"], data["delta"])
        if data.get("kind") == "text":
            self._answer(self._words.add(data))
        elif data.get("kind") == "status" and not conversation_words.is_told(data):
            self._aside(f"… {text.fold(data.get('delta'), NOTICE_CELLS)}")
        elif data.get("kind") == "tool" and not conversation_words.is_told(data):
            self._aside(f"⚙ {brief(data.get('delta'), self._screen.columns, margin=2)}")

    def _rest(self, data: protocol.TurnEndedData) -> None:
        missing, late = self._words.missing(data)
        if late:
            self.finish()
        self._answer(missing)
        self._activity.over()
        self._spent.turn(data)

    def _asked(self, question: protocol.QuestionOpenedData) -> None:
        self._aside(f"? {heading(question)}")
        for line in listed(question, SHOWN_LINES):
            self._tell(self._style("dim", f"    {line}"))
        self._unhinted[str(question.get("question_id"))] = question

    def _answer(self, words: str) -> None:
        if self._screen.draws:
            self._screen.words(words)
        else:
            self._screen.write(words)  # into a pipe or file the answer goes as it is

    def _aside(self, words: str) -> None:
        self._tell(self._style("dim", text.fold(words)))

    def _tell(self, line: str) -> None:
        if self._aside_here:
            self._screen.line(line)
        else:
            text.tell(line)

    def _ended(self, run: protocol.Run | None) -> None:
        self.finish()
        ended = run and run["exit"]
        if run and ended and ended["class"] != "completed":
            self._tell(end_line(run, self._style))
            if detail := text.clean(ended["detail"] or "").strip("\n"):
                self._tell(detail)
        elif self._style.terminal and self._session:
            self._aside(f"go on with: podium prompt --session {self._session} TEXT")


class ConversationAnswerView(AnswerView):
    """Streams the answer to a message in a conversation, until it is the person's turn again.

    That may be more than one turn: a phase that needs no person goes on by itself. Events before
    the message are passed over.
    """

    def __init__(
        self, started: protocol.Went | protocol.Turn, said: str, interactive: bool, screen: Screen
    ) -> None:
        super().__init__(started, said, interactive, screen)
        self._carried = Carried(started)

    def event(self, event: protocol.Event) -> None:
        """Show an event that belongs to this turn or those after it."""
        data, kind = event["data"], event.get("type")
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
        elif kind == "tool.used" and (told := conversation_words.tool_used(data)):
            self._aside(told[0])
        elif kind == "turn.intended" and data.get("anew"):
            self._aside(conversation_words.GONE)
        elif kind == "question.opened" and self._interactive and ends_turn(data):
            self._asked(data)
        super().event(event)

    def waits(self, run: protocol.Run) -> None:
        """Say how to go on: the answer to a question, or the next message."""
        if not self._carried.answered:
            return
        self.finish()
        self.tick()
        if waits_for_words(run):
            self._aside(f"go on with: {say_command(run)}")
