"""A turn whose agent could not be started: no events, only a report."""

from __future__ import annotations

from typing import Self

import trio

from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import Decision, TurnEvent


class FailedStart:
    """Implements ``podiumd.drivers.base.Turn``."""

    def __init__(self, report: TurnReport) -> None:
        self.report = report

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        await trio.lowlevel.checkpoint()
        raise StopAsyncIteration

    async def interrupt(self) -> None:
        await trio.lowlevel.checkpoint()

    async def steer(self, text: str, uuid: str) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    async def answer(self, request_id: str, decision: Decision) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    async def reply_tool(self, call_id: str, text: str, success: bool) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    async def settle_hook(self, hook_id: str, refusal: str | None) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    async def leave(self) -> None:
        await trio.lowlevel.checkpoint()
