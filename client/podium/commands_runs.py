"""Looking at one run, and steering it: show, log, pause, resume, cancel, interrupt, steer."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from podium import follow, text
from podium.commands_start import given_text
from podium.connection import Connection, call
from podium.errors import Failure
from podium.narrate import end_line
from podium.question import LISTED_LINES, answer_command, body, choices_of, heading
from podium.views import home_relative

Json = dict[str, Any]

PAGE = 500
DONE = {"pause": "Pausing", "resume": "Resumed", "cancel": "Cancelled", "interrupt": "Interrupted"}


def show(run_id: str, json: bool) -> int:
    """``podium runs show``."""
    run: Json = call("runs.get", {"run_id": run_id})
    if json:
        text.emit_json(run)
        return 0
    style = text.Style(sys.stdout)
    shown = [
        f"{style('bold', name.ljust(9))}  {text.fold(said)}\n" for name, said in _facts(run) if said
    ]
    history = run.get("history") or []
    if history:
        headings = ("VISIT", "STEP", "OUTCOME", "SOURCE", "REPLIES", "AT", "DESCRIPTION")
        shown.append("\n" + text.table(headings, map(_history_row, history), text.columns()))
    for question in run.get("questions") or []:
        lines = [f"? {heading(question)}", *(f"    {one}" for one in body(question, LISTED_LINES))]
        shown.append("\n" + "\n".join([*lines, f"  {answer_command(question)}"]) + "\n")
    if run.get("exit"):
        shown.append(f"\n{end_line(run, style)}\n")
        if run["exit"].get("detail"):
            shown.append(f"{text.clean(run['exit']['detail'])}\n")
    text.emit("".join(shown))
    return 0


def _facts(run: Json) -> list[tuple[str, str]]:
    step, visits = run.get("step"), run.get("visits") or {}
    most = (run.get("limits") or {}).get("max_total_steps")
    steps = f"{step} (visit {visits.get(step, 1)}), step {run.get('step_count')}"
    params = run.get("params") or {}
    parked = f" until {run['parked_until']}" if run.get("parked_until") else ""
    return [
        ("run", str(run.get("run_id"))),
        ("recipe", str(run.get("recipe") or "")),
        ("status", f"{run.get('status')}{parked}"),
        ("step", steps + (f" of {most}" if most else "") if step else ""),
        ("session", str(run.get("session_id") or "")),
        ("directory", home_relative(run.get("working_directory"))),
        ("agent", str(run.get("agent") or "")),
        ("params", ", ".join(f"{name}={value}" for name, value in params.items())),
        ("turns", str(run.get("turns", ""))),
        ("cost", text.money(run.get("cost_usd"))),
        ("started", f"{text.ago(run.get('started_at'))} ({run.get('started_at')})"),
        ("ended", str(run.get("ended_at") or "")),
    ]


def _history_row(entry: Json) -> tuple[str, ...]:
    return (
        str(entry.get("visit", "")),
        str(entry.get("step", "")),
        str(entry.get("outcome") or "-"),
        str(entry.get("source") or "-"),
        str(entry.get("attempts", "")),
        text.ago(entry.get("at")),
        str(entry.get("description") or ""),
    )


def log(run_id: str, follow_on: bool, json: bool) -> int:
    """``podium runs log``: one line an event."""
    connection = Connection()
    view = follow.JsonView() if json else LogView()
    if follow_on:

        def following() -> int:
            follow.follow(follow.Feed(connection, run_id), view)
            return 0

        return follow.guarded(run_id, following)
    after = 0
    while True:
        page = connection.call("runs.events", {"run_id": run_id, "after_seq": after})
        for event in page["events"]:
            view.event(event)
        if not page["events"] or page["next_seq"] <= after:
            return 0
        after = page["next_seq"]


class LogView(follow.JsonView):
    """An event a line for people: number, time, type and what can be said in short."""

    def event(self, event: Json) -> None:
        """Print the event's line; streamed output is no part of the log."""
        if event.get("seq") is None:
            return
        said = " ".join(
            f"{name}={value}"
            for name, value in _told(str(event.get("type")), event.get("data") or {})
            if value not in ("", event.get("run_id"))
        )
        clock = str(event.get("at"))[11:23]
        kind = text.fold(event.get("type"))
        line = f"{event['seq']:>5}  {text.fold(clock)}  {kind:<16} {said}".rstrip()
        text.emit(f"{text.fold(line, text.columns()) if text.columns() else line}\n")


def _told(kind: str, data: Json) -> list[tuple[str, str]]:
    """What an event's line says of its data: what is plain, and how a turn or a run ended."""
    told = dict(data)
    if kind == "run.ended":
        ended = data.get("exit") or (data.get("run") or {}).get("exit") or {}
        told = {"reason": ended.get("reason"), "class": ended.get("class")}
        told["detail"] = ended.get("detail")
    elif kind == "turn.ended":
        report = data.get("report") or {}
        if report.get("kind") != "done":
            told |= {"end": report.get("kind"), "detail": report.get("detail")}
    # A terminal cuts the line: what is for programs stands last.
    names = sorted(told, key=lambda name: name.endswith(("_id", "uuid")))
    return [(text.fold(name), _value(name, told[name])) for name in names]


def _value(name: str, value: object) -> str:
    """A value in short; empty for what a line has no room for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}" if name.endswith("_usd") else f"{value:.1f}"
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return text.fold(shlex.join(value), 60)
    return text.fold(value, 60) if isinstance(value, (str, int)) else ""


def control(verb: str, run_id: str, json: bool) -> int:
    """``podium pause``, ``resume``, ``cancel`` and ``interrupt``."""
    run: Json = call(f"runs.{verb}", {"run_id": run_id})
    if json:
        text.emit_json(run)
        return 0
    what = text.fold(run.get("recipe") or run.get("kind"))
    step = f", step {text.fold(run['step'])}" if run.get("step") else ""
    status = text.fold(run.get("status"))
    text.emit(f"{DONE[verb]} {what} {text.short(run.get('run_id'))}{step}: now {status}.\n")
    return 0


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


def steer(run_id: str, words: str, json: bool) -> int:
    """``podium steer``."""
    said = given_text(words)
    answer: Json = call("runs.steer", {"run_id": run_id, "text": said})
    if json:
        text.emit_json(answer)
    elif answer.get("state") == "too_late":
        text.emit("The turn was over: the message goes into the next prompt.\n")
    else:
        text.emit("The agent has the message.\n")
    return 0


def answer(question_id: str, value: str | None, note: str | None, json: bool) -> int:
    """``podium answer``: without a value the choices are shown."""
    if value is None:
        return _show_question(question_id, json)
    params = {"question_id": question_id, "answer": value}
    if note is not None:
        params["note"] = note
    question: Json = call("questions.answer", params)
    if json:
        text.emit_json(question)
    else:
        text.emit(f"Answered: {text.fold(question.get('answer') or value)}.\n")
    return 0


def _show_question(beginning: str, json: bool) -> int:
    listed: list[Json] = call("questions.list")
    found = [one for one in listed if str(one.get("question_id")).startswith(beginning)]
    if len(found) != 1:
        many = "More than one open question begins with" if found else "There is no open question"
        raise Failure(f"{many} '{text.fold(beginning)}': 'podium questions' lists them.")
    (question,) = found
    if json:
        text.emit_json(question)
        return 0
    said = "\n".join([heading(question), *(f"    {line}" for line in body(question))]) + "\n"
    choices = choices_of(question)
    if choices:
        said += "\n" + text.table(("ANSWER", "MEANING"), choices)
    text.emit(f"{said}\nAnswer with: {answer_command(question)}\n")
    return 0
