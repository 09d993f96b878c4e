"""Claude Code's stream-json as a ``Dialect``: its lines to events, our wishes to its lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, get_args

from msgspec.structs import replace

from podiumd.agents.claude.tools import ServedTools
from podiumd.agents.claude.writing import Writing
from podiumd.core.prompts.tools import ToolSpec, plain_name
from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    HookRaised,
    Output,
    PromptProgress,
    PromptState,
    ToolCalled,
    TurnEvent,
)
from podiumd.drivers.dialect import Ending, Group
from podiumd.formats import claude_control
from podiumd.formats.claude_events import (
    ApiRetry,
    AssistantMessage,
    BadLine,
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    Init,
    Lifecycle,
    Other,
    StreamDelta,
    ToolWriting,
    UserMessage,
)
from podiumd.formats.claude_refusals import trying_again
from podiumd.formats.claude_stream import decode
from podiumd.formats.claude_turn import STRUCTURED_OUTPUT, TurnReader
from podiumd.formats.message import Block, Text, Thinking, ToolUse
from podiumd.formats.repeated import RepeatedFailures

ASKS_LEAVE: Final = "can_use_tool"
"""The one request that a person answers."""

_OPENED: Final = "podium-opened"
OPENING: Final = claude_control.initialize(_OPENED, (), "")
"""The greeting that is answered when the session is open, in place of a prompt."""

KEEPS_ALIVE: Final = "keep_alive"

DETAIL_CHARACTERS = 200
RESULT_CHARACTERS = 2000


_PROMPT_STATES: dict[str, PromptProgress] = {state: state for state in get_args(PromptProgress)}


class ClaudeDialect:
    """The conversation of one turn with ``claude``.

    ``sent`` are the uuids handed over so far, ``specs`` the tools that Podium serves in it.
    ``opens_only``: there is no prompt, and it is over when the session is open.
    """

    def __init__(
        self, sent: Iterable[str], specs: Sequence[ToolSpec] = (), *, opens_only: bool = False
    ) -> None:
        self.reader = TurnReader(sent)
        self._opens_only, self._opened = opens_only, False
        self._served = ServedTools(specs)
        self._heard = False
        self._streamed: set[tuple[str, str]] = set()
        self._writing = Writing()
        self._failures = RepeatedFailures()
        self._reporting: set[str] = set()
        self._answers: dict[str, Group] = {}
        self.idle_line = False
        self._unsent: set[str] = set()
        self._requests = 0
        self._stopped: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        return self._opened or self.reader.over

    @property
    def lingering(self) -> bool:
        return self.reader.stalled

    @property
    def closed(self) -> bool:
        return False

    @property
    def hopeless(self) -> str:
        return self._served.unasked or self.reader.wants_stop or ""

    @property
    def waits_for_answer(self) -> bool:
        return bool(self.reader.approvals) or bool(self._served.waiting)

    @property
    def taken_up(self) -> bool:
        return self.reader.began

    @property
    def tool_begun(self) -> bool:
        return self.reader.tool_begun

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        """Take one line of stdout."""
        self._heard = True
        event = decode(line)
        if isinstance(event, ControlResponse) and event.request_id == _OPENED:
            self._opened = self._opens_only and event.error is None
        self.idle_line = _is_idle(event)
        raised = self._served.feed(event, len(line))
        if isinstance(event, ControlRequest):
            if event.subtype != ASKS_LEAVE:
                self._served.refuse_unknown(event)
            elif self._served.allows(event):
                return []
        closed = self._closed_by(event)
        self.reader.feed(event)
        return [*closed, *self._events(event), *raised]

    def open_requests(self) -> Sequence[ApprovalRequested | ToolCalled | HookRaised]:
        asked = [_approval(request) for request in self.reader.approvals.values()]
        return [*asked, *self._served.waiting]

    def attached(self) -> None:
        """Do nothing: claude takes a message once by its uuid, and an answer once by its request's
        id, so that what may be written already can be written again."""

    def replies(self) -> Sequence[Group]:
        return self._served.due()

    def prompt(self, text: str, uuid: str) -> Group:
        return (claude_control.user_message(text, uuid),)

    def sent(self, uuid: str) -> None:
        self._unsent.discard(uuid)
        self.reader.sent(uuid)

    def not_sent(self, uuid: str) -> None:
        self._unsent.add(uuid)
        self.reader.feed(Lifecycle(uuid, "discarded"))

    def answer(self, request_id: str, decision: Decision) -> Group | None:
        """Return the answer; the first answer holds, and the same request gets it again."""
        request = self.reader.approvals.get(request_id)
        if request is not None:
            self.reader.answered(request_id)
            self._answers[request_id] = (_answer_line(request, decision),)
        return self._answers.get(request_id)

    def reply_tool(self, call_id: str, text: str, success: bool) -> Group | None:
        return self._served.reply(call_id, text, success)

    def settle_hook(self, hook_id: str, refusal: str | None) -> Group | None:
        return self._served.settle(hook_id, refusal)

    def interrupt(self) -> Group:
        return (claude_control.interrupt(self._request_id("interrupt")),)

    def end(self) -> Group:
        # Background work ends with the agent, which then lists nothing.
        self._stopped = self.reader.report().background_stopped
        return (claude_control.end_session(self._request_id("end")),)

    def report(self, ending: Ending) -> TurnReport:
        if ending.torn and not self.over:
            self.reader.feed(BadLine("cut at the end", 0))
        forced = None if ending.kind is None else (ending.kind, ending.detail)
        if forced is None and self._served.unasked:
            forced = ("failed", self._served.unasked)
        if forced is None and self._opened:
            forced = ("done", "")
        if forced is None and not self._heard:
            status = ending.exit_status
            how = "" if status is None else f" with status {status}"
            said = f": {ending.detail}" if ending.detail else ""
            # A program that gives up by itself at its start would do so again; one that was killed,
            # or whose status is unknown, was cut off.
            kind: EndKind = "failed" if status is not None and status >= 0 else "broken"
            forced = (kind, f"the agent ended{how} before it said anything{said}")
        report = self.reader.report(
            forced=forced,
            asked_to_stop=ending.kind == "interrupted",
            seconds=ending.seconds,
            exit_status=ending.exit_status,
            mark=ending.aftermath.mark,
            prompt_recorded=ending.aftermath.prompt_recorded,
        )
        return replace(
            report,
            background_stopped=tuple(
                dict.fromkeys(
                    (*self._stopped, *report.background_stopped, *ending.background_stopped)
                )
            ),
            undelivered=tuple(uuid for uuid in report.undelivered if uuid not in self._unsent),
        )

    def _request_id(self, what: str) -> str:
        self._requests += 1
        return f"podium-{what}-{self._requests}"

    def _closed_by(self, event: Event) -> list[TurnEvent]:
        """Close approvals whose tool has its result, or that were withdrawn: no request waits for
        them."""
        waiting = self.reader.approvals
        if isinstance(event, ControlCancel):
            closed = [event.request_id] if event.request_id in waiting else []
        elif isinstance(event, UserMessage):
            done = {result.tool_use_id for result in event.results}
            closed = [key for key, request in waiting.items() if request.tool_use_id in done]
        else:
            closed = []
        for request_id in closed:
            self.reader.answered(request_id)
        return [ApprovalWithdrawn(request_id) for request_id in closed]

    def _events(self, event: Event) -> list[TurnEvent]:
        match event:
            case StreamDelta(parent_tool_use_id=None):
                self._streamed.add((event.message_id, event.kind))
                return [Output(event.message_id, event.kind, event.delta)]
            case ToolWriting(parent_tool_use_id=None):
                return [*self._writing.take(event)]
            case AssistantMessage(synthetic=False):
                return [out for block in event.blocks for out in self._outputs(event, block)]
            case UserMessage():
                told = [
                    Output(event.uuid, "tool_result", result.text[:RESULT_CHARACTERS])
                    for result in event.results
                    if result.tool_use_id not in self._reporting
                ]
                hints = [hint for each in event.results if (hint := self._failures.ended(each))]
                return [*told, *(Output("", "status", hint) for hint in hints)]
            case ApiRetry():
                words = trying_again(
                    event.status,
                    event.error,
                    event.delay_ms / 1000,
                    event.attempt,
                    event.max_retries,
                )
                return [Output("", "status", words)]
            case ControlRequest(subtype=subtype) if subtype == ASKS_LEAVE:
                return [_approval(event)]
            case Init() if missing := self._served.missing(event):
                names = ", ".join(missing)
                return [Output("", "status", f"the agent began without {names} of Podium's tools")]
            case Lifecycle(uuid, state):
                known = _PROMPT_STATES.get(state)
                return [] if known is None else [PromptState(uuid, known)]
            case _:
                return []

    def _outputs(self, message: AssistantMessage, block: Block) -> list[TurnEvent]:
        key = message.message_id
        own = message.parent_tool_use_id is None
        match block:
            case Text(text) if own and (key, "text") not in self._streamed:
                return [Output(message.uuid, "text", text)]
            case Thinking(text) if own and text and (key, "thinking") not in self._streamed:
                return [Output(message.uuid, "thinking", text)]
            case ToolUse() if block.name != STRUCTURED_OUTPUT:
                self._failures.began(block)
                return [Output(message.uuid, "tool", _tool_line(block))]
            case ToolUse():
                self._reporting.add(block.id)  # its result is for the agent alone
                return []
            case _:
                return []


def _is_idle(event: Event) -> bool:
    """Return whether the agent only waits for its model's server, or keeps its stream alive."""
    return isinstance(event, ApiRetry) or (isinstance(event, Other) and event.type == KEEPS_ALIVE)


def _approval(request: ControlRequest) -> ApprovalRequested:
    return ApprovalRequested(
        request.request_id,
        request.tool,
        request.input,
        request.tool_use_id,
        request.description,
        request.asks_person,
    )


def _answer_line(request: ControlRequest, decision: Decision) -> bytes:
    if decision.behavior == "deny":
        message = decision.message or "The user does not want this tool to be used now."
        return claude_control.deny(request.request_id, message)
    rules = (decision.rule,) if decision.rule else ()
    return claude_control.allow(request.request_id, decision.updated_input, rules)


def _tool_line(block: ToolUse) -> str:
    """Describe a tool call in one line: its name and its most informative argument."""
    words = [value for value in block.input.values() if isinstance(value, str)]
    first = " ".join(words[0].split()) if words else ""
    name = plain_name(block.name)
    line = f"{name}: {first}" if first else name
    return line if len(line) <= DETAIL_CHARACTERS else line[: DETAIL_CHARACTERS - 1] + "…"
