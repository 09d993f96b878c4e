"""Refusals that a client can act on; each edge maps them to its own words in one table.

``InvalidParameter`` is JSON-RPC's -32602; the others are the codes of the public contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from msgspec import UNSET, UnsetType

from podiumd.core.findings import Finding, closest
from podiumd.tools.files.disk import is_full
from podiumd.wire.refusals import RefusalData
from podiumd.wire.sessions import LockHolder

FULL_RETRY_MS = 5000


class PodiumError(Exception):
    """A refusal with a sentence for people and data for programs."""

    code: ClassVar[int] = -32603

    def __init__(self, message: str, data: RefusalData | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = RefusalData() if data is None else data

    @property
    def told(self) -> RefusalData | None:
        """Return the data; ``None`` where there is nothing in it."""
        return None if self.data == RefusalData() else self.data


class InvalidParameter(PodiumError):
    """A parameter of the right type with an impossible value. ``data``: ``parameter``."""

    code = -32602

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message, RefusalData(parameter=parameter))


class Busy(PodiumError):
    """The session or working tree is held. ``data``: which, and ``holder``."""

    code = -32001

    def __init__(
        self,
        message: str,
        holder: LockHolder,
        *,
        session_id: str | UnsetType = UNSET,
        working_directory: str | UnsetType = UNSET,
    ) -> None:
        self.holder = holder
        data = RefusalData(
            holder=holder, session_id=session_id, working_directory=working_directory
        )
        super().__init__(message, data)


class NotFound(PodiumError):
    """``data``: ``kind`` and ``id``."""

    code = -32002

    def __init__(self, kind: str, id: str, message: str = "") -> None:
        super().__init__(message or f"There is no {kind} '{id}'.", RefusalData(kind=kind, id=id))


class RecipeRefused(PodiumError):
    """The recipe has faults. ``data``: ``findings``, and ``fix`` where it may be another's."""

    code = -32003

    def __init__(
        self, message: str, findings: Iterable[Finding], fix: str | UnsetType = UNSET
    ) -> None:
        super().__init__(message, RefusalData(findings=tuple(findings), fix=fix))


class AlreadyEnded(PodiumError):
    """Already answered, or already over. ``data``: ``id`` and ``by``."""

    code = -32004

    def __init__(self, message: str, id: str, by: str | None) -> None:
        super().__init__(message, RefusalData(id=id, by=by))


class AgentUnavailable(PodiumError):
    """``data``: ``agent``, ``reason``, ``fix``."""

    code = -32005

    def __init__(self, agent: str, reason: str, fix: str) -> None:
        super().__init__(
            f"Agent '{agent}' cannot be used: {reason.rstrip('.')}. {fix}",
            RefusalData(agent=agent, reason=reason, fix=fix),
        )


class UnknownAgent(AgentUnavailable):
    """No agent has that name: to try again does not help. ``data``: ``known`` too."""


def unknown_agent(agent: str, known: list[str]) -> UnknownAgent:
    """Refuse a name that no agent has. ``data``: ``known`` too, the names that there are."""
    match = closest(agent, known)
    near = f"The nearest is '{match}'; there are" if match else "There are"
    refused = UnknownAgent(agent, "there is no such agent.", f"{near}: {', '.join(known)}.")
    refused.data.known = tuple(known)
    return refused


class Refused(PodiumError):
    """Refused by policy. ``data``: ``reason``, and where a program may act on it ``what``."""

    code = -32006

    def __init__(
        self,
        reason: str,
        *,
        what: str | UnsetType = UNSET,
        fix: str | UnsetType = UNSET,
        files: tuple[str, ...] | UnsetType = UNSET,
    ) -> None:
        super().__init__(reason, RefusalData(reason=reason, what=what, fix=fix, files=files))


class OrchestrationDisabled(PodiumError):
    """Recipes are switched off."""

    code = -32007

    def __init__(self) -> None:
        super().__init__("Orchestration is off; 'podium orchestration on' switches it on.")


class Overloaded(PodiumError):
    """``data``: ``retry_after_ms``."""

    code = -32008

    def __init__(self, message: str, retry_after_ms: int = 1000) -> None:
        super().__init__(message, RefusalData(retry_after_ms=retry_after_ms))


class NotPermitted(PodiumError):
    """The device has no right to it. ``data``: ``scope``, which it would need."""

    code = -32009

    def __init__(self, method: str, scope: str, needed: str) -> None:
        super().__init__(
            f"{method} needs a device of scope '{needed}'; this one has '{scope}'. "
            f"At the machine: 'podium devices scope NAME {needed}'.",
            RefusalData(scope=needed),
        )


@contextmanager
def full_disk_refused() -> Iterator[None]:
    """Turn a full disk into a refusal of work that has not begun; it can be requested again.

    Raises ``Overloaded``.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        words = "The disk is full: nothing was begun. Free some space and try again."
        raise Overloaded(words, FULL_RETRY_MS) from error
