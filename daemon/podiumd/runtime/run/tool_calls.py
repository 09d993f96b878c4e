"""The calls of Podium's own tools in one turn, and the hooks around every tool of its agent.

One at a time, in the order in which the agent raised them: what it saves counts for the transition
that it asks for next. A call is stored before the agent is answered, and one that is stored is
answered from its fact: it is never done twice. Only a hook after it may be, over a daemon's death.
"""

from __future__ import annotations

from typing import Any

import trio

from podiumd.core.ids import derive
from podiumd.core.recipe.served_tools import SERVED_PREFIX
from podiumd.core.run import commands as c
from podiumd.core.run.facts import ToolUsed, TurnIntended
from podiumd.drivers import base
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.hook_runner import around_tool, hooks_of
from podiumd.tools.process.processes import sweep

MOST_WAITING = 64
"""Calls that wait here; an agent that goes on calling waits before it is listened to again."""

ASKED = (
    "You have asked the person a question. End your turn now, without another word: what they "
    "answer is the next thing you hear."
)
OBJECTS = "A check of this phase objects to that:"


async def end_leftovers(actor: RunActor, intent: TurnIntended) -> None:
    """End the hooks of a turn that a daemon which died has left."""
    if hooks_of(actor.state, "before-tool") or hooks_of(actor.state, "after-tool"):
        await sweep(_marker(actor, intent))


def _marker(actor: RunActor, intent: TurnIntended) -> str:
    """Derive the marker of a turn's hooks: one for all, they run one after another."""
    return derive(actor.run_id, intent.turn_id, "hooks")


Raised = base.ToolCalled | base.HookRaised


class _FromOutside:
    """A call whose caller is not the driver."""

    def __init__(self, call: base.ToolCalled) -> None:
        self.call = call
        self.done = trio.Event()
        self.success = False
        self.text = ""

    def settle(self, success: bool, text: str) -> None:
        self.success, self.text = success, text
        self.done.set()


_Waiting = Raised | _FromOutside


class ToolCalls:
    """The tools of one turn. ``handle`` gets the result of each call."""

    def __init__(self, actor: RunActor, intent: TurnIntended, handle: base.Turn) -> None:
        self._actor = actor
        self._intent = intent
        self._handle = handle
        self._marker = _marker(actor, intent)
        self._objections: dict[str, str | None] = {}
        self._send: trio.MemorySendChannel[_Waiting]
        self._receive: trio.MemoryReceiveChannel[_Waiting]
        self._send, self._receive = trio.open_memory_channel(MOST_WAITING)

    async def take(self, event: Raised) -> None:
        """Deal with it when what came before is dealt with."""
        await self._send.send(event)

    async def use(self, call_id: str, tool: str, args: dict[str, Any]) -> tuple[bool, str]:
        """Do a call that did not come from the driver; whether it was done, and what came of it.

        Waits for ever where the turn ends meanwhile: that is for the caller to see.
        """
        call = _FromOutside(base.ToolCalled(call_id, tool, args))
        await self._send.send(call)
        await call.done.wait()
        return call.success, call.text

    async def serve(self) -> None:
        """Deal with all that is taken, until the turn is over."""
        async for event in self._receive:
            if isinstance(event, base.HookRaised):
                await self._raised(event)
                continue
            call = event.call if isinstance(event, _FromOutside) else event
            answer = await self._called(call)
            if answer is None:  # the turn is over: no agent waits for it
                continue
            if isinstance(event, _FromOutside):
                event.settle(*answer)
            else:
                await self._handle.reply_tool(call.call_id, answer[1], answer[0])

    async def _called(self, call: base.ToolCalled) -> tuple[bool, str] | None:
        """Return whether it was done, and its result in words; ``None``: its turn is over."""
        tool = call.tool.removeprefix(SERVED_PREFIX)
        used = self._stored(call.call_id) or await self._done(call, tool)
        if used is None:
            return None
        more = await self._objected(call, tool, used.message) if used.success else None
        text = used.message if more is None else f"{used.message}\n\n{OBJECTS} {more}"
        return used.success, text

    async def _done(self, call: base.ToolCalled, tool: str) -> ToolUsed | None:
        """Do and store the call, unless a hook is against it; ``None``: its turn is over."""
        actor = self._actor
        refused = None
        if not self._has_asked:
            refused = await around_tool(actor, "before-tool", tool, call.args, self._marker)
        await actor.report(
            c.ReportToolCall(
                **actor.stamp(),
                turn_id=self._intent.turn_id,
                call_id=call.call_id,
                tool=tool,
                args=call.args,
                refused=refused,
            )
        )
        return self._stored(call.call_id)

    async def _objected(self, call: base.ToolCalled, tool: str, message: str) -> str | None:
        """Ask the hooks about a call that was done, once in this daemon's life.

        It is not known whether a daemon that died has got the answer.
        """
        if call.call_id not in self._objections:
            self._objections[call.call_id] = await around_tool(
                self._actor, "after-tool", tool, call.args, self._marker, message
            )
        return self._objections[call.call_id]

    async def _raised(self, hook: base.HookRaised) -> None:
        """Ask the hooks about a tool of the agent's own; Podium's have theirs where they are
        called."""
        tool, refusal = hook.tool, None
        if tool.startswith(SERVED_PREFIX):
            pass
        elif hook.event == "before-tool" and self._has_asked:
            refusal = ASKED
        else:
            output = hook.output if hook.event == "after-tool" else None
            refusal = await around_tool(
                self._actor, hook.event, tool, hook.input, self._marker, output
            )
        await self._handle.settle_hook(hook.hook_id, refusal)

    def _stored(self, call_id: str) -> ToolUsed | None:
        turn = self._actor.state.turn
        if turn is None or turn.intent.turn_id != self._intent.turn_id:
            return None
        return turn.calls.get(call_id)

    @property
    def _has_asked(self) -> bool:
        turn = self._actor.state.turn
        return turn is not None and bool(turn.asked)
