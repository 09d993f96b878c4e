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
    formats: dict[str, str] = {}
    for name, agent in agents.items():
        where = Where(agent_environment(agent, environ, ""), state)
        folders = agent.folders(where)
        form = folders.session_format or agent.kind.session_format
        if folders.sessions is not None and form is not None:
            formats[name] = form
            root = Root(name, folders.sessions, "" if form == name else form)
            found.setdefault(folders.sessions, root)
    here = Where(environ, state)
    for name, other in OTHERS.items():
        if formats.get(name, name) == name:  # else these would be read as another's
            directory = other.directory(here)
            found.setdefault(directory, Root(name, directory))
    return list(found.values())
