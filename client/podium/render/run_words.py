"""Words about a run and its visits, on a terminal and on a page alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from podium import text
from podium.render.beginnings import again_command, again_label
from podium.render.diff_words import left_words, worktree_notes
from podium.render.history import History, failed_checks
from podium.render.narrate import ANSWERED_BY, PAUSES, closed_words
from podium.render.question import answer_words, choices_of
from podium.render.words import home_relative, status_words
from podium.rpc.conversation_state import attach_command, say_command, waits_for_words

if TYPE_CHECKING:
    from podium.protocol import WholeVisit

Json = dict[str, Any]


def facts(run: Json, history: History) -> list[tuple[str, str]]:
    """List the head of a run: names and their values, empty where there is none."""
    step, visits = run.get("step"), run.get("visits") or {}
    most = (run.get("limits") or {}).get("max_total_steps")
    steps = f"{step} (visit {visits.get(step, 1)}), step {run.get('step_count')}"
    params = run.get("params") or {}
    parked = f" until {run['parked_until']}" if run.get("parked_until") else ""
    end = run.get("exit") or {}
    return [
        ("run", str(run.get("run_id"))),
        ("name", str(run.get("name") or "")),
        ("recipe", str(run.get("recipe") or "")),
        ("status", f"{status_words(run)}{parked}"),
        ("end", ended_as(end)),
        ("step", steps + (f" of {most}" if most else "") if step else ""),
        ("session", str(run.get("session_id") or "")),
        ("directory", home_relative(run.get("working_directory"))),
        ("agent", str(run.get("agent") or "")),
        ("model", str(run.get("model") or "")),
        ("params", ", ".join(f"{name}={value}" for name, value in params.items())),
        ("turns", str(run.get("turns", ""))),
        ("cost", text.money(run.get("cost_usd"))),
        ("work", spent(sum(one["work_seconds"] for one in history.steps))),
        ("waited", spent(sum(one["waited_seconds"] for one in history.steps))),
        ("stood", spent(sum(one["still_seconds"] for one in history.steps))),
        ("started", f"{text.ago(run.get('started_at'))} ({run.get('started_at')})"),
        ("ended", str(run.get("ended_at") or "")),
    ]


ENDED_AS = {
    "needs-user": "it needs a person",
    "blocked": "it could not go on",
    "guardrail": "a limit stopped it",
    "checks-failed": "its checks failed",
    "error": "it failed",
}
"""How a run ended, by its exit's class, where that is no word of everyday."""


def ended_as(end: Json) -> str:
    """Describe how a run ended, in plain words; empty for one that goes on."""
    kind = str(end.get("class") or "")
    return ENDED_AS.get(kind, kind)


def spent(seconds: float) -> str:
    """Format a length of time; empty where there is none."""
    return text.duration(seconds) if seconds else ""


def source(step: WholeVisit) -> str:
    """Return the source of a visit's outcome: ``text, repaired``; empty where there is none."""
    return f"{step['source'] or ''}{', repaired' if step['repaired'] else ''}"


def checks(step: WholeVisit) -> str:
    """Summarise the checks of a visit: ``2 passed``, ``1 of 2 failed``; empty without any."""
    ended = sum(one["passed"] is not None for one in step["commands"])
    failed = failed_checks(step)
    if not ended:
        return ""
    return f"{failed} of {ended} failed" if failed else f"{ended} passed"


def answered(question: Json, until: float) -> str:
    """Describe what became of a question, by whom, and how long that took."""
    opened, closed = text.epoch(question.get("opened_at")), text.epoch(question.get("closed_at"))
    took = "" if opened is None else f", after {text.duration((closed or until) - opened)}"
    if not question.get("closed"):
        return f"open{took.replace('after', 'for')}"
    if question.get("answer") is None:
        return f"{closed_words(question)}{took}"
    given = answer_words(question["answer"])
    label = dict(choices_of(question)).get(given)
    meaning = f" ({text.fold(label)})" if label and label.casefold() != given.casefold() else ""
    by = ANSWERED_BY.get(str(question.get("by")), f" by {text.fold(question.get('by'))}")
    note = f": {text.fold(question['note'])}" if question.get("note") else ""
    return f"answered {given}{meaning}{by}{took}{note}"


def advice(run: Json, history: History) -> list[str]:
    """List what a person does next, a sentence or a command a line."""
    run_id, kind = text.short(run.get("run_id")), (run.get("exit") or {}).get("class")
    lines = [f"Not delivered: {text.fold(words)}" for words in history.undelivered]
    if kind is None:
        doing = {
            "paused": f"Go on: podium resume {run_id}",
            "parked": f"It goes on by itself; at once: podium resume {run_id}",
            "running": f"Follow it: podium attach {run_id}",
        }
        if waits_for_words(run):
            doing["waiting"] = f"It is your turn: {say_command(run)}, or {attach_command(run)}"
        if run.get("stop") == "pause":
            lines.append(f"It {PAUSES}; not after all: podium resume {run_id}")
        return [*lines, doing[run["status"]]] if run.get("status") in doing else lines
    if kind in ("needs-user", "blocked") and run.get("session_id") and run.get("turns"):
        lines.append(f"Talk to the agent: podium prompt --session {run['session_id']} TEXT")
    failed = [
        one for step in history.steps[-1:] for one in step["commands"] if one["passed"] is False
    ]
    lines += [f"The whole output: {text.fold(one['log'])}" for one in failed if one["log"]]
    if kind == "error":
        lines.append(f"Look closer: podium runs log {run_id}")
    if kind == "guardrail":
        lines.append("A limit ended it: what is there stays, and a new run counts anew.")
    if said := left_words(run):
        lines.append(said)
    if os.path.lexists((run.get("worktree") or {}).get("directory") or ""):
        lines += [f"{note[:1].upper()}{note[1:]}" for note in worktree_notes(run)]
    again = again_command(history.start, run) if history.start and kind != "completed" else ""
    return [*lines, f"{again_label(run)} {text.clean(again)}"] if again else lines
