"""The policy for an action of the native agent: do it, ask a person first, or refuse it.

Everything here comes from people: the mode, what the recipe's step allows, what a person allowed
for the rest of the run. Nothing that the model says can change it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from podiumd.core.decide import command_rules
from podiumd.core.recipe.served_tools import SERVED_PREFIX

Risk = Literal["read", "write", "exec"]
Mode = Literal["confirm", "allow-all", "read-only"]

MODES: Final[tuple[Mode, ...]] = ("confirm", "allow-all", "read-only")

ESCALATE: Final = "Escalate"
"""The tool of what wants out of an agent's sandbox. No other tool's leave covers it."""

_NAMED: Final[dict[str, frozenset[str]]] = {
    "Bash": frozenset({"run_command", "run_tests"}),
    "Edit": frozenset({"patch"}),
    "MultiEdit": frozenset({"patch"}),
    "Write": frozenset({"write_file"}),
    "Read": frozenset({"read_file"}),
    "Grep": frozenset({"search"}),
    "Glob": frozenset({"search"}),
}
"""The names of another agent's tools, which recipes are written with, and ours for the same."""

_RULE: Final = re.compile(r"(?P<tool>[^()\s]+)\((?P<what>.*)\)", re.DOTALL)


class Allow(msgspec.Struct, frozen=True, tag=True):
    """Do it."""


class Ask(msgspec.Struct, frozen=True, tag=True):
    """Ask a person; no answer is no."""


class Deny(msgspec.Struct, frozen=True, tag=True):
    """Do not; ``reason`` is for the model."""

    reason: str


Verdict = Allow | Ask | Deny


def judge(
    name: str,
    risk: Risk,
    *,
    mode: Mode,
    tools: str | tuple[str, ...] = "all",
    allow: tuple[str, ...] = (),
    command: str | None = None,
) -> Verdict:
    """Judge an action.

    Args:
        name: the action.
        risk: what it may do.
        mode: ``confirm`` asks before each write and command, ``allow-all`` never asks,
            ``read-only`` refuses them.
        tools: what there is for this turn: ``all``, ``read-only``, or names (ours, or another
            agent's for the same).
        allow: what needs no word: names, or ``Bash(make test)`` for that command line alone,
            ``Bash(make:*)`` for all that begin so and do nothing more (``command_rules``).
        command: the command line, of an action that runs one.
    """
    if name == "done":
        return Allow()
    if isinstance(tools, tuple) and not any(_names(tool, name) for tool in tools):
        return Deny(f"{name} is not among the tools of this step")
    if risk == "read":
        return Allow()
    if tools == "read-only":
        return Deny(f"this step may only read: {name} is refused")
    if mode == "read-only":
        return Deny(f"the mode is read-only: {name} is refused")
    if mode == "allow-all" or any(_allows(rule, name, command) for rule in allow):
        return Allow()
    return Ask()


def hooked(match: str | None, tool: str) -> bool:
    """Return whether a hook's ``match`` (a name, or a glob; ``None``: every tool) covers a tool.

    Agents call the same thing differently: ``Bash`` covers ``run_command``, and ``save`` covers
    ``mcp__podium__save``, and the other way round.
    """
    if match is None:
        return True
    name = tool.removeprefix(SERVED_PREFIX)
    names = {name, SERVED_PREFIX + name, *(_NAMED.get(name, ()))}
    names |= {theirs for theirs, ours in _NAMED.items() if name in ours}
    return any(fnmatchcase(one, match) for one in names)


def _names(tool: str, name: str) -> bool:
    """Return whether a name in a list of tools is that of our action; a rule names its tool too."""
    rule = _RULE.fullmatch(tool)
    tool = rule["tool"] if rule is not None else tool
    return tool == name or name in _NAMED.get(tool, ())


def _allows(rule: str, name: str, command: str | None) -> bool:
    """Return whether a rule allows an action; one that is not understood allows nothing."""
    parts = _RULE.fullmatch(rule)
    if parts is None:
        return _names(rule, name)
    if command is None or not _names(parts["tool"], name):
        return False
    what = parts["what"]
    for ending in (":*", " *"):
        if what.endswith(ending):
            return command_rules.covers(what.removesuffix(ending), command)
    return command == what
