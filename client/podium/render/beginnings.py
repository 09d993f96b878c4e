"""Start of a run, in words: its name, its bounds, and how to begin it again."""

from __future__ import annotations

import shlex
from typing import Any

from podium import text
from podium.render.words import home_relative

Json = dict[str, Any]

PREVIEW_CHARACTERS = 120


def first_line(started: Json) -> str:
    """Name what was begun: ``implement-and-review: Add unicode slugs``, a plain prompt by its
    words."""
    if started.get("kind") == "prompt":
        return f"Prompt: {text.fold(started.get('first_prompt'), PREVIEW_CHARACTERS)}"
    return text.fold(started.get("name") or started.get("label") or started.get("recipe"))


def first_note(started: Json, *, watched: bool) -> str:
    """Describe the run: its id, place and bounds; at a terminal, how to leave it."""
    limits, kind = started.get("limits") or {}, started.get("kind")
    steps, minutes = limits.get("max_total_steps"), limits.get("max_minutes")
    bounds = [f"{steps} steps"] if steps else []
    bounds += [f"{minutes:g} minutes"] if minutes else []
    said = [
        f"run {text.short(started.get('run_id'))}",
        f"session {text.short(started.get('session_id'))}",
        text.fold(home_relative(started.get("working_directory"))),
        f"at most {', '.join(bounds)}" if bounds else "",
        "Ctrl-C leaves it running" if watched and kind != "prompt" else "",
    ]
    return " · ".join(filter(None, said))


def _to_mend(run: Json) -> bool:
    """Return whether an error of one line ended a run.

    The line states what to do, and as long as the error stands, the next run ends as this one.
    """
    ended = run.get("exit") or {}
    detail = str(ended.get("detail") or "").strip()
    return ended.get("reason") == "error" and bool(detail) and "\n" not in detail


def again_label(run: Json) -> str:
    """Return the label before the command that begins a run again."""
    return "First mend what ended it, then run it again:" if _to_mend(run) else "Run it again:"


def again_command(started: Json, run: Json) -> str:
    """Build the command that does the same again from ``run.started`` and the run; may be empty."""
    worktree = started.get("worktree") or {}
    place = str(worktree.get("repository") or run.get("working_directory"))
    agent = started.get("agent_override")
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
