"""``podium runs show``: all about one run, for a person."""

from __future__ import annotations

import sys
import time
from typing import Any

from podium import text
from podium.commands.latest import run_meant
from podium.render.conversation_words import context
from podium.render.history import STALLED, History, as_json, told
from podium.render.narrate import end_line
from podium.render.question import LISTED_LINES, answer_command, heading, listed
from podium.render.run_words import advice, answered, checks, facts, source, spent
from podium.render.visits import Step
from podium.rpc.fetch import fetched

Json = dict[str, Any]

HEADINGS = (
    "VISIT",
    "STEP",
    "OUTCOME",
    "SOURCE",
    "REPLIES",
    "WORK",
    "WAITED",
    "COST",
    "CHECKS",
    "DESCRIPTION",
)


def show(run_id: str | None, json: bool) -> int:
    """``podium runs show``."""
    run, events = fetched(run_meant(run_id))
    history, now = told(events), time.time()
    if json:
        text.emit_json({**run, "steps": as_json(history, now)})
        return 0
    style = text.Style(sys.stdout)
    head = [(name, text.fold(said)) for name, said in facts(run, history, now)]
    shown = [text.block(head, text.columns(), style) + "\n"]
    if history.steps:
        shown.append("\n" + _table(history, history.until(now)))
    if run.get("ctx"):
        shown.append("\n" + text.table(("SAVED", "VALUE"), context(run["ctx"]), text.columns()))
    shown += [f"\n{style('yellow', line)}\n" for line in _stalled(history)]
    shown += [_question(one, history.until(now)) for one in _questions(run, history)]
    if run.get("exit"):
        shown.append(f"\n{end_line(run, style)}\n")
        if run["exit"].get("detail"):
            lines = text.clean(run["exit"]["detail"]).strip("\n").splitlines()
            shown += [f"    {line}\n" for line in lines]
    shown += [f"  {line}\n" for line in advice(run, history)]
    text.emit("".join(shown))
    return 0


def _table(history: History, until: float) -> str:
    """The visits as lines; a column that says nothing of any of them is left out."""
    rows = [_row(step, until) for step in history.steps]
    told_of = [
        column
        for column in range(len(HEADINGS))
        if column < 4 or any(row[column] not in ("", "-") for row in rows)
    ]
    shown = [[row[column] for column in told_of] for row in rows]
    return text.table([HEADINGS[column] for column in told_of], shown, text.columns())


def _row(step: Step, until: float) -> tuple[str, ...]:
    return (
        str(step.visit),
        step.step,
        step.outcome or "-",
        source(step) or "-",
        str(step.attempts or "-"),
        text.duration(step.work_seconds) if step.turns or step.commands else "-",
        spent(step.waited_seconds(until)) or "-",
        text.money(step.cost_usd) if step.turns else "-",
        checks(step) or "-",
        step.description or "",
    )


def _stalled(history: History) -> list[str]:
    """What is said of each visit that ended as an earlier one did."""
    return [
        f"⚠ {STALLED}: visit {step.visit} of '{text.fold(step.step)}': {text.fold(note.text)}"
        for step in history.steps
        for note in step.notes
        if note.kind == STALLED
    ]


def _questions(run: Json, history: History) -> list[Json]:
    """The closed questions of the history, then the open ones as the daemon tells them."""
    still_open = run.get("questions") or []
    return [one for one in history.questions if one["closed"]] + still_open


def _question(question: Json, until: float) -> str:
    lines = [f"? {heading(question)}"]
    if question.get("closed"):
        lines.append(f"    {answered(question, until)}")
    else:
        lines += [f"    {one}" for one in listed(question, LISTED_LINES)]
        lines.append(f"  {answer_command(question)}")
    return "\n" + "\n".join(lines) + "\n"
