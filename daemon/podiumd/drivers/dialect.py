"""What a spooled turn needs to know of the language its agent speaks over stdin and stdout."""

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
    """What the agent's own record of the session holds once the process has ended.

    ``mark`` names its end ({"size", "last_uuid"}), ``None`` where there is no record;
    ``prompt_recorded`` is ``None`` where nothing is known.
    """

    mark: dict[str, Any] | None = None
    prompt_recorded: bool | None = None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn came to its end, seen from outside the conversation.

    ``kind`` is set where that alone decides (interrupted, timeout, failed, broken); without it the
    conversation does. ``exit_status`` is unknown of a process that is not our child. ``torn``: the
    output ends within a line.
    """

    kind: EndKind | None = None
    detail: str = ""
    exit_status: int | None = None
    seconds: float = 0.0
    background_stopped: tuple[str, ...] = ()
    aftermath: Aftermath = Aftermath()
    torn: bool = False


class Dialect(Protocol):
    """Reads the agent's lines and makes ours; keeps the state of one conversation. No I/O."""

    @property
    def over(self) -> bool:
        """The agent is idle and has done with all that was sent."""
        ...

    @property
    def lingering(self) -> bool:
        """The agent is idle, yet never said what became of something that was sent."""
        ...

    @property
    def hopeless(self) -> str:
        """Why going on makes no sense; empty while it does."""
        ...

    @property
    def waits_for_answer(self) -> bool:
        """A person or Podium has to say something first: silence is no sign of trouble."""
        ...

    @property
    def taken_up(self) -> bool:
        """The agent works on its prompt: what is said now comes after it, not with it."""
        ...

    @property
    def tool_begun(self) -> bool:
        """The agent has begun with a tool."""
        ...

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        """Take one line of the agent and return what it says."""
        ...

    def open_requests(self) -> Sequence[ApprovalRequested | ToolCalled | HookRaised]:
        """What the agent waits for and was not answered, as far as the lines tell."""
        ...

    def replies(self) -> Sequence[bytes]:
        """The lines that are due to the agent and need nobody's decision; handed out once."""
        ...

    def prompt(self, text: str, uuid: str) -> bytes:
        """The line that hands a message to the agent."""
        ...

    def sent(self, uuid: str) -> None:
        """A message is about to be written: the turn is not over before it is dealt with."""
        ...

    def not_sent(self, uuid: str) -> None:
        """It was not written after all."""
        ...

    def answer(self, request_id: str, decision: Decision) -> bytes | None:
        """The line that answers an approval; ``None`` where nobody waits for it."""
        ...

    def reply_tool(self, call_id: str, text: str, success: bool) -> bytes | None:
        """The line that answers a call of a tool; ``None`` where nobody waits for it."""
        ...

    def settle_hook(self, hook_id: str, refusal: str | None) -> bytes | None:
        """The line that lets the agent go on, or not; ``None`` where nobody waits for it."""
        ...

    def interrupt(self) -> bytes:
        """The line that stops what the agent does and withdraws what is queued."""
        ...

    def end(self) -> bytes:
        """The line that makes an idle agent exit."""
        ...

    def report(self, ending: Ending) -> TurnReport:
        """The end of the turn as far as the lines tell."""
        ...
