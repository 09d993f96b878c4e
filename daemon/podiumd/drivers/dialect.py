"""The knowledge of a spooled turn about the language its agent speaks over stdin and stdout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookRaised,
    ToolCalled,
    TurnEvent,
)


class Aftermath(msgspec.Struct, frozen=True):
    """The content of the agent's own record of the session once the process has ended.

    ``mark`` names its end ({"size", "last_uuid"}), ``None`` where there is no record;
    ``prompt_recorded`` is ``None`` where nothing is known.
    """

    mark: dict[str, Any] | None = None
    prompt_recorded: bool | None = None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, seen from outside the conversation.

    ``kind`` is set where that alone decides (interrupted, timeout, failed, broken); without it the
    conversation does. ``exit_status`` is unknown for a process that is not our child. ``torn``: the
    output ends within a line.
    """

    kind: EndKind | None = None
    detail: str = ""
    exit_status: int | None = None
    seconds: float = 0.0
    background_stopped: tuple[str, ...] = ()
    aftermath: Aftermath = Aftermath()
    torn: bool = False


Group = tuple[bytes, ...]
"""Lines that go to an agent in one write: all of them, or none."""


class Dialect(Protocol):
    """Reads the agent's lines and makes ours; keeps the state of one conversation. No I/O.

    A request to the agent is a group of lines. An empty one stands for what needs no line now: the
    agent has it already, or it follows as one of ``replies``.
    """

    @property
    def over(self) -> bool:
        """Return whether the agent is idle and has done with all that was sent."""
        ...

    @property
    def lingering(self) -> bool:
        """Return whether the agent is idle with a sent message whose fate is unknown."""
        ...

    @property
    def closed(self) -> bool:
        """Return whether the agent has done what ``end`` asks for; one that exits by itself shows
        it so."""
        ...

    @property
    def hopeless(self) -> str:
        """Return why going on makes no sense; empty while it does."""
        ...

    @property
    def waits_for_answer(self) -> bool:
        """Return whether a person or Podium must answer first: silence is no sign of trouble."""
        ...

    @property
    def taken_up(self) -> bool:
        """Return whether the agent works on its prompt: a later message comes after it, not with
        it."""
        ...

    @property
    def tool_begun(self) -> bool:
        """Return whether the agent has begun with a tool."""
        ...

    @property
    def idle_line(self) -> bool:
        """Return whether the line that was fed last is no sign of work: the agent tries a request
        once more, keeps its connection alive, or answers a mark."""
        ...

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        """Take one line of the agent and return what it says."""
        ...

    def open_requests(self) -> Sequence[ApprovalRequested | ToolCalled | HookRaised]:
        """List the agent's open requests, as far as the lines show."""
        ...

    def attached(self) -> None:
        """Note that all lines which an earlier daemon may have read were fed.

        What that daemon may have written, and no line tells of, is to be asked before it is written
        (``podiumd.drivers.steps``).
        """
        ...

    def replies(self) -> Sequence[Group]:
        """Return what is due to the agent and needs no decision; handed out once."""
        ...

    def prompt(self, text: str, uuid: str) -> Group | None:
        """Build what hands a message to the agent; ``None`` where a running turn takes none."""
        ...

    def sent(self, uuid: str) -> None:
        """Note that a message is about to be written: the turn ends only after it is dealt with."""
        ...

    def not_sent(self, uuid: str) -> None:
        """Note that it was not written after all."""
        ...

    def answer(self, request_id: str, decision: Decision) -> Group | None:
        """Build what answers an approval; ``None`` where no request waits for it."""
        ...

    def reply_tool(self, call_id: str, text: str, success: bool) -> Group | None:
        """Build what answers a call of a tool; ``None`` where no call waits for it."""
        ...

    def settle_hook(self, hook_id: str, refusal: str | None) -> Group | None:
        """Build what lets the agent go on, or not; ``None`` where no hook waits for it."""
        ...

    def interrupt(self) -> Group:
        """Build what stops the agent's work and withdraws what is queued."""
        ...

    def end(self) -> Group:
        """Build what makes an idle agent write down the rest of its session, and exit if it can;
        empty where only a signal ends it."""
        ...

    def report(self, ending: Ending) -> TurnReport:
        """Build the end of the turn as far as the lines show."""
        ...
