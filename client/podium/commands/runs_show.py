"""``podium runs show``: all about one run, for a person."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from podium import text
from podium.commands.latest import run_meant
from podium.render.conversation_words import context
from podium.render.history import STALLED, History, as_json, kind, run_and_history, words
from podium.render.narrate import end_line
from podium.render.question import LISTED_LINES, answer_command, heading, listed
from podium.render.run_words import advice, answered, checks, facts, source, spent

if TYPE_CHECKING:
    from podium.protocol import WholeVisit

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
    run, history = run_and_history(run_meant(run_id))
    if json:
        text.emit_json({**run, "steps": as_json(history)})
        return 0
    style = text.Style(sys.stdout)
    head = [(name, text.fold(said)) for name, said in facts(run, history)]
    shown = [text.block(head, text.columns(), style) + "\n"]
    if history.steps:
        shown.append("\n" + _table(history))
    if run.get("ctx"):
        shown.append("\n" + text.table(("SAVED", "VALUE"), context(run["ctx"]), text.columns()))
    shown += [f"\n{style('yellow', line)}\n" for line in _stalled(history)]
    shown += [_question(one, history.until) for one in _questions(run, history)]
    if run.get("exit"):
        shown.append(f"\n{end_line(run, style)}\n")
        if run["exit"].get("detail"):
            lines = text.clean(run["exit"]["detail"]).strip("\n").splitlines()
            shown += [f"    {line}\n" for line in lines]
    shown += [f"  {line}\n" for line in advice(run, history)]
    text.emit("".join(shown))
    return 0


def _table(history: History) -> str:
    """Format the visits as a table, without the columns that are empty for all of them."""
    rows = [_row(step) for step in history.steps]
    told_of = [
        column
        for column in range(len(HEADINGS))
        if column < 4 or any(row[column] not in ("", "-") for row in rows)
    ]
    shown = [[row[column] for column in told_of] for row in rows]
    return text.table([HEADINGS[column] for column in told_of], shown, text.columns())


def _row(step: WholeVisit) -> tuple[str, ...]:
    return (
        str(step["visit"]),
        step["step"],
        step["outcome"] or "-",
        source(step) or "-",
        str(step["attempts"] or "-"),
        text.duration(step["work_seconds"]) if step["turns"] or step["commands"] else "-",
        spent(step["waited_seconds"]) or "-",
        text.money(step["cost_usd"]) if step["turns"] else "-",
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


def _questions(run: Json, history: History) -> list[Json]:
    """Return the closed questions of the history, then the open ones from the daemon."""
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
