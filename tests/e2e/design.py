"""A guided design as its agents play it: what the model says in each phase, for any agent.

Each rule is one turn of the agent: what it does with Podium's tools, and what it says after that.
``claude`` has the tools over MCP, the native agent as actions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.rpc_client import Json

GOAL = "A rota for the nurses of one ward, on one page, fair over a month."
CONFIG = {
    "role": "A planner of shifts",
    "expertise": ["hospitals"],
    "style": "brief",
    "focus": ["fairness"],
    "open_points": ["holidays"],
}
BLUEPRINT = {"name": "Rota", "kind": "service", "summary": "It plans.", "flow": []}
ENTITIES = [{"name": "shift", "attributes": [{"name": "begins", "type": "time"}]}]
AGENTS = [{"name": "planner", "role": "plans", "topics": ["shifts"], "tasks": ["plan"]}]
SAVED = {
    "goal_summary": GOAL,
    "agent_config": CONFIG,
    "blueprint": BLUEPRINT,
    "entities": ENTITIES,
    "agents": AGENTS,
}

PHASES = (
    "first of three phases",
    "second of three phases",
    "last of three phases",
    "in three phases",
)
"""Words that stand in the system text of each phase and no other."""

WHO: Json = {
    "question": "Who is it for?",
    "options": [
        {"id": "nurses", "label": "Nurses", "description": "on the ward"},
        {"id": "kin", "label": "Relatives"},
    ],
    "multi": True,
}
RIGHT: Json = {"question": "Is that right?", "options": ["it is right", "something is wrong"]}
ROOMS: Json = {
    "question": "Which shifts are there?",
    "columns": [
        {"name": "shift", "required": True},
        {"name": "nurses", "type": "number"},
    ],
}


class Call(NamedTuple):
    """A use of one of Podium's tools."""

    tool: str
    args: Json


class Said(NamedTuple):
    """One turn of the agent: in which phase, to which words, what it does and says."""

    phase: int
    to: str
    calls: tuple[Call, ...]
    text: str
    hold: str = ""


def save(*keys: str) -> tuple[Call, ...]:
    return tuple(Call("save", {"key": key, "value": SAVED[key]}) for key in keys)


def go(to: str, summary: str = "Agreed") -> Call:
    return Call("transition", {"to": to, "summary": summary})


TALK: tuple[Said, ...] = (
    Said(0, "Help me to find out", (go("complete"), go("agreed"), Call("ask", WHO)), "What is it?"),
    Said(0, "Who is it for", (Call("ask", RIGHT),), "So it is for nurses."),
    Said(0, "Is that right", (*save("goal_summary"), go("agreed")), "I set up for it."),
    Said(1, "Set yourself up", (*save("agent_config"), go("configured")), "I plan shifts."),
    Said(2, "Let us work out", (Call("ask", ROOMS),), "First the shifts."),
    Said(2, "Which shifts", (), "Shall I write it?"),
    Said(
        2,
        "Write it",
        (go("designed"), *save("blueprint", "entities", "agents"), go("designed", "All agreed")),
        "It is agreed.",
    ),
    Said(3, "The blueprint is written", (), "We have made a rota: docs/blueprint.md."),
)
"""The whole conversation: a wrong way and an early one are refused on it, thrice."""

AFTER = {"when": {"prompt": "^Thank you"}, "text": "Gladly."}


def claude_rules(talk: tuple[Said, ...] = TALK) -> list[Json]:
    """The conversation as ``claude`` has it: tools over MCP, then words."""

    def turns(said: Said) -> list[Json]:
        last: Json = {"text": said.text, **({"hold": said.hold} if said.hold else {})}
        calls = [
            {"tools": [{"name": f"mcp__podium__{call.tool}", "input": call.args}]}
            for call in said.calls
        ]
        return [*calls, last]

    return [
        {"when": {"prompt": said.to, "system": PHASES[said.phase]}, "turns": turns(said)}
        for said in talk
    ] + [AFTER]


def native_rules(talk: tuple[Said, ...] = TALK) -> list[Json]:
    """The conversation as the native agent has it: actions in one reply, then words."""
    rules: list[Json] = []
    for said in talk:
        when = {"prompt": said.to, "system": PHASES[said.phase]}
        actions = [{"action": call.tool, **call.args} for call in said.calls]
        done = f"\n```json\n{json.dumps(actions)}\n```\n" if actions else ""
        rules.append({"when": when, "text": f"{said.text}{done}"})
        if said.calls and said.calls[-1].tool != "ask":
            told = {"prompt": '"action": ?"transition"', "system": PHASES[said.phase]}
            hold = {"hold": said.hold} if said.hold else {}
            rules.append({"when": told, "text": "That is done.", **hold})
    return [*rules, AFTER]


def written(where: Path) -> dict[str, Any]:
    """The blueprint that Podium has written into a project."""
    document: dict[str, Any] = json.loads((where / "docs" / "blueprint.json").read_text())
    markdown = (where / "docs" / "blueprint.md").read_text()
    assert markdown.startswith("<!-- Written by Podium")
    assert GOAL in markdown and "planner" in markdown and "shift" in markdown
    return document
