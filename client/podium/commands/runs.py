"""The log of one run, and steering it: log, pause, resume, cancel, interrupt, steer, answer."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from podium import text
from podium.commands.latest import run_meant
from podium.errors import ALREADY_ENDED, Failure, Refusal
from podium.given import given_text
from podium.render.diff_words import left_words
from podium.render.history import Visits
from podium.render.narrate import PAUSES
from podium.render.question import SHOWN_LINES, answer_command, body, choices_of, heading, listed
from podium.rpc import follow
from podium.rpc.connection import Connection, call
from podium.rpc.fetch import pages

if TYPE_CHECKING:
    from podium.protocol import WholeVisit

Json = dict[str, Any]

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
        self._work = self._cost = 0.0
        self._opened: dict[str, float | None] = {}

    def event(self, event: Json) -> None:
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

    def _told(self, event: Json) -> list[tuple[str, str]]:
        """Render an event's data for its line: plain values, what a step took, how it ended."""
        kind, data = event.get("type"), event.get("data") or {}
        told = dict(data)
        if kind == "run.started":
            given = told.pop("agent_override", None)
            told["agent"] = given or told.get("agent")
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

    def _took(self, data: Json) -> Json:
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
        }

    def _end(self, data: Json) -> Json:
        for visit in self._visits.rest():
            self._count(visit)
        ended = data.get("exit") or (data.get("run") or {}).get("exit") or {}
        return {
            "reason": ended.get("reason"),
            "class": ended.get("class"),
            "work": text.duration(self._work),
            "cost_usd": self._cost,
            "detail": ended.get("detail"),
        }

    def _count(self, visit: WholeVisit) -> None:
        self._work += visit["work_seconds"]
        self._cost += visit["cost_usd"]


def _value(name: str, value: object) -> str:
    """Format a value in short; empty for what a line has no room for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}" if name.endswith("_usd") else f"{value:.1f}"
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return text.fold(shlex.join(value), 60)
    return text.fold(value, 60) if isinstance(value, (str, int)) else ""


def control(verb: str, run_id: str, json: bool) -> int:
    """``podium pause``, ``resume``, ``cancel`` and ``interrupt``."""
    run, already = _controlled(verb, run_id)
    if json:
        text.emit_json(run)
        return 0
    what = text.fold(run.get("recipe") or run.get("kind"))
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


def _controlled(verb: str, run_id: str) -> tuple[Json, str]:
    """Control a run; return it, and its state already where there was nothing to do."""
    if verb in ("pause", "resume"):
        run: Json = call("runs.get", {"run_id": run_id})
        status = run.get("status")
        if (verb, status) == ("pause", "paused"):
            return run, "is paused already"
        # One that waits for an answer may be paused as well: the daemon knows.
        if verb == "resume" and status in ("running", "queued") and not run.get("stop"):
            return run, f"is not paused: {text.fold(status)}"
    try:
        return call(f"runs.{verb}", {"run_id": run_id}), ""
    except Refusal as refusal:
        if refusal.code != ALREADY_ENDED or verb not in ("cancel", "interrupt"):
            raise
    run = call("runs.get", {"run_id": run_id})
    reason = text.fold((run.get("exit") or {}).get("reason") or "")
    return run, f"has ended already: {reason}" if reason else "has ended already"


def pause(run_id: str, json: bool) -> int:
    """``podium pause``."""
    return control("pause", run_id, json)


def resume(run_id: str, json: bool) -> int:
    """``podium resume``."""
    return control("resume", run_id, json)


def cancel(run_id: str, json: bool) -> int:
    """``podium cancel``."""
    return control("cancel", run_id, json)


def interrupt(run_id: str, json: bool) -> int:
    """``podium interrupt``."""
    return control("interrupt", run_id, json)


def rename(run_id: str, title: str, json: bool) -> int:
    """``podium runs rename``."""
    run: Json = call("runs.rename", {"run_id": run_id, "title": title})
    if json:
        text.emit_json(run)
    else:
        text.say(f"{text.short(run['run_id'])} is now called: {text.fold(run['name'])}")
    return 0


def steer(run_id: str, words: str, json: bool) -> int:
    """``podium steer``."""
    said = given_text(words)
    answer: Json = call("runs.steer", {"run_id": run_id, "text": said})
    if json:
        text.emit_json(answer)
    elif answer.get("state") == "too_late":
        text.say("The turn was over: the message goes into the next prompt.")
    else:
        text.say("The agent has the message.")
    return 0


def answer(question_id: str, value: str | None, note: str | None, json: bool) -> int:
    """``podium answer``: without a value the choices are shown."""
    if value is None:
        return _show_question(question_id, json)
    value = _meant(question_id, value)
    params = {"question_id": question_id, "answer": value}
    if note is not None:
        params["note"] = note
    question: Json = call("questions.answer", params)
    if json:
        text.emit_json(question)
    else:
        text.say(f"Answered: {text.fold(question.get('answer') or value)}.")
    return 0


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


def _open_questions(beginning: str) -> list[Json]:
    listed: list[Json] = call("questions.list")
    return [one for one in listed if str(one.get("question_id")).startswith(beginning)]


def _show_question(beginning: str, json: bool) -> int:
    found = _open_questions(beginning)
    if len(found) != 1:
        many = "More than one open question begins with" if found else "There is no open question"
        raise Failure(f"{many} '{text.fold(beginning)}': 'podium questions' lists them.")
    (question,) = found
    if json:
        text.emit_json(question)
        return 0
    asks = question.get("kind") == "ask"
    lines = listed(question, SHOWN_LINES) if asks else body(question)
    said = "\n".join([heading(question), *(f"    {line}" for line in lines)]) + "\n"
    choices = choices_of(question)
    if choices and not asks:
        said += "\n" + text.table(("ANSWER", "MEANING"), choices, text.columns())
    text.emit(f"{said}\n")
    text.say(f"Answer with: {answer_command(question)}")
    return 0
