"""What the model says in end-to-end tests, and the small recipes they run."""

from __future__ import annotations

from typing import Any

Turn = dict[str, Any]

LOOP = """
initial = "work"

[limits]
max_total_steps = 6

[steps.work]
prompt = "Work on it."
allow = ["Bash", "Write"]

[steps.work.on]
complete = { to = "review" }
blocked = { exit = "implementation-blocked", class = "blocked" }

[steps.review]
prompt = "Review it."
allow = ["Bash", "Write"]

[steps.review.on]
no-issues = { exit = "turn-complete", class = "completed" }
issues-found = { to = "work" }
"""
"""Two steps: ``work``, and ``review`` that accepts it or sends it back."""

ASKING = """
initial = "work"

[steps.work]
prompt = "Work on it."

[steps.work.on]
complete = { exit = "turn-complete", class = "completed" }
"""
"""One step in which nothing is allowed unasked."""


def word(outcome: str, text: str = "Done.", **more: Any) -> Turn:
    """An answer that ends a step with an outcome; ``detail`` and the like go with it."""
    return {"text": text, "structured": {"outcome": outcome, **more}}


def bash(command: str, text: str = "", **more: Any) -> Turn:
    """An answer that runs a command."""
    call = {"name": "Bash", "input": {"command": command, "description": "Do it"}}
    said = {"text": text} if text else {}
    return {**said, "tools": [call], **more}


def when(prompt: str, *turns: Turn) -> dict[str, Any]:
    """A rule: these turns, one a request, for prompts that begin so."""
    return {"when": {"prompt": "^" + prompt}, "turns": list(turns)}


def held(turn: Turn, gate: str = "half") -> Turn:
    """The same, stopped half way until the gate is released."""
    return {**turn, "hold": gate}
