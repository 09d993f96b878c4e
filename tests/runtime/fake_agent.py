"""An agent whose turns do exactly what the test says, and that can outlive its daemon."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import trio

from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookRaised,
    Output,
    PendingTurn,
    PromptState,
    Started,
    ToolCalled,
    TurnEvent,
    TurnRequest,
    TurnStatus,
)
from podiumd.drivers.fifo import LineTooLong

LINE = 1 << 20
LIVES = Started(pid=4_000_000, proc_start=1, group=4_000_000)


class FakeTurn:
    """Implements ``podiumd.drivers.base.Turn``; the methods after the protocol's are the test's."""

    def __init__(self, request: TurnRequest) -> None:
        self.request = request
        self.prompt = request.prompt
        self.interrupted = trio.Event()
        self.gone = trio.Event()
        self.obeys = True
        self.takes_steers = True
        self.vanishes = False
        self.steers: dict[str, str] = {}
        self.answers: dict[str, Decision] = {}
        self.told: dict[str, tuple[bool, str]] = {}
        self.settled: dict[str, str | None] = {}
        self.left = False
        self.attached = 0
        self._asked: dict[str, ApprovalRequested] = {}
        self._report: TurnReport | None = None
        self._fault: Exception | None = None
        self._changed = trio.Event()
        self._leases = [os.dup(fd) for fd in request.inherited]
        self._send, self._receive = trio.open_memory_channel[TurnEvent](math.inf)

    def __aiter__(self) -> FakeTurn:
        return self

    async def __anext__(self) -> TurnEvent:
        try:
            event = await self._receive.receive()
        except trio.EndOfChannel:
            if self._fault is not None:
                raise self._fault from None
            raise StopAsyncIteration from None
        return event

    @property
    def report(self) -> TurnReport:
        assert self._report is not None, "the turn has no report"
        return self._report

    async def interrupt(self) -> None:
        await trio.lowlevel.checkpoint()
        self.interrupted.set()
        if self.obeys:
            self.end(TurnReport(kind="interrupted", prompt_recorded=True))

    async def steer(self, text: str, uuid: str) -> bool:
        await trio.lowlevel.checkpoint()
        if self.gone.is_set() or not self.takes_steers:
            return False
        if len(text) > LINE:
            raise LineTooLong
        self.steers[uuid] = text
        self._change()
        return True

    async def answer(self, request_id: str, decision: Decision) -> bool:
        await trio.lowlevel.checkpoint()
        if self.gone.is_set() or request_id not in self._asked:
            return False
        self.answers.setdefault(request_id, decision)
        self._change()
        return True

    async def reply_tool(self, call_id: str, text: str, success: bool) -> bool:
        await trio.lowlevel.checkpoint()
        self.told[call_id] = (success, text)
        self._change()
        return True

    async def settle_hook(self, hook_id: str, refusal: str | None) -> bool:
        await trio.lowlevel.checkpoint()
        self.settled[hook_id] = refusal
        self._change()
        return True

    async def leave(self) -> None:
        self.left = True
        self._send.close()
        await trio.lowlevel.checkpoint()

    # -- what the test makes the agent do ----------------------------------------------------

    def says(self, event: TurnEvent) -> None:
        """The agent's next event."""
        self._send.send_nowait(event)

    def says_text(self, text: str) -> None:
        self.says(Output(self.request.prompt_uuid, "text", text))

    def asks(self, request_id: str = "r1", tool: str = "Bash", **fields: Any) -> None:
        """The agent asks for leave to use a tool."""
        asked = ApprovalRequested(
            request_id=request_id,
            tool=tool,
            input=fields.pop("input", {"command": "make"}),
            tool_use_id=f"use-{request_id}",
            **fields,
        )
        self._asked[request_id] = asked
        self.says(asked)

    async def calls(
        self, tool: str, call_id: str | None = None, /, **args: Any
    ) -> tuple[bool, str]:
        """The agent calls one of Podium's tools: whether it was done, and what it was told."""
        call_id = call_id or f"call-{len(self.told) + 1}"
        self.told.pop(call_id, None)
        self.says(ToolCalled(call_id, tool, args))
        while call_id not in self.told:
            await self._changed.wait()
        return self.told[call_id]

    async def uses(
        self, tool: str, event: Literal["before-tool", "after-tool"] = "before-tool", **input: Any
    ) -> str | None:
        """The agent is about to use a tool of its own, or has: why it may not."""
        hook_id = f"hook-{len(self.settled) + 1}"
        self.says(HookRaised(hook_id, event, tool, input, "its output"))
        while hook_id not in self.settled:
            await self._changed.wait()
        return self.settled[hook_id]

    def waits_no_more(self) -> None:
        """Answers come too late from now on."""
        self._asked.clear()

    def begins_with(self, uuid: str) -> None:
        """The agent takes a steer up."""
        self.says(PromptState(uuid, "started"))

    def end(self, report: TurnReport) -> None:
        """The agent's process ends, with this to report."""
        if self.gone.is_set():
            return
        self._report = report
        self.gone.set()
        for lease in self._leases:
            os.close(lease)
        self._send.close()

    def complete(self, outcome: str = "complete", **structured: Any) -> None:
        """The turn comes to its own end with this outcome."""
        self.end(done({"outcome": outcome, **structured}))

    def breaks(self, *, recorded: bool = True) -> None:
        """The process dies in the middle."""
        self.end(TurnReport(kind="broken", detail="it died", prompt_recorded=recorded))

    def fails_inside(self, error: Exception) -> None:
        """The driver has a fault of its own."""
        self._fault = error
        self._send.close()

    async def answered(self, request_id: str = "r1") -> Decision:
        """The decision that reached the agent."""
        while request_id not in self.answers:
            await self._changed.wait()
        return self.answers[request_id]

    async def steered(self) -> str:
        """The uuid of the first steer that reached the agent."""
        while not self.steers:
            await self._changed.wait()
        return next(iter(self.steers))

    def attach(self) -> None:
        """A new daemon follows the turn: approvals still open are raised again."""
        self.left = False
        self.attached += 1
        self._send, self._receive = trio.open_memory_channel[TurnEvent](math.inf)
        self.says(LIVES)
        for asked in self._asked.values():
            if asked.request_id not in self.answers:
                self.says(asked)
        if self.gone.is_set():
            self._send.close()
        self._change()

    async def taken_up(self) -> None:
        """Wait until a new daemon follows the turn."""
        while not self.attached:
            await self._changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


def done(structured: dict[str, Any] | None = None, text: str = "done", **fields: Any) -> TurnReport:
    """The report of a turn that came to its own end."""
    return TurnReport(
        kind="done",
        texts=(text,),
        result_text=text,
        structured=structured,
        prompt_recorded=True,
        **fields,
    )


class FakeDriver:
    """Implements ``podiumd.drivers.base.Driver``. Its turns live on when a daemon lets go."""

    name = "fake"

    def __init__(self, *, survives: bool = True) -> None:
        self.capabilities = Capabilities(
            structured_output=True,
            approvals=True,
            interrupt=True,
            steer=True,
            resume=True,
            fork=True,
            survives_daemon=survives,
            hooks=True,
            system_text=True,
            deny_words=True,
            own_tools="inside",
        )
        self.problem: str | None = None
        self.turns: list[FakeTurn] = []
        self.settled: dict[str, TurnStatus] = {}
        self.settle_fault: Exception | None = None
        self.looked_at: list[PendingTurn] = []
        self.transcripts: dict[str, Path] = {}
        self.spawn: trio.Event | None = None
        self._started_send, self._started = trio.open_memory_channel[FakeTurn](math.inf)

    async def next_turn(self) -> FakeTurn:
        """The next turn that was started, once it is."""
        return await self._started.receive()

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncIterator[FakeTurn]:
        if self.spawn is not None:
            await self.spawn.wait()
        turn = FakeTurn(request)
        turn.says(LIVES)
        self.turns.append(turn)
        self._started_send.send_nowait(turn)
        async with self._followed(turn):
            yield turn

    @asynccontextmanager
    async def reattach(self, pending: PendingTurn) -> AsyncIterator[FakeTurn]:
        turn = self._of(pending)
        if turn is None or turn.vanishes:
            raise LookupError(pending.turn_id)
        turn.attach()
        async with self._followed(turn):
            yield turn

    @asynccontextmanager
    async def _followed(self, turn: FakeTurn) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if not turn.left:
                turn.end(TurnReport(kind="interrupted", detail="torn down"))

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        await trio.lowlevel.checkpoint()
        self.looked_at.append(pending)
        if self.settle_fault is not None:
            raise self.settle_fault
        if pending.turn_id in self.settled:
            return self.settled[pending.turn_id]
        turn = self._of(pending)
        if turn is None:
            return TurnStatus(state="absent")
        if turn.gone.is_set():
            return TurnStatus(state="finished", report=turn.report)
        return TurnStatus(state="running", pid=LIVES.pid, proc_start=LIVES.proc_start)

    def _of(self, pending: PendingTurn) -> FakeTurn | None:
        found = [turn for turn in self.turns if turn.request.turn_id == pending.turn_id]
        return found[-1] if found else None

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        await trio.lowlevel.checkpoint()
        return self.problem

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        return self.transcripts.get(session_id)
