"""A conversation in three phases for the native agent, and a model that plays its part in it.

The model remembers nothing: each answer follows from what it is asked and from the system text of
the phase that it is asked in.
"""

from __future__ import annotations

from typing import Any

from tests.e2e.native_rig import Json, act, says

RECIPE = """initial = "goal"

[limits]
max_total_steps = 9

[context]
goal = "string"
config = { type = "object", default = {} }

[steps.goal]
talk = true
tools = "read-only"
system = "PHASE GOAL. Find out what they want."
opening = "Begin with the goal."
[steps.goal.on]
agreed = { to = "configure", requires = ["goal"] }

[steps.configure]
talk = true
auto = true
tools = "none"
system = "PHASE CONFIGURE. Set up for: {{ctx.goal}}."
opening = "Set up."
[steps.configure.on]
configured = { to = "finish", requires = ["config"] }

[steps.finish]
talk = true
tools = "none"
system = "PHASE FINISH. They wanted: {{ctx.goal}}."
opening = "Say what was made."
"""

ASK: Json = {
    "action": "ask",
    "question": "What do you want?",
    "options": [{"id": "shop", "label": "A shop"}, {"id": "blog", "label": "A blog"}],
    "free_text": True,
}
SAVE_GOAL: Json = {"action": "save", "key": "goal", "value": "a shop"}
SAVE_CONFIG: Json = {
    "action": "tool_call",
    "tool": "mcp__podium__save",
    "args": {"key": "config", "value": {"role": "a grocer"}},
}
WRITE: Json = {"action": "write_file", "path": "new.txt", "content": "x\n"}


def go(to: str) -> Json:
    """The call that asks for another phase."""
    return {"action": "transition", "to": to, "summary": f"to {to}"}


def rule(phase: str, prompt: str, answer: Json) -> Json:
    """The answer to a message in a phase."""
    return {"when": {"system": f"PHASE {phase}", "prompt": prompt}, **answer}


RULES: list[Json] = [
    rule("GOAL", "^Begin with", says(act(ASK, SAVE_GOAL, words="Hello."))),
    rule("GOAL", "needs 'goal'", says(act(SAVE_GOAL, go("agreed"), words="I save it."))),
    rule("GOAL", "takes effect", says("I set up for it now.")),
    rule("GOAL", "The answer: A shop", says(act(go("nowhere"), go("agreed"), words="On."))),
    rule("CONFIGURE", "unknown action", says(act(SAVE_CONFIG, go("finish"), words="Then so."))),
    rule("CONFIGURE", "takes effect", says("I am a grocer.")),
    rule("CONFIGURE", "^Set up", says(act(WRITE, words="I write."))),
    rule("FINISH", "^Say what", says("A shop was made.")),
    {"when": {"prompt": "^Thank you"}, **says("You are welcome.")},
]
"""Plays the whole conversation, mistakes included."""

CALLS: list[tuple[str, bool]] = [
    ("ask", True),
    ("transition", False),
    ("transition", False),
    ("save", True),
    ("transition", True),
    ("save", True),
    ("transition", True),
]
"""The calls that are stored, each once, whatever happens to the daemon."""


def used(facts: list[Json]) -> list[tuple[str, bool]]:
    """The calls of a run that are stored, and whether each was done."""
    return [(one["tool"], one["success"]) for one in facts]


def refusals(facts: list[Json]) -> list[Any]:
    """What the agent was told of the calls that were not done."""
    return [one["message"] for one in facts if not one["success"]]
