"""Refusals that a client can act on; each edge maps them to its own words in one table.

``InvalidParameter`` is JSON-RPC's -32602; the others are the codes of the public contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from podiumd.core.findings import closest
from podiumd.tools.files.disk import is_full

FULL_RETRY_MS = 5000


class PodiumError(Exception):
    """A refusal with a sentence for people and data for programs."""

    code: ClassVar[int] = -32603

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, Any] = data


class InvalidParameter(PodiumError):
    """A parameter of the right type with an impossible value. ``data``: ``parameter``."""

    code = -32602

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message, parameter=parameter)


class Busy(PodiumError):
    """The session or working tree is held. ``data``: which, and ``holder``."""

    code = -32001


class NotFound(PodiumError):
    """``data``: ``kind`` and ``id``."""

    code = -32002

    def __init__(self, kind: str, id: str, message: str = "") -> None:
        super().__init__(message or f"There is no {kind} '{id}'.", kind=kind, id=id)


class RecipeRefused(PodiumError):
    """The recipe has faults. ``data``: ``findings``."""

    code = -32003


class AlreadyEnded(PodiumError):
    """Already answered, or already over. ``data``: ``id`` and ``by``."""

    code = -32004


class AgentUnavailable(PodiumError):
    """``data``: ``agent``, ``reason``, ``fix``."""

    code = -32005

    def __init__(self, agent: str, reason: str, fix: str) -> None:
        super().__init__(
            f"Agent '{agent}' cannot be used: {reason.rstrip('.')}. {fix}",
            agent=agent,
            reason=reason,
            fix=fix,
        )


class UnknownAgent(AgentUnavailable):
    """No agent has that name: to try again does not help. ``data``: ``known`` too."""


def unknown_agent(agent: str, known: list[str]) -> UnknownAgent:
    """Refuse a name that no agent has. ``data``: ``known`` too, the names that there are."""
    match = closest(agent, known)
    near = f"The nearest is '{match}'; there are" if match else "There are"
    refused = UnknownAgent(agent, "there is no such agent.", f"{near}: {', '.join(known)}.")
    refused.data["known"] = known
    return refused


class Refused(PodiumError):
    """Refused by policy. ``data``: ``reason``, and where a program may act on it ``what``."""

    code = -32006

    def __init__(self, reason: str, **data: Any) -> None:
        super().__init__(reason, reason=reason, **data)


class OrchestrationDisabled(PodiumError):
    """Recipes are switched off."""

    code = -32007

    def __init__(self) -> None:
        super().__init__("Orchestration is off; 'podium orchestration on' switches it on.")


class Overloaded(PodiumError):
    """``data``: ``retry_after_ms``."""

    code = -32008

    def __init__(self, message: str, retry_after_ms: int = 1000) -> None:
        super().__init__(message, retry_after_ms=retry_after_ms)


@contextmanager
def full_disk_refused() -> Iterator[None]:
    """What a full disk did not let us begin is refused, and can be asked for again.

    Raises ``Overloaded``.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        words = "The disk is full: nothing was begun. Free some space and try again."
        raise Overloaded(words, FULL_RETRY_MS) from error
