"""What steps demand of their agents, against what these agents can do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from podiumd.core.findings import Notes, nearest
from podiumd.core.recipe import Recipe, Step


class Capabilities(Protocol):
    """What an agent can do, as its driver says."""

    @property
    def approvals(self) -> bool:
        """It asks before it uses a tool that is not allowed."""
        ...

    @property
    def resume(self) -> bool:
        """It can go on with an earlier conversation."""
        ...

    @property
    def fork(self) -> bool:
        """It can go on with a copy of an earlier conversation."""
        ...

    @property
    def cost(self) -> bool:
        """It says what a turn has cost."""
        ...

    @property
    def read_only_tools(self) -> bool:
        """The tools that exist in a step can be limited."""
        ...

    @property
    def tools(self) -> bool:
        """It takes the tools that Podium serves."""
        ...

    @property
    def hooks(self) -> bool:
        """It asks before it uses a tool, and tells after."""
        ...

    @property
    def permission_modes(self) -> Collection[str]:
        """The words that it takes for ``permission_mode``."""
        ...


def check_agents(
    recipe: Recipe, notes: Notes, known: Mapping[str, Capabilities], default_agent: str
) -> None:
    """Note each step that demands what its agent cannot do.

    ``known`` are the agents by name; ``default_agent`` takes the steps that name none. What a step
    of a called recipe demands is told of the step that calls.
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
    if step.tools != "all" and not can.read_only_tools:
        yield "tools", "cannot be limited in its tools: remove 'tools'"
    if step.kind == "talk" and not (step.final or can.tools):
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
    if limits_cost and not can.cost:
        yield "agent", "does not say what a turn costs: remove max_cost_usd from [limits]"
