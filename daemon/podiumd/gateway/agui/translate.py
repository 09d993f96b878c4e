"""The events of a run as the events of AG-UI, each in its valid order for any input. Pure.

The agent's words and acts while it works are transient, and sent in pieces; what is stored
(``tool.used``, ``turn.ended``) is sent whole. One stream is one run of AG-UI: it ends where a
person has to speak or to answer, or where there is nothing more to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, assert_never

import msgspec
from msgspec import UNSET

from podiumd.core.run import facts as f
from podiumd.gateway.agui import events as e
from podiumd.gateway.agui.interrupts import interrupt
from podiumd.gateway.agui.outputs import Outputs, weight
from podiumd.wire.event import Happened
from podiumd.wire.events import Snapshot, TurnOutput
from podiumd.wire.questions import Question
from podiumd.wire.runs import Run

Json = dict[str, Any]

_CANCELLED: Final = ("cancelled", "guardrail")
_ANEW: Final = (
    "The agent's conversation is gone: it begins anew, with a summary of what was said before."
)
_PARKED: Final = "The agent's usage limit is reached: it goes on by itself when that is over."

Unseen = (
    f.QuietFact
    | f.RunStarted
    | f.OutcomeParsed
    | f.OutcomeInvalid
    | f.CheckEnded
    | f.CommandIntended
    | f.CommandEnded
    | f.HookEnded
    | f.ProgressStalled
    | f.QuestionOpened
    | f.SteerIntended
    | f.MessageReceived
    | f.AsideNoted
    | f.RunPaused
    | f.RunResumed
    | f.RunEnded
    | f.LimitHit
    | f.LoopFact
)
"""Facts that clients do not see: a snapshot states them, or the end of the stream."""


def snapshot_of(run: Run) -> Snapshot:
    """Return what a client shows of a run, as the daemon's own snapshots have it."""
    return Snapshot(
        run_id=run.run_id,
        session_id=run.session_id,
        phase=run.step,
        ctx={} if run.ctx is UNSET else run.ctx,
        question=run.questions[0] if run.questions else None,
        run=run,
    )


class Translator:
    """A stream. ``new_id`` makes ids of messages and calls. Once it is ``over``, nothing more comes
    of anything."""

    def __init__(self, thread_id: str, run_id: str, new_id: Callable[[], str]) -> None:
        self.over = False
        self._ids = (thread_id, run_id)
        self._outputs = Outputs(new_id)
        self._step: str | None = None
        self._snapshot: Snapshot | None = None
        self._whole_turn: str | None = None
        self._again = False

    # -- the ends of the stream --------------------------------------------------------------

    def begin(self, run: Run | None, *, again: bool = False, step: str | None = None) -> list[Json]:
        """Build the first events; ``run`` is the one that is followed, if there is any.

        ``again``: it is reported from an earlier message on, which came in its ``step``; the turn
        that had it may have begun before that.
        """
        self._again = again
        first = [e.run_started(*self._ids)]
        if run is None:
            return first
        return [*first, *self._state(snapshot_of(run)), *self._enter(step if again else run.step)]

    def finish(self, run: Run | None, questions: list[Question], session_id: str) -> list[Json]:
        """Build the last events: of a ``run`` that waits, stands still or is over.

        ``questions`` are all that are open in the conversation; a run of AG-UI that leaves one open
        is interrupted, however it ended itself.
        """
        if self.over:
            return []
        last = self._close()
        last += [e.custom("podium:ask", msgspec.to_builtins(question)) for question in questions]
        if run is not None:
            last += self._state(snapshot_of(run))
        self.over = True
        return [*last, self._outcome(run, questions, session_id)]

    def fail(self, message: str, code: str) -> list[Json]:
        """Build the last events, where something went wrong."""
        if self.over:
            return []
        last = self._close()
        self.over = True
        return [*last, e.run_error(message, code)]

    def _close(self) -> list[Json]:
        return [*self._outputs.close_turn(), *self._enter(None)]

    def _outcome(self, run: Run | None, questions: list[Question], session_id: str) -> Json:
        if questions:
            return e.run_interrupted(*self._ids, [interrupt(question) for question in questions])
        if run is None:
            return e.run_succeeded(*self._ids, {"session_id": session_id})
        result = {"session_id": session_id, "run_id": run.run_id, "status": run.status}
        end = run.exit
        if end is None and run.status != "paused":
            return e.run_succeeded(*self._ids, result)
        if end is None or end.class_ in _CANCELLED:
            return e.run_cancelled(*self._ids)
        if end.category == "error":
            words = f"{end.message}: {end.detail}" if end.detail else end.message
            return e.run_error(words, end.reason)
        return e.run_succeeded(*self._ids, {**result, "exit": msgspec.to_builtins(end)})

    # -- in between --------------------------------------------------------------------------

    def notice(self, code: str, message: str, **more: object) -> list[Json]:
        """Build a notice for the person that ends nothing."""
        if self.over:
            return []
        return [e.custom("podium:notice", {"code": code, "message": message, **more})]

    def event(self, fact: Happened) -> list[Json]:
        """Translate an event of the run; nothing comes of one that this client need not see."""
        if self.over or isinstance(fact, Unseen):
            return []
        match fact:
            case TurnOutput():
                return self._output(fact)
            case Snapshot():
                return self._state(fact)
            case f.ToolUsed():
                call_id = f"{fact.turn_id}:{fact.call_id}"
                return self._outputs.call(call_id, fact.tool, fact.args, fact.message)
            case f.TurnIntended():
                return self._intended(fact)
            case f.TurnEnded():
                return self._turn_over(fact)
            case f.StepEntered():
                return self._enter(fact.step)
            case f.EdgeTaken():
                return self._enter(None) if fact.step == self._step else []
            case f.RunParked():
                return self.notice("parked", _PARKED, until=fact.until)
            case f.QuestionClosed():
                return [e.custom("podium:answered", _answered(fact))]
            case _:
                assert_never(fact)

    def _output(self, output: TurnOutput) -> list[Json]:
        if output.kind == "status":
            return self.notice("status", output.delta)
        return self._outputs.output(output.kind, output.uuid, output.delta)

    def _intended(self, turn: f.TurnIntended) -> list[Json]:
        self._whole_turn, self._again = turn.turn_id, False
        self._outputs.spoken = 0
        return self.notice("anew", _ANEW) if turn.anew else []

    def _turn_over(self, turn: f.TurnEnded) -> list[Json]:
        """End a turn. Pieces are never sent twice: words of the turn that were not sent are sent
        whole."""
        told = self._outputs.close_turn()
        missed = self._outputs.spoken < weight(turn.text)
        if missed and (self._again or turn.turn_id == self._whole_turn):
            told += self._outputs.whole(turn.text)
        self._whole_turn, self._again = None, False
        return told

    def _enter(self, step: str | None) -> list[Json]:
        before, self._step = self._step, step
        if step == before:
            return []
        left = [] if before is None else [e.step_finished(before)]
        return left if step is None else [*left, e.step_started(step)]

    def _state(self, snapshot: Snapshot) -> list[Json]:
        if snapshot == self._snapshot:
            return []
        self._snapshot = snapshot
        return [e.state_snapshot(msgspec.to_builtins(snapshot))]


def _answered(closed: f.QuestionClosed) -> Json:
    return {
        "question_id": closed.question_id,
        "closed": closed.closed,
        "answer": closed.answer,
        "note": closed.note,
        "by": closed.by,
    }
