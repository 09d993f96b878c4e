"""The parts that every decider shares: building a decision, questions and their answers, steers,
stops.

A decision is made on a copy that evolves with each fact it emits, so later parts of it see what
earlier parts decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from podiumd.core.ids import derive
from podiumd.core.recipe.exits import Exit, classify
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import questions
from podiumd.core.run.fold import evolve
from podiumd.core.run.state import Question, RunState
from podiumd.core.structs import replace

MOST_WAITING: Final = 256
"""Messages of people that a run keeps until its agent has them."""

Closed = Literal["answered", "superseded", "expired"]

CHOICES: dict[str, tuple[tuple[str, str], ...]] = {
    "approval": (("allow", "Allow once"), ("deny", "Deny"), ("always", "Always in this run")),
    "gate": (("yes", "Yes"), ("no", "No")),
    "limit": (("more", "The same again, once"), ("stop", "Stop")),
    "recover": (
        ("retry", "Send the step's prompt again"),
        ("continue", "Accept what is there and go on"),
        ("stop", "Stop the run"),
    ),
}


class Decision:
    """Facts in the making. ``state`` is what they amount to so far."""

    def __init__(self, state: RunState, command: c.Command) -> None:
        self.state = state
        self.at = command.at
        self.mono = command.mono
        self.parting = command.parting
        self.facts: list[f.AnyFact] = []

    def emit(self, fact: f.AnyFact) -> None:
        self.facts.append(fact)
        self.state = evolve(self.state, fact, self.at)

    def take_back(self, before: RunState) -> None:
        """Forget all that was decided; ``before`` is the state it began with."""
        self.facts.clear()
        self.state = before

    def id(self, kind: str, number: int) -> str:
        """Return the identifier of a part of the present visit."""
        return part_id(self.state, kind, number)

    def ask(
        self,
        kind: f.QuestionKind,
        text: str,
        *,
        about: str = "",
        detail: str = "",
        choices: tuple[tuple[str, str], ...] = (),
        free_text: bool = False,
        multi: bool = False,
        columns: tuple[dict[str, Any], ...] = (),
    ) -> None:
        """Open a question that the run itself waits for; unattended runs end instead.

        Without ``choices`` it has those of its kind.
        """
        state = self.state
        question_id = self.id("question", len(state.questions) + 1)
        self.emit(
            f.QuestionOpened(
                question_id=question_id,
                kind=kind,
                text=text,
                choices=choices or CHOICES.get(kind, ()),
                free_text=free_text,
                multi=multi,
                columns=columns,
                about=about,
                detail=detail,
                step=state.step,
                visit=state.visits.get(state.step or "", 0),
                mono=self.mono,
            )
        )
        if state.start.on_question == "fail":
            self.give_up("clarification-needed", detail=text)

    def close(
        self,
        question: Question,
        closed: Closed,
        *,
        answer: str | None = None,
        note: str | None = None,
        by: str | None = None,
        next: f.Move | None = None,
    ) -> None:
        self.emit(
            f.QuestionClosed(
                question_id=question.question_id,
                closed=closed,
                answer=answer,
                note=note,
                by=by,
                mono=self.mono,
                next=next,
            )
        )

    def close_all(self, closed: Closed, questions: Sequence[Question]) -> None:
        for question in questions:
            self.close(question, closed)

    def give_up(self, reason: str, *, how: f.StopKind = "cancel", detail: str = "") -> None:
        """End the run; one whose turn is running ends with that turn."""
        stop = self.state.stop
        if self.state.turn is None:
            self.end(classify(reason), detail=detail)
        elif stop is None or stop.how not in ("cancel", how):
            self.emit(f.StopIntended(how=how, reason=reason, detail=detail))

    def end(self, exit: Exit, *, detail: str = "") -> None:
        """End the run; close all that is open first, so that ``run.ended`` is the last."""
        self.close_all("expired", self.state.open_questions)
        undelivered = tuple(steer.text for steer in self.state.steers)
        if self.parting is not None:
            self.emit(f.TreeSeen(why="end", look=self.parting))
        self.emit(
            f.RunEnded(exit=replace(exit, detail=detail or exit.detail), undelivered=undelivered)
        )


def part_id(state: RunState, kind: str, number: int) -> str:
    """Return the identifier of a part of the present visit."""
    visit = state.visits.get(state.step or "", 0)
    return derive(state.origin, state.restart, state.step or "", visit, kind, number)


def refused_as_ended(state: RunState) -> c.CommandRefused:
    """Return the refusal of a person's command to a run that is over."""
    assert state.exit is not None
    reason = state.exit.reason
    over = c.RunOver(id=state.start.run_id, by=reason)
    return c.CommandRefused(f"The run has ended: {reason}.", over)


def checked_answer(state: RunState, command: c.Answer) -> tuple[Question, str]:
    """Return the open question that an answer fits, and the answer as it is kept.

    Raises:
        CommandRefused: no such question, already closed, or not one of its choices.
    """
    question = state.questions.get(command.question_id)
    if question is None:
        unknown = c.UnknownQuestion(command.question_id)
        raise c.CommandRefused("There is no such question.", unknown)
    if question.closed is not None:
        over = c.QuestionOver(id=question.question_id, by=question.by)
        raise c.CommandRefused(f"The question was already {question.closed}.", over)
    answer = questions.checked(question, command.answer)
    if answer is None:
        raise c.CommandRefused(
            f"'{command.answer[:80]}' is no answer to this question; expected one of: "
            f"{', '.join(questions.expected(question))}.",
            c.WrongValue("answer"),
        )
    return question, answer


def steer(d: Decision, command: c.Steer) -> None:
    """Send a message to the running turn; with none running it waits for the next prompt.

    A message that came already, also as one to a conversation, is not sent again.

    Raises:
        CommandRefused: too many wait already.
    """
    if command.uuid in d.state.heard:
        return
    require_room(d.state)
    turn = d.state.turn
    turn_id = turn.intent.turn_id if turn is not None and not d.state.stopping else None
    d.emit(f.SteerIntended(uuid=command.uuid, text=command.text, turn_id=turn_id))


def require_room(state: RunState) -> None:
    """Check that one message more may wait for the agent.

    Raises:
        CommandRefused: too many wait already.
    """
    if len(state.steers) >= MOST_WAITING:
        words = f"{MOST_WAITING} messages wait for the agent already: this one was not taken."
        raise c.CommandRefused(f"{words} Try again when it has read some.", c.NoRoom())


def pause(d: Decision) -> None:
    """Stand still: now, or when the turn, command or check that is running has ended."""
    if d.state.paused or d.state.stop is not None:
        return
    if d.state.turn is None and not d.state.at_work:
        d.emit(f.RunPaused())
    else:
        d.emit(f.StopIntended(how="pause"))


def hold(d: Decision) -> None:
    """Pause now where a pause was asked for while something ran. Where a person's message in a
    conversation has decided meanwhile what comes next, go on with that."""
    stop = d.state.stop
    if stop is not None and stop.how in ("pause", "interrupt"):
        d.emit(f.RunPaused(why="requested" if stop.how == "pause" else "interrupted"))
        if d.state.in_conversation and any(words.late for words in d.state.steers):
            d.emit(f.RunResumed(why="message"))


def interrupt(d: Decision) -> None:
    """Stop what runs and pause. A plain prompt has nothing to come back to: it is cancelled."""
    stop = d.state.stop
    if d.state.start.kind == "prompt":
        d.give_up("user-requested")
    elif d.state.turn is None and not d.state.at_work:
        pause(d)
    elif stop is None or stop.how == "pause":
        d.emit(f.StopIntended(how="interrupt"))
    elif stop.how == "end":
        d.give_up(stop.reason)


def cancel(d: Decision, command: c.Cancel) -> None:
    """End the run. A running turn is stopped first; where recipes are switched off it finishes."""
    disabled = command.reason == "orchestration-disabled"
    d.give_up(command.reason, how="end" if disabled else "cancel")


def resume(d: Decision) -> None:
    """Go on. A pause that has not taken hold yet is taken back."""
    stop = d.state.stop
    if (
        d.state.paused
        or d.state.parked_until is not None
        or (stop is not None and stop.how == "pause")
    ):
        d.emit(f.RunResumed())
