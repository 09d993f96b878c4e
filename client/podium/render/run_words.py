"""Words about a run, from its start to its end, on a terminal and on a page alike."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from podium import text
from podium.render.history import History, failed_checks
from podium.render.question import answer_words, choices_of
from podium.render.words import end_sign, home_relative, status_words
from podium.rpc.conversation_state import attach_command, say_command, waits_for_words

if TYPE_CHECKING:
    from podium import protocol

END_COLOURS = {"✓": "green", "✗": "red", "⚠": "yellow"}

PAUSES = "will pause at the end of its turn, command or check"

CLOSED_AS = {"expired": "closed, for its run has ended", "superseded": "withdrawn"}
"""End of a question without an answer, in words, by the daemon's word for it."""
ANSWERED_BY = {"None": "", "local": " on this machine", "always": " by an earlier 'always'"}

PREVIEW_CHARACTERS = 120


def first_line(started: protocol.RunStartedData) -> str:
    """Name what was begun: ``implement-and-review: Add unicode slugs``, a plain prompt by its
    words."""
    if started.get("kind") == "prompt":
        return f"Prompt: {text.fold(started.get('first_prompt'), PREVIEW_CHARACTERS)}"
    return text.fold(started.get("name") or started.get("label") or started.get("recipe"))


def title_of(run: protocol.Run | None, started: protocol.RunStartedData | None) -> str:
    """Return the title that a run has got since it began; empty where it has none."""
    name = text.fold(run.get("name") or "") if run else ""
    return "" if started is None or name == text.fold(started.get("name") or name) else name


def first_note(started: protocol.RunStartedData, *, watched: bool) -> str:
    """Describe the run: its id, place and bounds; at a terminal, how to leave it."""
    limits, kind, bounds = started.get("limits"), started.get("kind"), []
    if limits and limits["max_total_steps"]:
        bounds.append(f"{limits['max_total_steps']} steps")
    if limits and limits["max_minutes"]:
        bounds.append(f"{limits['max_minutes']:g} minutes")
    said = [
        f"run {text.short(started.get('run_id'))}",
        f"session {text.short(started.get('session_id'))}",
        text.fold(home_relative(started.get("working_directory"))),
        f"at most {', '.join(bounds)}" if bounds else "",
        "Ctrl-C leaves it running" if watched and kind != "prompt" else "",
    ]
    return " · ".join(filter(None, said))


def _to_mend(run: protocol.Run) -> bool:
    """Return whether an error of one line ended a run.

    The line states what to do, and as long as the error stands, the next run ends as this one.
    """
    ended = run.get("exit")
    if not ended or ended["reason"] != "error":
        return False
    detail = (ended["detail"] or "").strip()
    return bool(detail) and "\n" not in detail


def again_label(run: protocol.Run) -> str:
    """Return the label before the command that begins a run again."""
    return "First fix the cause, then run it again:" if _to_mend(run) else "Run it again:"


def again_command(started: protocol.RunStartedData, run: protocol.Run) -> str:
    """Build the command that does the same again from ``run.started`` and the run; may be empty."""
    worktree = started.get("worktree")
    place = worktree["repository"] if worktree else str(run.get("working_directory"))
    agent = started.get("agent_given") or started.get("agent_override")
    options = [
        "--cwd",
        place,
        *(["--model", str(started["model"])] if started.get("model") else []),
    ]
    script = ["--script", str(started["script"])] if started.get("script") else []
    if started.get("kind") == "prompt":
        said = str(started.get("text") or "")
        if len(said) > PREVIEW_CHARACTERS or not said.isprintable() or said[:1] in ("", "-"):
            return ""  # nothing that can be typed again as it stands
        options += ["--agent", str(run.get("agent")), *script]
        options += [word for one in started.get("images") or () for word in ("--file", one["file"])]
        return shlex.join(["podium", "prompt", *options, said])
    given = {name: value for name, value in (run.get("params") or {}).items() if value != ""}
    for name, value in given.items():
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        options += ["-p", f"{name}={shown}"]
    options += ["--agent", str(agent)] if agent else []
    options += script
    options += ["--worktree"] if worktree else []
    options += ["--on-question", "fail"] if started.get("on_question") == "fail" else []
    return shlex.join(["podium", "run", str(run.get("recipe")), *options])


NAMED = 5
"""Files that a line names; of the others it has the number."""

_CHANGES = {"added": "new", "deleted": "deleted", "type": "another kind", "conflict": "conflict"}


def named(file: protocol.DiffFile) -> str:
    """Name a file, with what was done to it where that is more than changing it."""
    path, change = text.fold(file.get("path")), str(file.get("change"))
    if file.get("before"):
        path = f"{text.fold(file['before'])} → {path}"
    said = [_CHANGES.get(change, "")]
    said += [f"mode {text.fold(file['mode'])}"] if file.get("mode") else []
    said += ["changed before the run too"] if file.get("changed_before") else []
    more = ", ".join(one for one in said if one)
    return f"{path} ({more})" if more else path


def counts(file: protocol.DiffFile) -> tuple[str, str]:
    """Return how many lines were added and deleted; a file that is no text has none."""
    if file.get("added") is None:
        return "binary", ""
    return f"+{file['added']}", f"-{file['deleted']}"


def parts_of(diff: protocol.Diff) -> list[tuple[protocol.DiffPart, str]]:
    """Return what is in the run's commits and what is not, each with its heading."""
    return [(diff["committed"], "In its commits"), (diff["uncommitted"], "Not committed")]


def notes(diff: protocol.Diff) -> list[str]:
    """List what a reader of a run's changes has to know of them."""
    said = []
    if diff.get("rewritten"):
        said.append(
            "Its branch was rewritten since (a rebase, for example): what came from elsewhere "
            "with that is among the changes."
        )
    if diff.get("gone"):
        said.append("Its worktree is gone: only its commits are shown.")
    return said


def left_words(run: protocol.Run) -> str:
    """Describe in a line what a run left uncommitted at its end; empty where that is nothing."""
    left = run.get("left")
    if left and left["problem"]:
        return f"What it left uncommitted is not known: {text.fold(left['problem'])}"
    if not left or not (left["paths"] or left["more"]):
        return ""
    return f"Left uncommitted: {some(left)} (podium diff {text.short(run.get('run_id'))})"


def some(left: protocol.Left | protocol.LeftPaths) -> str:
    """Name the first files of a list, and how many there are beside them."""
    paths = [text.fold(path) for path in left["paths"]]
    more = len(paths[NAMED:]) + left["more"]
    names = ", ".join(paths[:NAMED])
    return f"{names} and {more} more" if more else names


def end_notes(run: protocol.Run) -> list[str]:
    """List the notes at a run's end about the work that it leaves."""
    left = left_words(run)
    return [*([f"{left[:1].lower()}{left[1:]}"] if left else []), *worktree_notes(run)]


def worktree_notes(run: protocol.Run) -> list[str]:
    """Describe where a run's worktree is, how to take its work out, and how to remove it."""
    tree, named = run.get("worktree"), text.short(run.get("run_id"))
    if not tree:
        return []
    where, branch = text.fold(tree.get("directory")), text.fold(tree.get("branch"))
    if not os.path.isdir(str(tree.get("directory"))):
        return [f"its worktree is gone from {where}; its branch was {branch}"]
    stays = f"its worktree stays: {where}, branch {branch}"
    left = run.get("left")
    if left and left["head"] and left["head"] == run.get("base"):
        return [stays, f"it has no commit of its own: podium worktree remove {named}"]
    take = f"take its work: podium worktree merge {named}; podium worktree remove {named}"
    return [stays, take]


def facts(run: protocol.Run, history: History) -> list[tuple[str, str]]:
    """List the head of a run: names and their values, empty where there is none."""
    step, visits = run.get("step") or "", run.get("visits") or {}
    most = step_limit(run)
    steps = f"{step} (visit {visits.get(step, 1)}), step {run.get('step_count')}"
    params = run.get("params") or {}
    parked = f" until {run['parked_until']}" if run.get("parked_until") else ""
    return [
        ("run", str(run.get("run_id"))),
        ("name", str(run.get("name") or "")),
        ("recipe", str(run.get("recipe") or "")),
        ("status", f"{status_words(run)}{parked}"),
        ("end", ended_as(run.get("exit"))),
        ("step", steps + (f" of {most}" if most else "") if step else ""),
        ("session", str(run.get("session_id") or "")),
        ("directory", home_relative(run.get("working_directory"))),
        ("agent", ", ".join(history.agents or [str(run.get("agent") or "")])),
        ("model", str(run.get("model") or "")),
        ("params", ", ".join(f"{name}={value}" for name, value in params.items())),
        ("turns", str(run.get("turns", ""))),
        ("cost", text.money(run.get("cost_usd"))),
        ("tokens", tokens_words(run)),
        ("work", spent(sum(one["work_seconds"] for one in history.steps))),
        ("waited", spent(sum(one["waited_seconds"] for one in history.steps))),
        ("stood", spent(sum(one["still_seconds"] for one in history.steps))),
        ("started", f"{text.ago(run.get('started_at'))} ({run.get('started_at')})"),
        ("ended", str(run.get("ended_at") or "")),
    ]


def tokens_words(run: protocol.Run) -> str:
    """Describe the tokens of a run; of one without turns nothing."""
    told = text.tokens(run.get("tokens"))
    return "not told by its agent" if told == "-" and run.get("turns") else told.strip("-")


ENDED_AS = {
    "needs-user": "it needs a person",
    "blocked": "it could not go on",
    "guardrail": "a limit stopped it",
    "checks-failed": "its checks failed",
    "error": "it failed",
}
"""How a run ended, by its exit's class, where that is no word of everyday."""


def step_limit(run: protocol.Run) -> int | None:
    """Return how many steps a run may take; ``None`` for any number."""
    limits = run.get("limits")
    return limits["max_total_steps"] if limits else None


def ended_as(end: protocol.Exit | None) -> str:
    """Describe how a run ended, in plain words; empty for one that goes on."""
    return ENDED_AS.get(end["class"], end["class"]) if end else ""


def spent(seconds: float) -> str:
    """Format a length of time; empty where there is none."""
    return text.duration(seconds) if seconds else ""


def source(step: protocol.WholeVisit) -> str:
    """Return the source of a visit's outcome: ``text, repaired``; empty where there is none."""
    return f"{step['source'] or ''}{', repaired' if step['repaired'] else ''}"


def checks(step: protocol.WholeVisit) -> str:
    """Summarise the checks of a visit: ``2 passed``, ``1 of 2 failed``; empty without any."""
    ended = sum(one["passed"] is not None for one in step["commands"])
    failed = failed_checks(step)
    if not ended:
        return ""
    return f"{failed} of {ended} failed" if failed else f"{ended} passed"


def answered(asked: protocol.VisitQuestion, until: float) -> str:
    """Describe what became of a question, by whom, and how long that took."""
    opened, over = text.epoch(asked["opened_at"]), text.epoch(asked["closed_at"])
    took = "" if opened is None else f", after {text.duration((over or until) - opened)}"
    closed = asked["closed"]
    if closed is None:
        return f"open{took.replace('after', 'for')}"
    if closed["answer"] is None:
        return f"{closed_words(closed)}{took}"
    given = answer_words(closed["answer"])
    label = dict(choices_of(asked["opened"])).get(given)
    meaning = f" ({text.fold(label)})" if label and label.casefold() != given.casefold() else ""
    by = ANSWERED_BY.get(str(closed["by"]), f" by {text.fold(closed['by'])}")
    note = f": {text.fold(closed['note'])}" if closed["note"] else ""
    return f"answered {given}{meaning}{by}{took}{note}"


def advice(run: protocol.Run, history: History) -> list[str]:
    """List what a person does next, a sentence or a command a line."""
    run_id, end = text.short(run.get("run_id")), run.get("exit")
    lines = [f"Not delivered: {text.fold(words)}" for words in history.undelivered]
    if end is None:
        doing = {
            "paused": f"Go on: podium resume {run_id}",
            "parked": f"It goes on by itself; at once: podium resume {run_id}",
            "running": f"Follow it: podium attach {run_id}",
        }
        if run.get("paused"):
            doing["waiting"] = f"It is paused too: after the answer, podium resume {run_id}"
        elif waits_for_words(run):
            doing["waiting"] = f"It is your turn: {say_command(run)}, or {attach_command(run)}"
        if run.get("stop") == "pause":
            lines.append(f"It {PAUSES}; not after all: podium resume {run_id}")
        return [*lines, doing[run["status"]]] if run.get("status") in doing else lines
    kind = end["class"]
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
    if (tree := run.get("worktree")) and os.path.lexists(tree["directory"]):
        lines += [f"{note[:1].upper()}{note[1:]}" for note in worktree_notes(run)]
    again = again_command(history.start, run) if history.start and kind != "completed" else ""
    return [*lines, f"{again_label(run)} {text.clean(again)}"] if again else lines


def mark(run: protocol.Run) -> tuple[str, str]:
    """Return the sign of a run's end and its colour: green for completed only, red for errors."""
    ended = run.get("exit")
    sign = end_sign(ended) if ended else "⚠"
    return sign, END_COLOURS[sign]


def parked_line(parked: protocol.RunParkedData) -> str:
    """Describe a run that waits for its agent's usage limit to be over."""
    return f"⏸ usage limit: parked until {parked.get('until')}"


def end_line(run: protocol.Run, style: text.Style) -> str:
    """Build the last line about a run: sign, message, reason, and what it took."""
    sign, colour = mark(run)
    began, over = text.epoch(run.get("started_at")), text.epoch(run.get("ended_at"))
    took = [text.price(run.get("cost_usd"), run.get("tokens"))]
    if began is not None and over is not None:
        took.insert(0, text.duration(over - began))
    if run.get("step_count"):
        took.insert(0, text.counted(run["step_count"], "step"))
    return f"{style(colour, f'{sign} {end_words(run)}')}  {style('dim', text.dotted(*took))}"


def end_words(run: protocol.Run) -> str:
    """Describe how a run ended, and why.

    The daemon has one wording for recipes and plain prompts, and a person who has sent a prompt has
    started no recipe.
    """
    ended = run["exit"]
    if ended is None:
        return text.fold(run["status"])
    said = text.fold(ended["message"])
    if run.get("kind") == "prompt":
        said = said.replace("Recipe ", "Turn ", 1)
    return f"{said} ({text.fold(ended['reason'])})"


def closed_words(question: protocol.QuestionClosedData) -> str:
    """Describe what became of a question that has no answer."""
    return text.fold(CLOSED_AS.get(str(question.get("closed")), question.get("closed")))
