"""The messages between the runtime and a turn that is played inside the daemon."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
import trio

from podiumd.core.decide.policy import hooked
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookPoint,
    HookRaised,
    ToolCalled,
    TurnEvent,
)

EVENTS_AHEAD: Final = 64

T = TypeVar("T")


class ToolReply(msgspec.Struct, frozen=True):
    """The result of a call of one of Podium's own tools."""

    text: str
    success: bool


class Answers(Generic[T]):
    """Awaited answers, by name. The first one holds."""

    def __init__(self) -> None:
        self._asked: dict[str, trio.Event] = {}
        self._given: dict[str, T] = {}

    def expect(self, name: str) -> None:
        """Accept an answer of that name from now on."""
        self._asked.setdefault(name, trio.Event())

    async def wait(self, name: str) -> T:
        """Wait for the answer that is expected, without a limit."""
        await self._asked[name].wait()
        return self._given[name]

    def give(self, name: str, answer: T) -> bool:
        """Give the answer; again is harmless. ``False``: no question waits."""
        if name not in self._asked:
            return False
        self._given.setdefault(name, answer)
        self._asked[name].set()
        return True


class TurnChannel:
    """Channel of events to the turn's followers, and of its answers to those that wait for one.

    ``hooks`` are the places where it wants to be asked. The sender waits for a slow follower.
    """

    def __init__(self, hooks: tuple[HookPoint, ...] = ()) -> None:
        self._send, self.events = trio.open_memory_channel[TurnEvent](EVENTS_AHEAD)
        self._hooks = hooks
        self.approvals = Answers[Decision]()
        self.replies = Answers[ToolReply]()
        self.words = Answers[str | None]()

    async def tell(self, event: TurnEvent) -> None:
        """Send an event."""
        await self._send.send(event)

    def end(self) -> None:
        """End the channel: nothing more is sent."""
        self._send.close()

    async def approve(self, asked: ApprovalRequested) -> Decision:
        """Ask for leave, and wait for it."""
        self.approvals.expect(asked.request_id)
        await self.tell(asked)
        return await self.approvals.wait(asked.request_id)

    async def call(self, call: ToolCalled) -> ToolReply:
        """Call one of Podium's own tools, and wait for what came of it."""
        self.replies.expect(call.call_id)
        await self.tell(call)
        return await self.replies.wait(call.call_id)

    async def hook(
        self,
        name: str,
        event: Literal["before-tool", "after-tool"],
        tool: str,
        input: dict[str, Any],
        output: str = "",
    ) -> str | None:
        """Let the hooks speak that cover this use of a tool; ``name`` is the use's own.

        Returns why not, or ``None`` where none objects.
        """
        if not any(point.event == event and hooked(point.match, tool) for point in self._hooks):
            return None
        raised = HookRaised(f"{name}/{event}", event, tool, input, output)
        self.words.expect(raised.hook_id)
        await self.tell(raised)
        return await self.words.wait(raised.hook_id)
