"""``podium agents``: what is there of each agent, what it can do, and what it lacks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from podium import text
from podium.agent_kinds import CAPABILITIES, KNOWN
from podium.render.words import home_relative
from podium.rpc.connection import call

if TYPE_CHECKING:
    from podium import protocol

HEADINGS = ("AGENT", "STATE", "VERSION", "PROGRAM")

ANEW = "Where you install one, 'podium down && podium up' finds it."


def agents(json: bool) -> int:
    """``podium agents``."""
    found: list[protocol.Agent] = call("agents.list")
    if json:
        return text.emit_json(found)
    width = text.columns()
    style = text.Style(sys.stdout)
    text.emit(text.table(HEADINGS, map(_row, found), width))
    for one in found:
        if one["state"] != "ready":
            text.say("\n".join(_lacks(one, width, style)))
    names = [text.fold(one["name"], 16) for one in found]
    text.emit("\n" + text.table(["CAN", *names], _abilities(found), width))
    absent = [name for name in KNOWN if name not in {one["name"] for one in found}]
    if absent:
        words = f"Also known, not found: {', '.join(absent)}. {ANEW}"
        text.emit("\n" + "\n".join(text.wrapped(words, width)))
    return 0


def _row(agent: protocol.Agent) -> tuple[str, ...]:
    version = text.fold(agent["version"] or "-", 40)
    if agent["mark"]:
        version += f" ({text.fold(agent['mark'], 30)})"
    program = agent["program"]
    place = text.fold(home_relative(program)) if program else "-"
    return (text.fold(agent["name"], 40), agent["state"], version, place)


def _lacks(agent: protocol.Agent, width: int, style: text.Style) -> list[str]:
    """Say what is not well with an agent, and how to mend it."""
    name, found = text.fold(agent["name"]), text.fold(agent["found"])
    words = found if found.startswith(f"{name} ") else f"{name}: {found}"
    first = text.wrapped(words, width, 2)
    fix = text.wrapped(f"  {text.fold(agent['fix'])}", width, 2) if agent["fix"] else []
    return [style("yellow", line) for line in first] + fix


def _abilities(found: list[protocol.Agent]) -> list[list[str]]:
    rows = [
        [words, *(shown(dict(one["capabilities"]).get(name)) for one in found)]
        for name, words in CAPABILITIES.items()
    ]
    sessions = [text.fold(one["session_format"] or "-", 16) for one in found]
    return [*rows, ["session files that are read", *sessions]]


def shown(value: object) -> str:
    """Show the value of a capability in a word, or a few."""
    if isinstance(value, (list, tuple)):
        return text.fold(", ".join(map(str, value)), 40) or "-"
    if isinstance(value, bool) or value is None:
        return "yes" if value else "-"
    return "-" if value == "none" else text.fold(value, 16)
