"""View of one turn in a chat: the answer's words, the agent's actions, the result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from podium import text
from podium.errors import ERROR
from podium.render.activity import NOTICE_CELLS, Activity, brief, result_lines
from podium.render.narrate import last_lines
from podium.render.question import answer_words
from podium.render.run_words import ANSWERED_BY, PAUSES, closed_words, end_words, mark
from podium.render.screen import Screen
from podium.render.spending import Spending
from podium.render.streamed import Words
from podium.rpc.follow import exit_code

if TYPE_CHECKING:
    from podium import protocol


class Out:
    """Output of a chat.

    A program gets the answer alone on standard output (``answer``), a person everything in one
    place.
    """

    def __init__(self, answer: Screen, aside: Screen) -> None:
        self.answer = answer
        self.aside = aside

    def note(self, words: str, colour: str = "dim") -> None:
        """Print a line after the answer so far."""
        self.aside.line("  " + self.aside.style(colour, text.fold(words)))

    def beside(self, words: str, colour: str = "dim") -> None:
        """Print a line while the answer goes on."""
        self.aside.beside("  " + self.aside.style(colour, text.fold(words)))

    def words(self, words: str) -> None:
        """Write the agent's own words.

        A terminal must not obey them; a program gets them as they are.
        """
        if self.answer.draws:
            self.answer.words(words)
        else:
            self.answer.write(words)

    def brief(self, words: object) -> str:
        """Shorten words to one line beside the answer."""
        return brief(words, self.aside.columns)


class TurnView:
    """View of the turn of one prompt.

    ``spent`` is what it has taken, ``code`` is the exit code that its end stands for, ``answer``
    the agent's last words, ``model`` the model that wrote them, where the agent reports it.
    """

    def __init__(self, out: Out) -> None:
        self.answer = ""
        self.model = ""
        self.spent = Spending()
        self.code = ERROR
        self._out = out
        self._words = Words()
        self._activity = Activity()
        self._began = time.monotonic()

    def event(self, event: protocol.Event) -> None:
        """Show one event. A kind this client does not know is passed over."""
        data, kind = event["data"], event.get("type")
        if kind == "turn.output":
            self._output(data)
        elif kind == "turn.ended":
            self._turn_ended(data)
        elif kind == "action.ended":
            self._action_ended(data)
        elif kind == "reply.received":
            self._reply_received(data)
        elif kind == "question.closed":
            self._closed(data)
        elif kind == "run.parked":
            self._out.note(f"⏸ usage limit: waits until {data.get('until')}", "yellow")
        elif kind == "stop.intended" and data.get("how") == "pause":
            self._out.beside(f"⏸ {PAUSES}", "yellow")
        elif kind == "run.paused":
            self._out.note("⏸ paused", "yellow")
        elif kind == "run.ended":
            self._run_ended(data)

    def tick(self) -> None:
        """Show how long it has been going on, what it has cost and what streams."""
        seconds = int(time.monotonic() - self._began)
        took = f"{seconds} s" if seconds < 60 else text.duration(seconds)
        unseen = self._out.answer.tail
        self._out.aside.status(
            self._activity.line(took, str(self.spent), "Ctrl-C interrupts", unseen)
        )

    def waits(self, run: protocol.Run) -> None:
        """Do nothing: one turn waits only for answers, which are asked for as they come."""

    def finish(self) -> None:
        """End the last line."""
        for screen in (self._out.answer, self._out.aside):
            screen.clear()
            screen.not_reported()
            screen.fresh_line()

    def _output(self, data: protocol.TurnOutput) -> None:
        if not self._words.is_new(data):
            return
        kind, delta = data.get("kind"), data.get("delta")
        self._activity.output(data["kind"], data["delta"])
        if kind == "text":
            self._out.words(self._words.add(data))
        elif kind == "tool":
            self._out.note(f"⚙ {self._out.brief(delta)}", "cyan")
        elif kind == "tool_result":
            for line in result_lines(self._activity.untold(str(delta or "")), self._columns):
                self._out.note(line)
        elif kind == "status":
            self._out.note(f"… {text.fold(delta, NOTICE_CELLS)}")

    @property
    def _columns(self) -> int:
        return self._out.aside.columns

    def _reply_received(self, data: protocol.ReplyReceivedData) -> None:
        self._out.words(self._words.reply(data))
        self.model = str(data.get("model") or self.model)
        if data.get("fault"):
            self._out.note(f"! its reply cannot be read: {data['fault']}", "yellow")

    def _action_ended(self, data: protocol.ActionEndedData) -> None:
        """Show a failed action; a successful one was shown already."""
        message = data["result"]["message"]
        if not data["result"]["success"]:
            self._out.note(f"✗ {self._out.brief(message)}", "red")
            # The agent's own line about it says the same.
            self._activity.tells(f"failed: {message}")

    def _turn_ended(self, data: protocol.TurnEndedData) -> None:
        missing, late = self._words.missing(data)
        if late:
            self._out.note("… said before:")
        self._out.words(missing)
        self._activity.over()
        self.finish()
        self.answer = str(data.get("text") or "")
        self.spent.turn(data)
        self._out.note(_account(data))

    def _closed(self, data: protocol.QuestionClosedData) -> None:
        answer, who = data.get("answer"), str(data.get("by"))
        if who == "local":
            return  # the person who typed it knows
        by = ANSWERED_BY.get(who, f" by {who}")
        said = (
            f"answered{by}: {answer_words(answer)}" if answer else f"question {closed_words(data)}"
        )
        self._out.note(f"? {said}")

    def _run_ended(self, data: protocol.RunEndedData) -> None:
        self.finish()
        for undelivered in data.get("undelivered") or []:
            self._out.note(f"not delivered: {undelivered}", "yellow")
        run, ended = data["run"], data["exit"]
        self.code = exit_code(run)
        if run is None or ended["class"] == "completed":
            return
        aside = self._out.aside
        sign, colour = mark(run)
        aside.line(aside.style(colour, f"{sign} {end_words(run)}"))
        for line in last_lines(ended["detail"] or ""):
            aside.line("    " + aside.style("dim", line))


def _account(data: protocol.TurnEndedData) -> str:
    """Summarise a turn: time, cost, and what it left in the working tree."""
    report = data["report"]
    files = report["files"]
    told = [
        text.duration(data.get("seconds")),
        text.price(data.get("cost_usd"), report.get("tokens")),
    ]
    if files:
        told.append(f"{text.counted(len(files), 'file')} changed")
    commit = text.short(report["commit"] or "")
    if commit and commit not in data["text"]:  # the native agent says so itself
        told.append(f"commit {commit}")
    return text.dotted(*told)
