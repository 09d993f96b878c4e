"""The environment of an agent's processes."""

from __future__ import annotations

from collections.abc import Mapping

from podiumd.agents.kind import ConfiguredAgent
from podiumd.tools.process.environment import child_environment


def agent_environment(
    agent: ConfiguredAgent, base: Mapping[str, str], marker: str
) -> dict[str, str]:
    """Make the whole environment of a process of this agent.

    ``base`` is the daemon's own environment, ``marker`` the turn's id.
    """
    plan, variables = agent.plan, agent.kind.variables
    return child_environment(
        base,
        pass_env=(*variables.names, *plan.pass_env),
        prefixes=variables.prefixes,
        extra_env=plan.env,
        marker=marker,
    )
