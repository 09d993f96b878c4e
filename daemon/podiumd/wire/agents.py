"""The agents that are configured: what is there of each, what it can do, and what it lacks."""

from __future__ import annotations

from typing import Literal

from podiumd.core.analysis.check_agents import Capabilities
from podiumd.wire.fields import Nothing, Result
from podiumd.wire.method import Method

AgentState = Literal["ready", "unready", "missing"]
"""``missing``: its program is not there. ``unready``: it is, and something else is not well."""


class Agent(Result, frozen=True, kw_only=True):
    """A configured agent.

    ``kind`` is its ``driver``, ``label`` that in a few words. ``program`` is the path of its
    program, ``version`` what that tells of itself, ``mark`` what is to be known of that version.
    ``found`` says in words how it is, ``fix`` what to do where it is not ready. ``session_format``
    is the format of its session files; ``None`` where Podium reads none.
    """

    name: str
    kind: str
    label: str
    state: AgentState
    program: str | None
    version: str | None
    mark: str | None
    found: str
    fix: str
    session_format: str | None
    capabilities: Capabilities


LIST = Method[Nothing, list[Agent]](
    "agents.list",
    "The agents that are configured. Each is asked for its version and login, 5 s in all.",
    pace="waiting",
    needs="work",
    reads=True,
)
