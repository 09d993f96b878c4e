"""The Agent Client Protocol as a ``Dialect``: an agent's lines to events, our wishes to its lines.

No I/O. The greeting stands in the agent's input before it begins. Each step follows from the answer
to the one before it, with a mark (``podiumd.drivers.steps``). The prompt has a *fence* before it in
the same write: what an agent that was told to load a session sends until it has answered that is
the session's past, and none of this turn's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from podiumd.agents.acp.asked import Asked
from podiumd.agents.acp.ending import Ends
from podiumd.agents.acp.handshake import MODE_FENCE, Handshake
from podiumd.agents.acp.minute import STATUS
from podiumd.agents.acp.rows import ENDED, Rows
from podiumd.agents.acp.script import Script
from podiumd.agents.acp.telling import Telling
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import (
    AgentDescribed,
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    HookRaised,
    Output,
    PromptState,
    SessionNamed,
    ToolCalled,
    TurnEvent,
)
from podiumd.drivers.dialect import Ending, Group
from podiumd.drivers.steps import MARK_METHOD, Steps
from podiumd.formats.acp import calls, wire
from podiumd.formats.jsonrpc_lines import Answer, Bad, Notice, Request
from podiumd.formats.jsonrpc_lines import read as read_line
from podiumd.formats.said import read

PROMPT_FENCE: Final = "f:prompt"

_WORK: Final = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "plan", "tool_call", "tool_call_update"}
)
"""The updates that show work on a prompt. The others are said beside it."""


class AcpDialect:
    """The conversation of one turn. ``rows`` take what is said and done in it."""

    def __init__(self, script: Script, rows: Rows | None = None) -> None:
        self.script = script
        self._rows = rows
        self._steps = Steps(version=True)
        self.ends = Ends(errors_as_text="errors-as-text" in script.quirks)
        self._handshake = Handshake(script, self._steps, self.ends.refuse)
        self._asked = Asked(script)
        self._telling = Telling(self.ends.texts)
        self._stopping = self._tidies = self._named = self._fenced = self._planned = False
        self.closed = False
        self.tool_begun = False
        self.idle_line = True

    # -- its state -----------------------------------------------------------------------------

    @property
    def opened(self) -> str:
        """Return the agent's id of the session, empty before it is open."""
        return self._handshake.session

    @property
    def taken_up(self) -> bool:
        return self._steps.has_arrived(calls.PROMPT)

    @property
    def weak(self) -> bool:
        """Return whether the agent answers no marks."""
        return self._steps.weak

    @property
    def over(self) -> bool:
        return self.ends.end is not None or (self._stopping and not self._planned)

    @property
    def lingering(self) -> bool:
        return False

    @property
    def hopeless(self) -> str:
        if self.ends.refused is not None:
            return "" if self._tidies else self.ends.refused.detail
        stuck = self._steps.doubtful and self._steps.weak
        return "it cannot be told whether the prompt was sent" if stuck else ""

    @property
    def waits_for_answer(self) -> bool:
        return bool(self._asked.waiting)

    # -- its lines -----------------------------------------------------------------------------

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        """Take one line of stdout."""
        message = read_line(line)
        self.idle_line = True
        events: list[TurnEvent] = []
        match message:
            case Bad():
                self.ends.bad_lines += 1
                self.ends.lost_lines += message.lost
            case Answer():
                events = self._answer(message)
            case Request():
                self.idle_line = False
                events = self._request(message)
            case Notice():
                events = self._notice(message)
        return [*self._described(), *self._begun(), *events]

    def _answer(self, answer: Answer) -> list[TurnEvent]:
        name = self._steps.feed(answer)
        if answer.id == MODE_FENCE:
            self._handshake.fenced()
        elif answer.id == PROMPT_FENCE:
            self._fenced = True
        elif answer.id == calls.CLOSE:
            self.closed = True
        elif name == calls.PROMPT:
            self.idle_line = False
            return self._ended(answer)
        elif name == calls.DELETE:
            self._tidies = False
            self.ends.opened()
            return []
        elif name is not None:
            self.idle_line = False
            self._handshake.answered(name, answer)
        self._go_on()
        return []

    def _go_on(self) -> None:
        """Plan the prompt, once the session is ready for it."""
        refused = self.ends.refused is not None
        if self.script.opens_only and (self._handshake.ready or refused):
            self._tidy()
        if not self._handshake.ready or self._stopping or refused or self.script.opens_only:
            return
        self._planned = True
        line = calls.prompt(self._handshake.session, self.script.prompt, self.script.images)
        self._steps.plan(calls.PROMPT, calls.fence(PROMPT_FENCE, MARK_METHOD), line)

    def _tidy(self) -> None:
        """Delete the session that was opened only, where it is new and the agent can."""
        if self.opened and self._handshake.deletes and self.script.how == "new":
            self._tidies = True
            self._steps.plan(calls.DELETE, calls.delete_session(self.opened))
        else:
            self.ends.opened()

    def _described(self) -> list[TurnEvent]:
        """Report, once, what the agent says of itself."""
        about, self._handshake.described = self._handshake.described, None
        return [] if about is None else [AgentDescribed(about)]

    def _begun(self) -> list[TurnEvent]:
        """Tell, once, that the agent has the prompt, or a session without one."""
        if self._named or not (self.taken_up or (self.script.opens_only and self.ends.end)):
            return []
        self._named = True
        if self.script.opens_only:
            return [SessionNamed(self.opened)]
        return [SessionNamed(self.opened), PromptState(self.script.uuid, "started")]

    def _ended(self, answer: Answer) -> list[TurnEvent]:
        if answer.error is not None:
            self.ends.failed(answer.error)
        else:
            done = read(wire.PromptResponse, answer.result)
            self.ends.over(done, tool_begun=self.tool_begun)
        self._telling.close()
        closed: list[TurnEvent] = [ApprovalWithdrawn(key) for key in self._asked.over()]
        return [*closed, PromptState(self.script.uuid, "completed")]

    def _request(self, request: Request) -> list[TurnEvent]:
        in_turn = self._planned and self.ends.end is None
        return [*self._asked.take(request, in_turn=in_turn)]

    def _notice(self, notice: Notice) -> list[TurnEvent]:
        if notice.method == "$/cancel_request":
            about = read(wire.CancelRequest, notice.params).request_id
            closed = [] if about is None else self._asked.withdrawn(about)
            return [ApprovalWithdrawn(key) for key in closed]
        if notice.method == STATUS:
            return [Output("", "status", str(notice.params.get("text", "")))]
        if notice.method != "session/update":
            return []
        update = read(wire.SessionNotification, notice.params).update
        self._handshake.updated(update)
        self._go_on()
        if update.cost is not None:
            self.ends.costs(update.cost.in_usd, before=self._past)
        if self._past or self.ends.end is not None:
            return []
        if update.session_update in _WORK:
            self.idle_line = False
            self._steps.confirm(calls.PROMPT)
        return self._told(update)

    @property
    def _past(self) -> bool:
        """Return whether what is said now belongs to an earlier turn of the session."""
        if not self._planned:
            return True
        return self._handshake.loads and not self._fenced and not self._steps.weak

    def _told(self, update: wire.SessionUpdate) -> list[TurnEvent]:
        match update.session_update:
            case "agent_message_chunk":
                if self._rows is not None:
                    self._rows.words("reply", update)
                return self._telling.words(update)
            case "agent_thought_chunk":
                if self._rows is not None:
                    self._rows.words("thinking", update)
                return self._telling.thoughts(update)
            case "tool_call" | "tool_call_update":
                self.tool_begun = True
                call = self._asked.note(_call_of(update))
                if self._rows is not None:
                    self._rows.tool(call)
                over = update.status in ENDED
                closed = self._asked.settled(update.tool_call_id) if over else []
                withdrawn: list[TurnEvent] = [ApprovalWithdrawn(key) for key in closed]
                return [*withdrawn, *self._telling.tool(call)]
            case "plan":
                return self._telling.plan(update)
            case "usage_update":
                return self._telling.context(update)
            case _:
                return []

    # -- our lines -----------------------------------------------------------------------------

    def open_requests(self) -> Sequence[ApprovalRequested | ToolCalled | HookRaised]:
        return self._asked.waiting

    def attached(self) -> None:
        self._steps.attached()

    def replies(self) -> Sequence[Group]:
        due: list[Group] = [(line,) for line in self._asked.due()]
        # A turn that is stopped begins nothing more.
        return due if self._stopping else [*due, *self._steps.due()]

    def prompt(self, text: str, uuid: str) -> Group | None:
        return None  # what is said to a running turn has five meanings in seven agents

    def sent(self, uuid: str) -> None:
        """Note nothing: no message goes to a running turn."""

    def not_sent(self, uuid: str) -> None:
        """Note nothing: no message goes to a running turn."""

    def answer(self, request_id: str, decision: Decision) -> Group | None:
        line = self._asked.answer(request_id, decision)
        if line is None:
            return None
        if line:
            return (line,)
        self.ends.refuse("the agent offers no answer for once: nothing was allowed")
        return (calls.cancel(self.opened), *self._asked.cancelled())

    def reply_tool(self, call_id: str, text: str, success: bool) -> Group | None:
        return None  # Podium's tools have a server of their own

    def settle_hook(self, hook_id: str, refusal: str | None) -> Group | None:
        return None

    def interrupt(self) -> Group:
        self._stopping = self._handshake.stopped = True
        if not self._planned:
            return ()
        return (calls.cancel(self.opened), *self._asked.cancelled())

    def end(self) -> Group:
        """Build what has the agent write down all of a session that was prompted."""
        if self.closed or not (self._planned and self._handshake.closes):
            return ()
        return (calls.close_session(self.opened),)

    def report(self, ending: Ending) -> TurnReport:
        report = self.ends.report(ending, prompt_recorded=self.taken_up, tool_begun=self.tool_begun)
        return replace(report, denials=tuple(self._asked.denials.values()))


def _call_of(update: wire.SessionUpdate) -> wire.ToolCall:
    return wire.ToolCall(
        **{name: getattr(update, name) for name in wire.ToolCall.__struct_fields__}
    )
