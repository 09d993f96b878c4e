"""Directories of all agents' session files: of configured agents, and of others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from podiumd.agents.environment import agent_environment
from podiumd.agents.kind import ConfiguredAgent, Where
from podiumd.agents.others import OTHERS
from podiumd.sessions.index.tree import Root


def roots_of(
    agents: Mapping[str, ConfiguredAgent], environ: Mapping[str, str], state: Path
) -> list[Root]:
    """Return a root for each agent that has session files, and whose these are.

    Of agents that share a directory the first is said to have begun what is there. ``environ`` is
    the daemon's own environment, ``state`` its STATE directory.
    """
    found: dict[Path, Root] = {}
    for name, agent in agents.items():
        where = Where(agent_environment(agent, environ, ""), state)
        directory, form = agent.folders(where).sessions, agent.kind.session_format
        if directory is not None and form is not None:
            found.setdefault(directory, Root(name, directory, "" if form == name else form))
    here = Where(environ, state)
    for name, of_other in OTHERS.items():
        directory = of_other(here)
        found.setdefault(directory, Root(name, directory))
    return list(found.values())
