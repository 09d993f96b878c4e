"""A driver of the barest kind on ``podiumd.drivers.steps``, for the Agent Client Protocol.

It proves what the layer promises to each driver of such an agent; it is none for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import trio

from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.drivers.agent_process import AgentProcess, end_leftovers, spawn
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    Output,
    PendingTurn,
    SessionNamed,
    TurnEvent,
    TurnRequest,
    TurnStatus,
)
from podiumd.drivers.dialect import Aftermath, Ending, Group
from podiumd.drivers.reattach import find_agent, replay
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import Look
from podiumd.drivers.spooled_driver import SpooledDriver
from podiumd.drivers.steps import Steps
from podiumd.formats.jsonrpc_lines import (
    Answer,
    Id,
    Message,
    Notice,
    Request,
    not_found,
    read,
    write,
)

KEPT = "prompt.json"


def line(message: Message) -> bytes:
    return write(message, version=True)


class SteppedDialect:
    """One conversation; the prompt is read from the turn's directory, whoever asks for it."""

    lingering = closed = False

    def __init__(self, turn: TurnRequest | PendingTurn) -> None:
        kept = Path(turn.directory, KEPT)
        if isinstance(turn, TurnRequest):
            kept.write_text(json.dumps(turn.prompt))
        self._prompt: str = json.loads(kept.read_text()) if kept.exists() else ""
        self._cwd = turn.working_directory
        self.steps = Steps(version=True)
        self.steps.begin("init")
        self._due: list[Group] = []
        self._asked: dict[str, tuple[Id, ApprovalRequested]] = {}
        self._answers: dict[str, Group] = {}
        self._session = self._ended = ""
        self.texts: list[str] = []
        self.tool_begun = self.idle_line = False

    @property
    def over(self) -> bool:
        return bool(self._ended)

    @property
    def hopeless(self) -> str:
        stuck = self.steps.doubtful and self.steps.weak
        return "it cannot be told whether the prompt was sent" if stuck else ""

    @property
    def waits_for_answer(self) -> bool:
        return bool(self._asked)

    @property
    def taken_up(self) -> bool:
        return self.steps.has_arrived("prompt") and not self.steps.doubtful

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        message = read(line)
        self.idle_line = False
        match message:
            case Answer():
                return self._step(self.steps.feed(message), message)
            case Request(method="session/request_permission"):
                return [self._permission(message)]
            case Request():
                self._due.append((write(not_found(message), version=True),))
            case Notice(method="session/update"):
                return self._update(message.params["update"])
            case _:
                pass
        return []

    def _step(self, name: str | None, answer: Answer) -> list[TurnEvent]:
        self.idle_line = name is None
        if name == "init":
            opened = Request("open", "session/new", {"cwd": self._cwd, "mcpServers": []})
            self.steps.plan("open", line(opened))
        elif name == "open":
            self._session = answer.result["sessionId"]
            words = [{"type": "text", "text": self._prompt}]
            params = {"sessionId": self._session, "prompt": words}
            self.steps.plan("prompt", line(Request("prompt", "session/prompt", params)))
            return [SessionNamed(self._session)]
        elif name == "prompt":
            self._ended = "error" if answer.error is not None else answer.result["stopReason"]
        return []

    def _permission(self, asked: Request) -> ApprovalRequested:
        self.steps.confirm("prompt")  # its words may come before its answer to the mark
        call = asked.params["toolCall"]
        request = ApprovalRequested(
            str(asked.id), "execute", call.get("rawInput", {}), call["toolCallId"]
        )
        self._asked[request.request_id] = (asked.id, request)
        return request

    def _update(self, update: dict[str, Any]) -> list[TurnEvent]:
        if update["sessionUpdate"] in ("agent_message_chunk", "tool_call"):
            self.steps.confirm("prompt")
        match update["sessionUpdate"]:
            case "agent_message_chunk":
                self.texts.append(update["content"]["text"])
                return [Output("a", "text", self.texts[-1])]
            case "tool_call":
                self.tool_begun = True
            case "tool_call_update":
                done = update["toolCallId"]
                left = [one for one in self._asked.values() if one[1].tool_use_id != done]
                self._asked = {one[1].request_id: one for one in left}
        return []

    def open_requests(self) -> Sequence[ApprovalRequested]:
        return [request for _, request in self._asked.values()]

    def attached(self) -> None:
        self.steps.attached()

    def replies(self) -> Sequence[Group]:
        due, self._due = [*self._due, *self.steps.due()], []
        return due

    def prompt(self, text: str, uuid: str) -> Group:
        return ()  # it takes no words on the way

    def sent(self, uuid: str) -> None:
        """Nothing is kept of it."""

    def not_sent(self, uuid: str) -> None:
        """Nor of that."""

    def answer(self, request_id: str, decision: Decision) -> Group | None:
        asked = self._asked.pop(request_id, None)
        if asked is not None:
            option = "approve_once" if decision.behavior == "allow" else "reject"
            outcome = {"outcome": {"outcome": "selected", "optionId": option}}
            self._answers[request_id] = (line(Answer(asked[0], outcome)),)
        return self._answers.get(request_id)

    def reply_tool(self, call_id: str, text: str, success: bool) -> Group | None:
        return None

    def settle_hook(self, hook_id: str, refusal: str | None) -> Group | None:
        return None

    def interrupt(self) -> Group:
        """Cancel, with an answer to all that is open, in one write."""
        if not self._session:
            return ()
        cancelled = {"outcome": {"outcome": "cancelled"}}
        answers = [line(Answer(key, cancelled)) for key, _ in self._asked.values()]
        return (line(Notice("session/cancel", {"sessionId": self._session})), *answers)

    def end(self) -> Group:
        return ()

    def report(self, ending: Ending) -> TurnReport:
        kind: EndKind = ending.kind or ("done" if self._ended == "end_turn" else "broken")
        return TurnReport(
            kind=kind,
            detail=ending.detail,
            texts=tuple(self.texts),
            prompt_recorded=self.steps.has_arrived("prompt"),
            tool_begun=self.tool_begun,
        )


async def _spawn(request: TurnRequest, dialect: SteppedDialect) -> AgentProcess:
    first = Request("init", "initialize", {"protocolVersion": 1})
    return await spawn(request, [*request.command], line(first))


def _look_back(turn: TurnRequest | PendingTurn) -> Look:
    async def look() -> Aftermath:
        await trio.lowlevel.checkpoint()
        return Aftermath()

    return look


class SteppedDriver(SpooledDriver[SteppedDialect]):
    """Runs turns, each in a new session."""

    name = "stepped"
    capabilities = Capabilities(
        approvals=True,
        interrupt=True,
        survives_daemon=True,
        names_sessions=True,
        exactly_once="mark",
    )

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        agent = await find_agent(pending)
        if agent is not None:
            return TurnStatus(state="running", pid=agent.pid, proc_start=agent.start)
        await end_leftovers(pending.turn_id, Path(pending.directory))
        dialect = SteppedDialect(pending)
        torn = await replay(pending, dialect)
        report = dialect.report(Ending(torn=torn))
        if dialect.over:
            return TurnStatus(state="finished", report=report)
        begun = dialect.steps.has_arrived("prompt") or dialect.tool_begun
        return TurnStatus(state="broken" if begun else "absent", report=report if begun else None)

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        return None


def make(watch: SpoolWatch, spool_megabytes: Any) -> SteppedDriver:
    """Make the driver."""
    return SteppedDriver(
        watch, spool_megabytes, dialect=SteppedDialect, spawn=_spawn, look_back=_look_back
    )
