"""One run: all about it, its log, and how it is steered."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING

from podium import text
from podium.commands.latest import run_meant
from podium.errors import ALREADY_ENDED, Failure, Refusal
from podium.given import given_text
from podium.render.conversation_words import context
from podium.render.history import (
    STALLED,
    History,
    Visits,
    agents,
    as_json,
    kind,
    run_and_history,
    words,
)
from podium.render.question import (
    LISTED_LINES,
    SHOWN_LINES,
    answer_command,
    body,
    choices_of,
    heading,
    listed,
)
from podium.render.run_words import (
    PAUSES,
    advice,
    answered,
    checks,
    end_line,
    facts,
    left_words,
    source,
    spent,
)
from podium.render.spending import Spending
from podium.render.words import run_name
from podium.rpc import follow
from podium.rpc.connection import Connection, call
from podium.rpc.follow import pages

if TYPE_CHECKING:
    from podium import protocol

DONE = {"pause": "Paused", "resume": "Resumed", "cancel": "Cancelled", "interrupt": "Interrupted"}


def log(run_id: str | None, follow_on: bool, json: bool) -> int:
    """``podium runs log``: one line an event."""
    run_id = run_meant(run_id)
    connection = Connection()
    view = follow.JsonView() if json else LogView(run_id)
    if follow_on:

        def following() -> int:
            follow.follow(follow.RunFeed(connection, run_id), view)
            return 0

        return follow.guarded(run_id, following)
    for page in pages(connection, run_id):
        for event in page:
            view.event(event)
    return 0


class LogView(follow.JsonView):
    """Log of a run for people, an event a line: number, time, type and a short text."""

    def __init__(self, run_id: str) -> None:
        self._visits = Visits(run_id)
        self._work = 0.0
        self._spent = Spending()
        self._opened: dict[str, float | None] = {}

    def event(self, event: protocol.Event) -> None:
        """Print the event's line; streamed output is no part of the log."""
        if event.get("seq") is None:
            return
        said = " ".join(
            f"{name}={value}"
            for name, value in self._told(event)
            if value not in ("", event.get("run_id"))
        )
        clock = str(event.get("at"))[11:23]
        kind = text.fold(event.get("type"))
        line = f"{event['seq']:>5}  {text.fold(clock)}  {kind:<16} {said}".rstrip()
        text.emit(f"{text.fold(line, text.columns()) if text.columns() else line}\n")

    def _told(self, event: protocol.Event) -> list[tuple[str, str]]:
        """Render an event's data for its line: plain values, what a step took, how it ended."""
        kind, data = event.get("type"), event["data"]
        told = dict(data)
        if kind == "run.started":
            overrides, _ = told.pop("agent_override", None), told.pop("agent_given", None)
            told["agent"] = overrides or told.get("agent")
        elif kind == "run.ended":
            told = self._end(data)
        elif kind == "edge.taken":
            told = self._took(data) | told
        elif kind == "question.opened":
            self._opened[str(data.get("question_id"))] = text.epoch(event.get("at"))
        elif kind == "question.closed":
            opened = self._opened.pop(str(data.get("question_id")), None)
            closed = text.epoch(event.get("at"))
            after = closed - opened if closed is not None and opened is not None else None
            told = {"after": text.duration(after)} | told
        elif kind == "action.ended":
            told |= data.get("result") or {}
        elif kind == "tool.used":
            told |= {name: (data.get("args") or {}).get(name) for name in ("key", "to", "outcome")}
        elif kind == "turn.ended":
            report = data.get("report") or {}
            told |= {"commit": report.get("commit")}
            if report.get("kind") != "done":
                told |= {"end": report.get("kind"), "detail": report.get("detail")}
        # A terminal cuts the line: what is for programs stands last.
        names = sorted(told, key=lambda name: name.endswith(("_id", "uuid")))
        return [(text.fold(name), _value(name, told[name])) for name in names]

    def _took(self, data: protocol.EdgeTakenData) -> dict[str, object]:
        """Render what the visit took that has just ended."""
        told = {name: data.get(name) for name in ("step", "outcome", "to", "exit")}
        visit = self._visits.next()
        if visit is None:
            return told
        self._count(visit)
        waited = visit["waited_seconds"]
        return told | {
            "work": text.duration(visit["work_seconds"]),
            "waited": text.duration(waited) if waited else None,
            "cost_usd": float(visit["cost_usd"]),
            "tokens": _told(visit["tokens"]),
        }

    def _end(self, data: protocol.RunEndedData) -> dict[str, object]:
        for visit in self._visits.rest():
            self._count(visit)
        ended = data["exit"]
        return {
            "reason": ended["reason"],
            "class": ended["class"],
            "work": text.duration(self._work),
            "cost_usd": self._spent.cost_usd,
            "tokens": _told(self._spent.tokens),
            "detail": ended["detail"],
        }

    def _count(self, visit: protocol.WholeVisit) -> None:
        self._work += visit["work_seconds"]
        self._spent.add(visit["cost_usd"], visit["tokens"])


def _told(tokens: protocol.TokensUsed) -> str | None:
    """Format tokens as a field; ``None`` where no turn tells them."""
    told = text.tokens(tokens)
    return None if told == "-" else told


def _value(name: str, value: object) -> str:
    """Format a value in short; empty for what a line has no room for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}" if name.endswith("_usd") else f"{value:.1f}"
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return text.fold(shlex.join(value), 60)
    return text.fold(value, 60) if isinstance(value, (str, int)) else ""


def _control(verb: str, run_id: str, json: bool) -> int:
    """``podium pause``, ``resume``, ``cancel`` and ``interrupt``."""
    run, already = _controlled(verb, run_id)
    if json:
        return text.emit_json(run)
    what = text.fold(run_name(run), 60)
    what = what if what in (run.get("recipe"), run.get("kind")) else f"'{what}'"
    step = f", step {text.fold(run['step'])}" if run.get("step") else ""
    which = f"{what} {text.short(run.get('run_id'))}{step}"
    if already:
        text.say(f"Nothing to do: {which} {already}.")
        return 0
    if verb == "pause" and run.get("stop") == "pause":
        text.say(f"{which} {PAUSES}.")
        return 0
    status = text.fold(run.get("status"))
    now = "" if (verb, status) == ("cancel", "ended") else f": now {status}"
    text.say(f"{DONE[verb]} {which}{now}.")
    if said := left_words(run):
        text.say(said)
    return 0


def _controlled(verb: str, run_id: str) -> tuple[protocol.Run, str]:
    """Control a run; return it, and its state already where there was nothing to do."""
    if verb in ("pause", "resume"):
        run: protocol.Run = call("runs.get", {"run_id": run_id})
        status = run.get("status")
        if verb == "pause" and (status == "paused" or run.get("paused")):
            return run, "is paused already"
        # One that waits for an answer may be paused as well: the daemon knows.
        if verb == "resume" and status in ("running", "queued") and not run.get("stop"):
            return run, f"is not paused: {text.fold(status)}"
    try:
        match verb:
            case "pause":
                return call("runs.pause", {"run_id": run_id}), ""
            case "resume":
                return call("runs.resume", {"run_id": run_id}), ""
            case "cancel":
                return call("runs.cancel", {"run_id": run_id}), ""
            case "interrupt":
                return call("runs.interrupt", {"run_id": run_id}), ""
    except Refusal as refusal:
        if refusal.code != ALREADY_ENDED or verb not in ("cancel", "interrupt"):
            raise
    run = call("runs.get", {"run_id": run_id})
    end = run.get("exit")
    reason = text.fold(end["reason"]) if end else ""
    return run, f"has ended already: {reason}" if reason else "has ended already"


pause, resume, cancel, interrupt = (partial(_control, verb) for verb in DONE)


def rename(run_id: str, title: str, json: bool) -> int:
    """``podium runs rename``."""
    run: protocol.Run = call("runs.rename", {"run_id": run_id, "title": title})
    words = f"{text.short(run['run_id'])} is now called: {text.fold(run['name'])}"
    return text.report(run, words, json=json)


def steer(run_id: str, words: str, json: bool) -> int:
    """``podium steer``."""
    answer = call("runs.steer", {"run_id": run_id, "text": given_text(words)})
    late = "The turn was over: the message goes into the next prompt."
    words = late if answer["state"] == "too_late" else "The agent has the message."
    return text.report(answer, words, json=json)


def answer(question_id: str, value: str | None, note: str | None, json: bool) -> int:
    """``podium answer``: without a value the choices are shown."""
    if value is None:
        return _show_question(question_id, json)
    value = _meant(question_id, value)
    params: protocol.Answer = {"question_id": question_id, "answer": value}
    if note is not None:
        params["note"] = note
    question = call("questions.answer", params)
    words = f"Answered: {text.fold(question['answer'] or value)}."
    return text.report(question, words if json else words + _still_paused(question), json=json)


def _still_paused(question: protocol.Question) -> str:
    """Say how a run goes on that stays paused after an answer; empty where it goes on by itself."""
    if not question.get("paused"):
        return ""
    return f" The run is paused: 'podium resume {text.short(question['run_id'])}' lets it go on."


def _meant(beginning: str, value: str) -> str:
    """Return the answer that the words stand for.

    They are yes and no where leave is asked for, or a choice by its number. Raises ``Failure`` for
    a number that no choice has.
    """
    from podium.dialog.ask import LEAVE, beyond, chosen

    leave = value.casefold() in LEAVE
    found = _open_questions(beginning) if leave or value.strip('"').isdecimal() else []
    if len(found) != 1 or (leave and found[0].get("kind") != "approval"):
        return value
    if wrong := beyond(found[0], value):
        raise Failure(wrong, exit_code=2)
    return chosen(found[0], value)


def _open_questions(beginning: str) -> list[protocol.Question]:
    listed: list[protocol.Question] = call("questions.list")
    return [one for one in listed if str(one.get("question_id")).startswith(beginning)]


def _show_question(beginning: str, json: bool) -> int:
    found = _open_questions(beginning)
    if len(found) != 1:
        many = "More than one open question begins with" if found else "There is no open question"
        raise Failure(f"{many} '{text.fold(beginning)}': 'podium questions' lists them.")
    (question,) = found
    if json:
        return text.emit_json(question)
    asks = question.get("kind") == "ask"
    lines = listed(question, SHOWN_LINES) if asks else body(question)
    said = "\n".join([heading(question), *(f"    {line}" for line in lines)]) + "\n"
    choices = choices_of(question)
    if choices and not asks:
        said += "\n" + text.table(("ANSWER", "MEANING"), choices, text.columns())
    text.emit(f"{said}\n")
    text.say(f"Answer with: {answer_command(question)}")
    return 0


HEADINGS = (
    "VISIT",
    "STEP",
    "AGENT",
    "OUTCOME",
    "SOURCE",
    "REPLIES",
    "WORK",
    "WAITED",
    "COST",
    "TOKENS",
    "CHECKS",
    "DESCRIPTION",
)


def show(run_id: str | None, json: bool) -> int:
    """``podium runs show``."""
    run, history = run_and_history(run_meant(run_id))
    if json:
        return text.emit_json({**run, "steps": as_json(history)})
    style = text.Style(sys.stdout)
    head = [(name, text.fold(said)) for name, said in facts(run, history)]
    shown = [text.block(head, text.columns(), style) + "\n"]
    if history.steps:
        shown.append("\n" + _table(history))
    if run.get("ctx"):
        shown.append("\n" + text.table(("SAVED", "VALUE"), context(run["ctx"]), text.columns()))
    shown += [f"\n{style('yellow', line)}\n" for line in _stalled(history)]
    shown += [_closed(one, history.until) for one in history.questions if one["closed"]]
    shown += [_open(one) for one in run.get("questions") or []]
    if end := run.get("exit"):
        shown.append(f"\n{end_line(run, style)}\n")
        if end["detail"]:
            lines = text.clean(end["detail"]).strip("\n").splitlines()
            shown += [f"    {line}\n" for line in lines]
    shown += [f"  {line}\n" for line in advice(run, history)]
    text.emit("".join(shown))
    return 0


def _table(history: History) -> str:
    """Format the visits as a table, without the columns that are empty for all of them."""
    rows = [_row(step) for step in history.steps]
    told_of = [
        column
        for column, name in enumerate(HEADINGS)
        if name in ("VISIT", "STEP", "OUTCOME", "SOURCE")
        or (name == "AGENT" and len(history.agents) > 1)  # the head names a single one
        or (name != "AGENT" and any(row[column] not in ("", "-") for row in rows))
    ]
    shown = [[row[column] for column in told_of] for row in rows]
    return text.table([HEADINGS[column] for column in told_of], shown, text.columns())


def _row(step: protocol.WholeVisit) -> tuple[str, ...]:
    return (
        str(step["visit"]),
        step["step"],
        ", ".join(agents(step)) or "-",
        step["outcome"] or "-",
        source(step) or "-",
        str(step["attempts"] or "-"),
        text.duration(step["work_seconds"]) if step["turns"] or step["commands"] else "-",
        spent(step["waited_seconds"]) or "-",
        text.money(step["cost_usd"]) if step["turns"] else "-",
        text.tokens(step["tokens"]),
        checks(step) or "-",
        step["description"] or "",
    )


def _stalled(history: History) -> list[str]:
    """List a warning for each visit that ended as an earlier one did."""
    return [
        f"⚠ {STALLED}: visit {step['visit']} of '{text.fold(step['step'])}': "
        f"{text.fold(words(note))}"
        for step in history.steps
        for note in step["notes"]
        if kind(note) == STALLED
    ]


def _closed(asked: protocol.VisitQuestion, until: float) -> str:
    return f"\n? {heading(asked['opened'])}\n    {answered(asked, until)}\n"


def _open(question: protocol.Question) -> str:
    lines = [f"    {one}" for one in listed(question, LISTED_LINES)]
    return "\n".join(["", f"? {heading(question)}", *lines, f"  {answer_command(question)}", ""])
