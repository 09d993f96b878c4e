"""Check of the steps' demands against the capabilities of their agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from podiumd.core.findings import Notes, nearest
from podiumd.core.recipe.model import Recipe, Step

ExactlyOnce = Literal["agent", "facts", "mark", "weak"]
"""What makes sure that a prompt reaches the model once, whenever the daemon is killed.

``agent``: the agent's own record names our prompt, or it takes it once by its id. ``facts``: the
turn is played in the daemon, which stores each step first. ``mark``: that a prompt has arrived is
known, what came of it only from the spool (``podiumd.drivers.steps``). ``weak``: neither, so after
a crash in mid-prompt a person is asked.
"""

OwnTools = Literal["dialect", "inside", "mcp", "none"]
"""How an agent reaches the tools that Podium serves.

``dialect``: by the protocol that the turn is spoken in. ``inside``: it is played in the daemon.
``mcp``: by a program that it starts. ``none``: only what it runs itself can (``podium mcp``).
"""

Usage = Literal["cost", "tokens", "none"]
"""What an agent reports of a turn's use: its cost (and tokens, where it knows them), tokens alone,
or nothing."""


class Capabilities(msgspec.Struct, frozen=True):
    """Capabilities of a configured agent; a recipe's demands are checked against them before a run
    starts.

    ``permission_modes`` are the agent's own words for how much it may do unasked. ``hooks``: it
    asks before each tool and reports after it; ``tool_lists``: a step may say by names which tools
    there are, or that there are none; ``system_text``: its system text may be another in
    each turn; ``compacts``: it sums up what no longer fits by itself, and need not be asked to;
    ``names_sessions``: it gives its sessions ids of its own.
    """

    structured_output: bool = False
    approvals: bool = False
    interrupt: bool = False
    steer: bool = False
    resume: bool = False
    fork: bool = False
    read_only_tools: bool = False
    tool_lists: bool = False
    survives_daemon: bool = False
    hooks: bool = False
    system_text: bool = False
    compacts: bool = False
    names_sessions: bool = False
    permission_modes: tuple[str, ...] = ()
    exactly_once: ExactlyOnce = "weak"
    own_tools: OwnTools = "none"
    usage: Usage = "none"


def check_agents(
    recipe: Recipe, notes: Notes, known: Mapping[str, Capabilities], default_agent: str
) -> None:
    """Note each step that demands what its agent cannot do.

    ``known`` are the agents by name; ``default_agent`` takes the steps that name none. A demand of
    a step in a called recipe is reported at the step that calls.
    """
    for full_name, step in recipe.steps.items():
        if step.kind not in ("turn", "talk"):
            continue
        name = full_name.partition(".")[0]
        agent = step.agent or default_agent
        if agent not in known:
            message = f"there is no agent '{agent[:80]}'; {nearest(agent, sorted(known))}"
            notes.add("agent-capability", ("steps", name, "agent"), message)
            continue
        costs = recipe.limits.max_cost_usd is not None
        for key, lack in _lacks(step, known[agent], limits_cost=costs):
            message = f"agent '{agent}' {lack}, or give the step another agent"
            notes.add("agent-capability", ("steps", name, key), message)


def _lacks(step: Step, can: Capabilities, *, limits_cost: bool) -> Iterator[tuple[str, str]]:
    """Give each key that demands too much, with what the agent cannot do and a remedy."""
    if step.session == "fork" and not can.fork:
        yield "session", 'cannot copy a conversation: write session = "fresh"'
    if step.session == "same" and not can.resume:
        yield "session", 'cannot go on with a conversation: write session = "fresh"'
    if step.tools == "read-only" and not can.read_only_tools:
        yield "tools", "cannot be limited to tools that only read: remove 'tools'"
    if step.tools not in ("all", "read-only") and not can.tool_lists:
        instead = 'write tools = "read-only"' if can.read_only_tools else "remove 'tools'"
        yield "tools", f"cannot be limited to some of its tools: {instead}"
    if step.kind == "talk" and not step.final and can.own_tools == "none":
        yield "talk", "takes no tools from Podium, and only those lead on from a conversation"
    if any(hook.event != "turn-end" for hook in step.hooks) and not can.hooks:
        yield "hooks", "does not ask about each tool: remove the hooks before and after tools"
    if step.allow and not can.approvals:
        yield "allow", "never asks before it uses a tool: remove 'allow'"
    mode = step.permission_mode
    if mode is not None and mode not in can.permission_modes:
        words = ", ".join(sorted(can.permission_modes)) or "none"
        yield (
            "permission_mode",
            (f"has no permission mode '{mode[:80]}' (it has: {words}): correct or remove it"),
        )
    if limits_cost and can.usage != "cost":
        yield "agent", "does not say what a turn costs: remove max_cost_usd from [limits]"
