"""Following of one run in a chat: show its events, ask its questions, take typed input.

Ctrl-C interrupts the turn and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from podium import text
from podium.chat import question as chat_question
from podium.chat.input import Lines
from podium.chat.terminal import CtrlC
from podium.chat.view import Out
from podium.dialog.ask import beyond
from podium.dialog.slash_commands import LEAVING, leaves
from podium.errors import (
    ALREADY_ENDED,
    INVALID_PARAMETER,
    NEEDS_PERSON,
    ConnectionLost,
    DaemonDown,
    Failure,
    Refusal,
)
from podium.render.question import answer_command, choices_of
from podium.render.screen import ASSUMED_COLUMNS
from podium.render.table_entry import TableEntry
from podium.rpc.connection import Connection, call
from podium.rpc.conversation_state import ConversationState, waits_for_words
from podium.rpc.follow import RunFeed, View, certain, ended_run

if TYPE_CHECKING:
    from podium import protocol
    from podium.render.question import Asked

TICK_SECONDS = 1.0


class ChatFeed(RunFeed):
    """The events of one run in a chat, which outlives the feeds that carry them."""

    def anew(self) -> tuple[ChatFeed, list[protocol.Question]]:
        """Open the feed on a new connection, after the last event handed out; return it and the
        open questions.

        Raises:
            Failure: the daemon is still gone.
        """
        connection = Connection()
        run: protocol.Run = connection.call("runs.get", {"run_id": self.run_id})
        return ChatFeed(connection, self.run_id, self._seq), list(run.get("questions") or [])


class Unanswered(Failure):
    """The input is over and a question is open that cannot be declined."""


class Left(Failure):
    """The person left at a question, after a note that it stays open."""


class Follower:
    """Follows runs, one at a time, or one while another one waits.

    ``command`` carries out a command of the chat; false where the words are none.
    """

    def __init__(
        self, lines: Lines, out: Out, ctrl_c: CtrlC, command: Callable[[str], bool]
    ) -> None:
        self._lines = lines
        self._out = out
        self._ctrl_c = ctrl_c
        self._command = command

    def follow(
        self,
        events: RunFeed,
        view: View,
        heed: Callable[[str], bool],
        aside: Callable[[str], None] | None = None,
        until: Callable[[protocol.Event], bool] = lambda event: False,
        standing: Sequence[Asked] = (),
        phase: ConversationState | None = None,
    ) -> protocol.Run | None:
        """Follow a run to its end and return it.

        Returns ``None`` when the person, or ``until``, left it, or where a conversation waits for
        the person's next message.

        Parameters:
            heed: gets the lines that are typed while no question is open; true ends the following.
            aside: gets what is no answer to the question that stands; ``None``: it is asked again.
            standing: questions that were opened before the first of the events.
            phase: is kept up to date, for the caller.

        Raises:
            Failure: the daemon is gone for good; ``events`` can be asked for the rest later.
            Unanswered, Left: see there.
        """
        following = _Following(
            self._lines, self._out, self._ctrl_c, events, view, heed, aside, self._command
        )
        with self._lines.at_work():
            try:
                return following.go(until, standing, phase or ConversationState())
            finally:
                view.finish()


class _Following:
    """State of one run that is being followed."""

    def __init__(
        self,
        lines: Lines,
        out: Out,
        ctrl_c: CtrlC,
        events: RunFeed,
        view: View,
        heed: Callable[[str], bool],
        aside: Callable[[str], None] | None,
        command: Callable[[str], bool],
    ) -> None:
        self._lines = lines
        self._out = out
        self._ctrl_c = ctrl_c
        self._events = events
        self._view = view
        self._heed = heed
        self._aside = aside
        self._command = command
        self._leaves = False
        self._open: list[Asked] = []
        self._shown: object = None
        self._table: TableEntry | None = None
        self._put_aside = ""
        self._withdrawn = False

    def go(
        self,
        until: Callable[[protocol.Event], bool],
        standing: Sequence[Asked],
        phase: ConversationState,
    ) -> protocol.Run | None:
        events = self._events
        self._open = list(standing)
        known = events.rejoined
        while True:
            self._out.aside.clear()
            taken = events.take()
            for event in taken:
                phase.event(event)
                self._view.event(event)
                self._note_question(event)
                if event.get("type") == "run.ended":
                    return ended_run(events, event)
                if until(event):
                    return None
            if events.rejoined != known:
                known = events.rejoined
                self._ask_again()
                continue  # what was stored meanwhile says which question it is that stands
            if self._ctrl_c.taken():
                self._interrupt()
            elif not taken:
                stands = phase.stands(events.connection, events.run_id) and events.caught_up()
                if stands and waits_for_words(phase.run):
                    return None
                self._view.tick()
                self._ask()
                if self._wait():
                    self._typed()
                if self._leaves:
                    return None

    # -- waiting, and what is typed ------------------------------------------------------------

    @property
    def _listens(self) -> bool:
        """Return whether input is wanted.

        A program's lines are prompts, unless a question is open.
        """
        more = bool(self._lines.said) or not self._lines.ended
        return more and (self._lines.interactive or bool(self._open))

    def _wait(self) -> bool:
        """Wait for events, input or Ctrl-C; true if there is input."""
        if self._listens and self._lines.said:
            return True
        self._draw()
        tick = TICK_SECONDS if self._out.aside.live else None
        other = self._lines if self._listens else None
        return self._ctrl_c.wait(lambda: self._events.wait(tick, other))

    def _draw(self) -> None:
        """Draw the live line: the view's own, or the prompt and the draft."""
        draft = text.clean(self._lines.draft)
        if not (self._out.aside.live and (draft or self._open)):
            return
        words = f"  {self._prompt}{draft}"
        room = (text.columns() or ASSUMED_COLUMNS) - 1
        if text.cells(words) > room:
            while text.cells(words) >= room:
                words = words[1:]
            words = f"…{words}"
        self._out.aside.status(words)

    @property
    def _prompt(self) -> str:
        if self._table is not None:
            return self._table.prompt
        hint = "" if not self._open or self._apart else chat_question.hint(self._open[0])
        return f"{hint} > ".lstrip()

    @property
    def _apart(self) -> bool:
        """Return whether the prompt stands above the line, to leave room to type."""
        room = text.columns() or ASSUMED_COLUMNS
        return self._table is not None or text.cells(chat_question.hint(self._open[0])) > room // 2

    def _typed(self) -> None:
        """Take what was typed: answers first, one for each question."""
        if not self._lines.said:
            self._lines.pump()
        if not self._open:
            self._heed_all()
        elif self._lines.said:
            self._answer(self._lines.said.popleft())
        elif self._lines.begin_again():
            self._answer("")  # Ctrl-D says no, and the person is still there
        elif self._lines.ended:
            self._answer_nothing()

    def _heed_all(self) -> None:
        self._withdrawn = False
        if self._lines.begin_again():
            self._lines.said.append(LEAVING[0])
        for _ in range(len(self._lines.said)):
            self._leaves |= self._heed(self._lines.said.popleft())

    # -- questions -----------------------------------------------------------------------------

    def _note_question(self, event: protocol.Event) -> None:
        data = event["data"]
        if event.get("type") == "question.opened":
            self._open.append(data)
        elif event.get("type") == "question.closed":
            shown = data.get("question_id") == self._shown
            self._withdrawn = shown and data.get("closed") == "superseded"
            self._drop(data.get("question_id"))

    def _drop(self, question_id: object) -> None:
        self._open = [one for one in self._open if one.get("question_id") != question_id]
        if question_id == self._shown:
            self._table = None
        if not self._open and self._lines.attended:
            self._lines.resume(self._put_aside)
            self._put_aside = ""

    def _ask_again(self) -> None:
        """Ask what stood when the daemon went away: what was typed at it then was no answer yet."""
        self._withdrawn = self._withdrawn or bool(self._open)
        if self._withdrawn and self._lines.attended:
            self._put_aside = self._lines.catch_up() or self._put_aside
            self._let_go()
        self._shown = None

    def _ask(self) -> None:
        """Show the question that stands. Input typed before it was seen is no answer to it."""
        if not self._open or self._open[0].get("question_id") == self._shown:
            return
        question = self._open[0]
        if self._lines.attended:
            self._put_aside = self._lines.catch_up() or self._put_aside
            if self._withdrawn:
                self._let_go()
            self._heed_all()
        self._shown = question.get("question_id")
        self._table = TableEntry(question["columns"]) if question.get("columns") else None
        self._out.answer.fresh_line()
        chat_question.show(question, self._out.aside)
        if self._apart:
            self._out.note(chat_question.hint(question))
        self._invite()
        if self._lines.ended and not self._lines.said:
            self._answer_nothing()

    def _invite(self) -> None:
        """Say what may be typed to a person whose terminal has no live line for it."""
        if self._lines.attended and not self._out.aside.live:
            self._out.aside.write(f"  {self._prompt}")

    def _let_go(self) -> None:
        """Forget what was typed at a question that a new daemon asks again: it is neither an
        answer to what has not been seen, nor a prompt."""
        self._withdrawn = False
        while self._lines.said:
            words = self._lines.said.popleft()
            self._out.note(f"not taken, the question is asked again: {words}", "yellow")

    def _answer(self, words: str) -> None:
        """Answer the question that stands, or leave it.

        Raises:
            Left: see there.
        """
        question = self._open[0]
        if leaves(words) and words.strip() not in dict(choices_of(question)):
            self._out.note(f"the question stays open: {answer_command(question)}", "yellow")
            raise Left("The question stays open", NEEDS_PERSON)
        if self._lines.attended and self._command(words):
            if self._table is None:
                self._shown = None  # it is asked again, below the command's output
            else:
                self._invite()  # what is filled in already stays
            return
        if self._table is not None:
            self._fill_in(question, self._table, words)
            return
        if wrong := beyond(question, words):
            self._out.note(wrong, "yellow")
            self._shown = None
            return
        answer = chat_question.meaning(question, words)
        if answer is not None:
            self._out.note(f"{answer.choice}" + (f": {answer.note}" if answer.note else ""))
            self._send(question, answer)
        elif words.strip():
            if self._aside is None:
                self._out.note(f"'{words}' is no answer to this question", "yellow")
            else:
                self._aside(words)
            self._shown = None

    def _fill_in(self, question: Asked, table: TableEntry, words: str) -> None:
        """Take a cell of a table, and send it when it is whole."""
        asked = table.prompt
        if wrong := table.take(words):
            self._out.note(wrong, "yellow")
        elif words.strip():
            self._out.note(f"{asked}{words}")
        if table.answer is not None:
            self._send(question, chat_question.Answer(table.answer))
        else:
            self._invite()

    def _answer_nothing(self) -> None:
        """Refuse the open question, as the input is over.

        Raises:
            Unanswered: that is no answer to this question.
        """
        question = self._open[0]
        answer = chat_question.refusal(question)
        if answer is None:
            raise Unanswered(
                f"The input is over and a question is open: {answer_command(question)}",
                NEEDS_PERSON,
            )
        self._out.note(f"{answer.choice} (the input is over)")
        self._send(question, answer)

    def _send(self, question: Asked, answer: chat_question.Answer) -> None:
        params: protocol.Answer = {
            "question_id": question["question_id"],
            "answer": answer.choice,
        }
        if answer.note:
            params["note"] = answer.note
        try:
            # An answer typed for a daemon that is gone is none to the next daemon's question.
            (call if self._lines.attended else certain)("questions.answer", params)
        except (ConnectionLost, DaemonDown):
            self._out.note("not taken, the daemon is gone: the question is asked again", "yellow")
            self._shown = None
            return
        except Refusal as refusal:
            if refusal.code == INVALID_PARAMETER:
                self._out.note(f"{refusal.sentence}", "yellow")
                self._shown = None
                return
            if refusal.code != ALREADY_ENDED:
                raise
        self._drop(question.get("question_id"))

    def _interrupt(self) -> None:
        self._out.answer.fresh_line()
        self._out.note("interrupting ...", "yellow")
        asked: protocol.OneRun = {"run_id": self._events.run_id}
        try:
            run: protocol.Run = certain("runs.interrupt", asked)
            if run.get("kind") == "prompt" and run.get("status") != "ended":
                certain("runs.cancel", asked)  # it waits for its turn, or for a usage limit
        except Refusal as refusal:
            if refusal.code != ALREADY_ENDED:
                self._out.note(f"{refusal.sentence}", "yellow")
