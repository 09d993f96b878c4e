"""What a turn that is played inside the daemon tells the runtime, and is told by it."""

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
    """What came of a call of one of Podium's own tools."""

    text: str
    success: bool


class Answers(Generic[T]):
    """Answers that somebody waits for, by name. The first one holds."""

    def __init__(self) -> None:
        self._asked: dict[str, trio.Event] = {}
        self._given: dict[str, T] = {}

    def expect(self, name: str) -> None:
        """From now on an answer can be given."""
        self._asked.setdefault(name, trio.Event())

    async def wait(self, name: str) -> T:
        """The answer to what is expected, however long it takes."""
        await self._asked[name].wait()
        return self._given[name]

    def give(self, name: str, answer: T) -> bool:
        """Answer; again is harmless. ``False``: nobody has asked."""
        if name not in self._asked:
            return False
        self._given.setdefault(name, answer)
        self._asked[name].set()
        return True


class TurnChannel:
    """Events for whoever follows the turn, and its answers to those that wait for one.

    ``hooks`` are the places where it wants to be asked. Who tells waits for a follower that is
    slow.
    """

    def __init__(self, hooks: tuple[HookPoint, ...] = ()) -> None:
        self._send, self.events = trio.open_memory_channel[TurnEvent](EVENTS_AHEAD)
        self._hooks = hooks
        self.approvals = Answers[Decision]()
        self.replies = Answers[ToolReply]()
        self.words = Answers[str | None]()

    async def tell(self, event: TurnEvent) -> None:
        """Tell an event."""
        await self._send.send(event)

    def end(self) -> None:
        """Nothing more is told."""
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
