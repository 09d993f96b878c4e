"""The parrot's driver: a dialect of plain lines on what all processes have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import trio

from podiumd.agents.halves import Host
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.agent_process import AgentProcess, end_leftovers, spawn
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookRaised,
    Output,
    PendingTurn,
    ToolCalled,
    TurnEvent,
    TurnRequest,
    TurnStatus,
)
from podiumd.drivers.dialect import Aftermath, Ending, Group
from podiumd.drivers.reattach import find_agent, replay
from podiumd.drivers.spooled import Look
from podiumd.drivers.spooled_driver import SpooledDriver, messages_of


class ParrotDialect:
    """One line in, one line out, and ``bye``."""

    lingering = closed = False
    hopeless = ""
    waits_for_answer = False
    tool_begun = False
    idle_line = False

    def __init__(self, sent: Sequence[str], served: Sequence[ToolSpec]) -> None:
        self._uuid = sent[0]
        self._said: list[str] = []

    @property
    def over(self) -> bool:
        return bool(self._said)

    @property
    def taken_up(self) -> bool:
        return bool(self._said)

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        self._said.append(line.decode().strip())
        return [Output(self._uuid, "text", self._said[-1])]

    def open_requests(self) -> Sequence[ApprovalRequested | ToolCalled | HookRaised]:
        return []

    def attached(self) -> None:
        """What it was told before is no matter to it."""

    def replies(self) -> Sequence[Group]:
        return []

    def prompt(self, text: str, uuid: str) -> Group:
        return (text.replace("\n", " ").encode() + b"\n",)

    def sent(self, uuid: str) -> None:
        """Nothing is kept of it."""

    def not_sent(self, uuid: str) -> None:
        """Nor of that."""

    def answer(self, request_id: str, decision: Decision) -> Group | None:
        return None

    def reply_tool(self, call_id: str, text: str, success: bool) -> Group | None:
        return None

    def settle_hook(self, hook_id: str, refusal: str | None) -> Group | None:
        return None

    def interrupt(self) -> Group:
        return (b"hush\n",)

    def end(self) -> Group:
        return (b"bye\n",)

    def report(self, ending: Ending) -> TurnReport:
        words = " ".join(self._said)
        kind = ending.kind or ("done" if self._said else "broken")
        return TurnReport(kind=kind, detail=ending.detail, result_text=words)


async def _spawn(request: TurnRequest, dialect: ParrotDialect) -> AgentProcess:
    prompt = dialect.prompt(request.prompt, request.prompt_uuid)
    return await spawn(request, [*request.command], *prompt)


def _look_back(turn: TurnRequest | PendingTurn) -> Look:
    async def look() -> Aftermath:
        await trio.lowlevel.checkpoint()
        return Aftermath()

    return look


class ParrotDriver(SpooledDriver[ParrotDialect]):
    """Runs turns of a parrot."""

    name = "parrot"
    capabilities = Capabilities(interrupt=True, survives_daemon=True, exactly_once="weak")

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        agent = await find_agent(pending)
        if agent is not None:
            return TurnStatus(state="running", pid=agent.pid, proc_start=agent.start)
        await end_leftovers(pending.turn_id, Path(pending.directory))
        dialect = ParrotDialect((pending.prompt_uuid,), ())
        torn = await replay(pending, dialect)
        report = dialect.report(Ending(torn=torn))
        return TurnStatus(state="finished" if dialect.over else "absent", report=report)

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        return None


def make(host: Host) -> ParrotDriver:
    """Make the driver of one parrot."""
    return ParrotDriver(
        host.watch,
        host.spool_megabytes,
        dialect=lambda turn: ParrotDialect(messages_of(turn), turn.served),
        spawn=_spawn,
        look_back=_look_back,
    )
