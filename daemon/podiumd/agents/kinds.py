"""Every kind of agent: the one place where a kind is registered."""

from __future__ import annotations

from typing import Final

from podiumd.agents.acp.kind import ACP
from podiumd.agents.claude.kind import CLAUDE
from podiumd.agents.codex.kind import CODEX
from podiumd.agents.kind import ConfiguredAgent, Kind
from podiumd.agents.native.kind import NATIVE
from podiumd.agents.scripted.kind import SCRIPTED
from podiumd.core.analysis.check_agents import Capabilities

KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in (CLAUDE, CODEX, ACP, NATIVE, SCRIPTED)}
"""By name, in the order in which settings are shown."""

DEFAULT_AGENT: Final = CLAUDE.name
"""The agent of a prompt, or of a recipe's step, that names none."""

CHAT_AGENT: Final = NATIVE.name
"""The agent of a new chat that names none."""


def shipped_capabilities() -> dict[str, Capabilities]:
    """Return what the agents can do that are known by name, configured or not."""
    return {name: can for kind in KINDS.values() for name, can in kind.shipped().items()}


def standing_agents() -> dict[str, ConfiguredAgent]:
    """Return the agents that there are without any configuration, by name."""
    return {
        name: ConfiguredAgent(name, kind, kind.settings())
        for name, kind in KINDS.items()
        if kind.standing
    }


def known_agents() -> dict[str, ConfiguredAgent]:
    """Return the agents that need no table where their program is on PATH, by name."""
    return {
        name: ConfiguredAgent(name, kind, kind.settings_of(name))
        for kind in KINDS.values()
        for name in kind.known()
    }
