"""The types that edges (RPC, gateway) exchange with the service beside those of ``podiumd.wire``:
requests with fields for a gateway alone, and feeds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from podiumd.core.voice.grammar import Asked
from podiumd.runtime.bus import Burst
from podiumd.wire.event import Event
from podiumd.wire.gateway import Device, GatewayStatus, Invitation, Pairing
from podiumd.wire.method import Scope

Told = tuple[list[Event], int, int]
"""A page of events with outputs in between, the next cursor, the number of the last output."""


class StartRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to be started. ``new_session_id``: the id that a new session is to have.

    ``anyway``: a recipe that commits may do so in the whole home, or the whole disk.
    ``script``: the file of turns that the scripted agent plays in this run.
    """

    recipe: str
    working_directory: str
    session_id: str | None = None
    new_session_id: str | None = None
    params: dict[str, Any] = {}
    agent: str | None = None
    model: str | None = None
    script: str | None = None
    worktree: bool = False
    anyway: bool = False
    on_question: Literal["ask", "wait", "fail"] = "wait"
    client_token: str | None = None


class SendPrompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt to be sent.

    ``new_session_id``: the id that a new session is to have. ``system_prompt`` is added to the
    agent's own. ``if_busy = "deliver"``: words for a recipe go into its turn or its next prompt,
    words for a session that a prompt holds wait in line. An agent that does not take words into its
    turn is waited for briefly: they are stored, and ``delivery`` is "next prompt". Words for a
    session whose run is in a conversation go to the agent of its phase, with any ``if_busy``:
    ``delivery`` is "phase" or "steered", and ``uuid`` theirs. ``permission_mode`` is the agent's
    own word for how much a prompt of its own may do unasked; ``None``: as the agent is configured.
    ``script``: as in ``StartRun``, for a prompt of its own; ``files`` are the paths of its images.
    """

    text: str
    session_id: str | None = None
    new_session_id: str | None = None
    working_directory: str | None = None
    agent: str | None = None
    model: str | None = None
    script: str | None = None
    files: tuple[str, ...] | None = None
    system_prompt: str | None = None
    if_busy: Literal["refuse", "queue", "steer", "deliver"] = "refuse"
    fork: bool = False
    take_over: bool = False
    wait: bool = False
    permission_mode: str | None = None
    client_token: str | None = None


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question that waits for a person. ``sessions``: the one that asks it, and the one where a
    person looks at its run."""

    asked: Asked
    sessions: tuple[str, ...]


class Subscription(Protocol):
    """A live feed. ``start`` is the cursor it begins after; iterate it for events. ``about`` names
    its one subject, where a client can end the feed by that name, else is empty.

    The iteration ends by itself after ``run.ended`` (a run's feed) or when the daemon stops.
    Transient ``turn.output`` and ``snapshot`` events come in between, without ``seq`` and ``pos``.
    """

    start: int
    about: str

    def __aiter__(self) -> AsyncIterator[object]: ...


@runtime_checkable
class Immediate(Protocol):
    """A feed that needs no task of its reader's to wake for what happens."""

    def hand_to(self, take: Callable[[Burst], bool]) -> None:
        """Call ``take``, from now on, with what happens while the iteration waits, at that moment;
        the iteration goes on behind it.

        What ``take`` does not take (it returns False) the iteration returns next. A fault of
        ``take`` is raised by the iteration.
        """
        ...


class GatewayControl(Protocol):
    """The gateway, as the socket's edge sees it."""

    def status(self) -> GatewayStatus: ...

    async def pair(self, name: str | None, png: bool) -> Pairing:
        """Pair a new device; its key is returned only here, with ``png`` also as a picture."""
        ...

    def invite(self, name: str | None, png: bool, scope: Scope) -> Invitation:
        """Give leave to pair one page. Raises ``Refused``."""
        ...

    async def release(self) -> str:
        """Return the release of the page; empty where none is served."""
        ...

    async def rescope(self, device: str, scope: Scope) -> None:
        """Change what a page may do. Raises ``NotFound`` and ``Refused``."""
        ...

    def devices(self) -> list[Device]: ...

    async def revoke(self, device: str) -> None:
        """Take a device's key back and end its connections. Raises ``NotFound``."""
        ...
