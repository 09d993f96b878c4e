"""Narration of a run for a person: steps, the agent's words, outcomes, checks, cost and the end."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from podium import text
from podium.render import conversation_words
from podium.render.activity import NOTICE_CELLS, Activity, brief, result_lines
from podium.render.question import SHOWN_LINES, answer_command, answer_words, heading, listed
from podium.render.run_words import (
    ANSWERED_BY,
    PAUSES,
    again_command,
    again_label,
    closed_words,
    end_line,
    end_notes,
    first_line,
    first_note,
    parked_line,
    title_of,
)
from podium.render.screen import Screen
from podium.render.spending import Spending
from podium.render.streamed import Words
from podium.rpc.conversation_state import attach_command, say_command, waits_for_words

if TYPE_CHECKING:
    from podium import protocol

TAIL_LINES = 10

PURPOSES = {
    "retry": "asking again for the outcome",
    "again": "asking again",
    "go-on": "asking the agent to go on",
    "interrupted": "telling the agent that it was interrupted",
}

NO_OUTCOME = ("outcome.invalid", "turn.intended", "step.entered", "run.ended")
"""After these nothing that was kept back as a reply's outcome can be that."""


class Narrator:
    """Narrates events on a screen. ``again`` is the command that runs the same again, if known.

    ``interactive``: questions are asked elsewhere; ``said`` are the ids of messages sent from here,
    which need not be shown to their sender; ``queued``: a note that it waits in line was shown;
    ``run``: as it is when its narration begins, which may have a title by then.
    """

    def __init__(
        self,
        screen: Screen,
        again: str = "",
        interactive: bool = False,
        said: list[str] | None = None,
        queued: bool = False,
        run: protocol.Run | None = None,
    ) -> None:
        self._screen = screen
        self._said = said if said is not None else []
        self._style = screen.style
        self._again = again
        self._interactive = interactive
        self._queued = queued
        self._run = run
        self._words = Words()
        self._activity = Activity()
        self._detail: str | None = None
        self._start: protocol.RunStartedData | None = None
        self._unhinted: dict[str, protocol.QuestionOpenedData] = {}
        self._answered: object = None
        self._heard: object = None
        self._spent = Spending()
        self._started: float | None = None
        self._step_began: float | None = None
        self._where = ""
        self._tellers: dict[str, Callable[[Any], None]] = {
            "run.started": self._run_started,
            "step.entered": self._step_entered,
            "turn.intended": self._turn_intended,
            "turn.output": self._turn_output,
            "reply.received": self._reply_received,
            "action.ended": self._action_ended,
            "effect.ended": self._effect_ended,
            "turn.ended": self._turn_ended,
            "command.intended": self._command_intended,
            "outcome.parsed": self._outcome_parsed,
            "outcome.invalid": self._outcome_invalid,
            "message.received": self._message_received,
            "tool.used": self._tool_used,
            "hook.ended": lambda data: self._brief_of(conversation_words.hook_ended(data)),
            "check.ended": self._check_ended,
            "command.ended": self._check_ended,
            "question.opened": self._question_opened,
            "question.closed": self._question_closed,
            "steer.intended": self._steer_intended,
            "aside.noted": lambda data: self._note_beside("an aside went through this session"),
            "limit.hit": self._limit_hit,
            "edge.taken": self._edge_taken,
            "progress.stalled": lambda data: self._brief_of(conversation_words.stalled(data)),
            "stop.intended": self._stop_intended,
            "run.paused": self._run_paused,
            "run.resumed": lambda data: self._note_beside("▶ goes on"),
            "run.parked": lambda data: self._note(parked_line(data)),
            "run.ended": self._run_ended,
        }
        self._at: float | None = None

    def event(self, event: protocol.Event) -> None:
        """Show one event. A kind this client does not know is passed over."""
        self._at = text.epoch(event.get("at"))
        teller = self._tellers.get(str(event.get("type")))
        if event.get("type") in NO_OUTCOME:
            self._screen.not_reported()
        if teller is not None:
            teller(event["data"])

    def tick(self) -> None:
        """Show how to answer what is open, how long it has been going on and what it has cost."""
        for question in self._unhinted.values():
            self._note(f"  it waits; answer with: {answer_command(question)}", "yellow")
            _tell_beside(f"It waits for you: {answer_command(question)}")
        self._unhinted.clear()
        if self._started is not None:
            elapsed = text.duration(max(0, int(time.time() - self._started)))
            self._screen.status(
                self._activity.line(elapsed, str(self._spent), self._where, self._screen.tail)
            )

    def waits(self, run: protocol.Run) -> None:
        """Show how to go on with a conversation, where no person is asked for words here."""
        if waits_for_words(run) and not self._interactive:
            self._note(f"  it waits for your words: {say_command(run)}", "yellow")
            self._note(f"  or talk with it at a terminal: {attach_command(run)}", "yellow")
            _tell_beside(f"It waits for your words: {say_command(run)}")

    def finish(self) -> None:
        """Leave a clean line."""
        self._screen.clear()
        self._screen.not_reported()
        self._screen.fresh_line()

    def _brief(self, words: object, margin: int = 4) -> str:
        return brief(words, self._screen.columns, margin)

    def _note(self, words: str, colour: str = "dim") -> None:
        self._screen.line("  " + self._style(colour, text.fold(words)))

    def _note_beside(self, words: str, colour: str = "dim") -> None:
        """Show an act of a person, which is no sign of how far the agent's words have come."""
        self._screen.beside("  " + self._style(colour, text.fold(words)))

    def _brief_of(self, told: tuple[str, str] | None) -> None:
        if told is not None:
            self._note(*told)

    def _block(self, words: object, colour: str = "dim") -> None:
        for line in last_lines(words):
            self._screen.line("    " + self._style(colour, line))

    def _run_started(self, data: protocol.RunStartedData) -> None:
        self._started = self._at
        self._start = data
        title = title_of(self._run, data)
        self._screen.line(self._style("bold", title or first_line(data)))
        if title:
            self._note(first_line(data))
        self._note(first_note(data, watched=self._style.terminal))
        for doubt in data.get("doubts") or []:
            self._note(f"⚠ {doubt}", "yellow")
        if self._queued:
            self._note("queued until another agent is done")

    def _step_entered(self, data: protocol.StepEnteredData) -> None:
        limits = self._limits
        most = limits and limits["max_total_steps"]
        count = f"step {data.get('step_count')}" + (f" of {most}" if most else "")
        step = text.fold(data.get("step"))
        visit = data.get("visit")
        self._where, self._step_began = f"{step} (visit {visit})", self._at
        title = self._style("bold", f"▸ {step}")
        self._screen.line()
        self._screen.line(f"{title}  {self._style('dim', f'visit {visit} · {count}')}")

    @property
    def _limits(self) -> protocol.Limits | None:
        return self._start.get("limits") if self._start else None

    @property
    def _agent(self) -> str | None:
        """Return the run's own agent; steps that others take are marked."""
        start = self._start
        return (start.get("agent_override") or start.get("agent")) if start else None

    def _reply(self, attempt: object) -> str:
        limits = self._limits
        return f"reply {attempt}" + (f" of {limits['max_retries'] + 1}" if limits else "")

    def _turn_intended(self, data: protocol.TurnIntendedData) -> None:
        purpose = str(data.get("purpose"))
        agent = data.get("agent")
        if purpose in ("step", "opening") and self._agent not in (None, agent):
            self._note(f"taken by {agent}")
        if purpose in PURPOSES:
            reply = f" ({self._reply(data.get('attempt'))})" if purpose == "retry" else ""
            self._note(f"{PURPOSES[purpose]}{reply}")
        if data.get("anew"):
            self._note(conversation_words.GONE, "yellow")

    def _tool_used(self, data: protocol.ToolUsedData) -> None:
        self._brief_of(conversation_words.tool_used(data))
        # The tool's message to the agent comes as output, too.
        self._activity.tells(str(data.get("message") or ""))

    def _message_received(self, data: protocol.MessageReceivedData) -> None:
        # An answer was shown as that of its question.
        if data.get("uuid") not in (*self._said, self._answered):
            self._note_beside(*conversation_words.message(data))
            self._heard = data.get("uuid")

    def _steer_intended(self, data: protocol.SteerIntendedData) -> None:
        if self._heard is None or data.get("uuid") != self._heard:
            self._note_beside(f"↪ sent to the agent: {self._brief(data.get('text'))}")

    def _turn_output(self, data: protocol.TurnOutput) -> None:
        kind = data.get("kind")
        if not self._words.is_new(data) or conversation_words.is_told(data):
            return
        self._activity.output(data["kind"], data["delta"])
        if kind == "text":
            self._stream(self._words.add(data))
        elif kind == "tool":
            self._note(f"⚙ {self._brief(data.get('delta'))}", "cyan")
        elif kind == "tool_result":
            said = self._activity.untold(str(data.get("delta") or ""))
            for line in result_lines(said, self._screen.columns):
                self._note(line)
        elif kind == "status":
            self._note(f"… {text.fold(data.get('delta'), NOTICE_CELLS)}")

    def _stream(self, words: str) -> None:
        if self._screen.draws:
            return self._screen.words(words, margin="  ")
        first, *rest = text.clean(words).split("\n")
        margin = "  " if self._screen.fresh and first else ""
        lines = [margin + first, *(f"  {line}" if line else "" for line in rest)]
        return self._screen.write("\n".join(lines))

    def _reply_received(self, data: protocol.ReplyReceivedData) -> None:
        self._stream(self._words.reply(data))
        if data.get("fault"):
            self._note(f"! reply {data.get('number')} cannot be read: {data['fault']}", "yellow")

    def _action_ended(self, data: protocol.ActionEndedData) -> None:
        result = data["result"]
        action, message = result["action"], result["message"]
        if action in conversation_words.TOOLS:
            return  # ``tool.used`` shows it
        sign, colour = ("✓", "green") if result["success"] else ("✗", "red")
        self._note(f"{sign} {self._brief(f'{action}: {message}')}", colour)
        # The native agent shows the same words to a client that watches the turn.
        self._activity.tells(message if result["success"] else f"failed: {message}")

    def _effect_ended(self, data: protocol.EffectEndedData) -> None:
        if data.get("effect") != "commit":
            return
        if data.get("commit"):
            self._note(f"✓ committed {str(data['commit'])[:12]}", "green")
        else:
            self._note(f"nothing committed ({data.get('state')})", "yellow")
            self._block(data.get("detail") or "")

    def _turn_ended(self, data: protocol.TurnEndedData) -> None:
        missing, late = self._words.missing(data)
        if late:
            self._note("… said before:")
        self._stream(missing)
        self._activity.over()
        self._spent.turn(data)
        report = data["report"]
        how = "" if report["kind"] == "done" else report["kind"].replace("_", " ")
        spent = text.price(data.get("cost_usd"), report.get("tokens"))
        self._note(text.dotted(f"turn: {text.duration(data.get('seconds'))}", spent, how))
        if how and report["detail"]:
            self._block(report["detail"])
            self._detail = report["detail"]

    def _command_intended(self, data: protocol.CommandIntendedData) -> None:
        command = shlex.join(str(word) for word in data.get("run") or [])
        self._activity.output("tool", command)

    def _outcome_parsed(self, data: protocol.OutcomeParsedData) -> None:
        self._screen.reported()
        described = data.get("description")
        more = f": {text.fold(described)}" if described else ""
        self._note(f"outcome {text.fold(data.get('outcome'))}{more}", "cyan")

    def _outcome_invalid(self, data: protocol.OutcomeInvalidData) -> None:
        reply = self._reply(data.get("attempt"))
        wrong = "" if data.get("error") == "not-so" else "no usable outcome "
        self._note(f"! {wrong}({reply}): {data.get('message')}", "yellow")

    def _check_ended(self, data: protocol.CheckEndedData | protocol.CommandEndedData) -> None:
        self._activity.over()
        passed = bool(data.get("passed"))
        command = shlex.join(str(word) for word in data.get("run") or [])
        took = text.duration(data.get("seconds"))
        status = data.get("exit_status")
        how = took if passed else f"exit {'unknown' if status is None else status}, {took}"
        sign, colour = ("✓", "green") if passed else ("✗", "red")
        self._note(f"{sign} {command} ({how})", colour)
        if not passed:
            self._block(data.get("tail") or "")

    def _question_opened(self, data: protocol.QuestionOpenedData) -> None:
        if self._interactive:
            return
        first, *more = heading(data).split("\n")
        self._note(f"? {first}", "yellow")
        for line in [*more, *listed(data, SHOWN_LINES)]:
            self._screen.line("    " + self._style("dim", line))
        if not self._start or self._start["on_question"] != "fail":
            # It may be closed at once; the command that answers it is shown only after catching up.
            self._unhinted[str(data.get("question_id"))] = data

    def _question_closed(self, data: protocol.QuestionClosedData) -> None:
        self._unhinted.pop(str(data.get("question_id")), None)
        answer = data.get("answer")
        by = ANSWERED_BY.get(str(data.get("by")), f" by {data.get('by')}")
        said = (
            f"answered{by}: {answer_words(answer)}" if answer else f"question {closed_words(data)}"
        )
        self._note(f"? {said}")
        self._answered = data.get("question_id")

    def _limit_hit(self, data: protocol.LimitHitData) -> None:
        self._note(f"⚠ limit {data['limit']} ({data['count']:g})", "yellow")

    def _edge_taken(self, data: protocol.EdgeTakenData) -> None:
        target = data.get("to") or f"exit {data.get('exit')}"
        took = ""
        if self._at is not None and self._step_began is not None:
            took = text.duration(max(0.0, self._at - self._step_began))
        self._note(text.dotted(f"{data.get('outcome')} → {target}", took, self._spent.so_far))

    def _stop_intended(self, data: protocol.StopIntendedData) -> None:
        if data.get("how") == "pause":
            self._note_beside(f"⏸ {PAUSES}", "yellow")

    def _run_paused(self, data: protocol.RunPausedData) -> None:
        run_id = text.short(self._start["run_id"]) if self._start else "RUN"
        self._note(f"⏸ paused ({data['why']}); to go on: podium resume {run_id}", "yellow")

    def _run_ended(self, data: protocol.RunEndedData) -> None:
        run, ended = data["run"], data["exit"]
        for undelivered in data.get("undelivered") or []:
            self._note(f"not delivered: {undelivered}", "yellow")
        if run is None:
            return
        for note in end_notes(run):
            self._note(note)
        self._screen.line()
        self._screen.line(end_line(run, self._style))
        if ended["class"] == "completed":
            return
        detail = text.clean(ended["detail"] or "").strip()
        if detail and ended["detail"] != self._detail:
            self._block(detail)
        again = self._again or (again_command(self._start, run) if self._start else "")
        if again:
            self._screen.command(again_label(run), text.clean(again))


def last_lines(words: object) -> list[str]:
    """List the last lines of what a run reports, after a mark where there are more."""
    lines = text.clean(words).strip("\n").splitlines()
    return lines if len(lines) <= TAIL_LINES else ["…", *lines[-TAIL_LINES:]]


def _tell_beside(words: str) -> None:
    """Repeat on standard error, for the person, what would stand in a pipe or a file alone."""
    if text.is_terminal(sys.stderr) and not text.is_terminal(sys.stdout):
        text.tell(f"podium: {words}")
