"""Codex's app-server as a ``Dialect``: its lines to events, our wishes to its lines. No I/O.

Greeting, question for the login and the opening of the thread stand in the agent's input before it
begins. The prompt follows when the thread is open, with a mark (``podiumd.drivers.steps``), and so
does each message to the running turn. Only the turn that the prompt began ends this one: Codex runs
others beside it (``podiumd.agents.codex.others``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from podiumd.agents.codex.asked import Asked, Called, RealPath
from podiumd.agents.codex.ending import Ends
from podiumd.agents.codex.others import Others
from podiumd.agents.codex.script import Script
from podiumd.agents.codex.telling import Telling
from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    HookRaised,
    PromptState,
    SessionNamed,
    ToolCalled,
    TurnEvent,
)
from podiumd.drivers.dialect import Ending, Group
from podiumd.drivers.steps import Steps
from podiumd.formats.codex import calls, wire
from podiumd.formats.jsonrpc_lines import Answer, Bad, Notice, Request
from podiumd.formats.jsonrpc_lines import read as read_line
from podiumd.formats.said import read

UNREACHABLE_MS: Final = 300_000
"""How long, in ms, the provider may be unreachable: Codex itself would try for ever."""

_QUIET: Final = frozenset(
    {
        "account/rateLimits/updated",
        "mcpServer/startupStatus/updated",
        "remoteControl/status/changed",
        "thread/readState/changed",
        "warning",
    }
)
"""What is said beside the work: no sign of it."""

_BUSY: Final = "already has an active writer"
_LOGGED_OUT: Final = "Codex is not logged in: run 'codex login' in a terminal"


class CodexDialect:
    """The conversation of one turn. ``sent`` are the uuids of messages handed over so far."""

    def __init__(
        self, script: Script, sent: Sequence[str], called: Called, real_path: RealPath
    ) -> None:
        self.script = script
        self._steps = Steps(version=False)
        self._telling = Telling(structured=script.structured)
        self._asked = Asked(script, called, real_path, self._telling.name_of)
        self._others = Others()
        self.ends = Ends()
        self._steers: dict[str, str] = {}
        self._thread = self._turn = ""
        self._may_prompt = self._stopping = self._named = False
        self._said_at = self._unreachable_since = 0
        self.taken_up = False
        self.tool_begun = False
        self.idle_line = True
        for name in (calls.INITIALIZE, calls.ACCOUNT, calls.OPEN):
            self._steps.begin(name)
        for uuid in sent:
            if uuid != script.uuid:
                self._steers[uuid] = ""
                self._steps.expect(f"{calls.STEER}{uuid}")

    # -- its state -----------------------------------------------------------------------------

    @property
    def opened(self) -> str:
        """Return Codex's id of the thread, empty before it is open."""
        return self._thread

    @property
    def over(self) -> bool:
        if self.ends.opened or (self._stopping and not self._prompted):
            return True
        return self._settled and self._others.quiet

    @property
    def _settled(self) -> bool:
        """Return whether the turn has ended, and the fate of each message is known."""
        return self.ends.turn is not None and all(state for state in self._steers.values())

    @property
    def lingering(self) -> bool:
        return self.ends.turn is not None and not self.over

    @property
    def closed(self) -> bool:
        return False

    @property
    def hopeless(self) -> str:
        return self.ends.refused.detail if self.ends.refused is not None else ""

    @property
    def waits_for_answer(self) -> bool:
        return bool(self._asked.waiting)

    @property
    def _prompted(self) -> bool:
        return self._may_prompt and bool(self._thread) and self._others.drained

    # -- its lines -----------------------------------------------------------------------------

    def feed(self, line: bytes) -> Sequence[TurnEvent]:
        """Take one line of stdout."""
        message = read_line(line)
        self._said_at = wire.emitted_at(line)
        self.idle_line = True
        match message:
            case Bad():
                self.ends.bad_lines += 1
                self.ends.lost_lines += message.lost
                return []
            case Answer():
                name = self._steps.feed(message)
                self.idle_line = name is None
                return [] if name is None else self._answered(name, message)
            case Request():
                self.idle_line = False
                return self._asked.take(message, in_turn=self._may_ask(message))
            case Notice():
                self.idle_line = message.method in _QUIET
                return self._noticed(message)

    def _may_ask(self, request: Request) -> bool:
        """Return whether a request can be for our turn. Its sub-agents may outlast it."""
        about = read(wire.ThreadNotification, request.params).thread_id
        return bool(self._thread) and (self.ends.turn is None or about != self._thread)

    def _answered(self, name: str, answer: Answer) -> list[TurnEvent]:
        error = answer.error
        if name.startswith(calls.STEER):
            return self._steered(name.removeprefix(calls.STEER), refused=error is not None)
        if name.startswith(calls.STOP):
            return []
        if error is not None and name == calls.OPEN and _BUSY in error.message:
            where = "is open in another Codex: close it there, or fork the session"
            self.ends.refuse("stopped", f"the thread {where}", reason="session-locked")
        elif name.startswith(calls.QUEUE):
            self._others.asked(answer)
        elif name == calls.REST:
            self._others.listed()
        elif error is not None and name != calls.INTERRUPT:
            self.ends.refuse("failed", f"Codex: {error.message}")
        elif name == calls.ACCOUNT:
            about = read(wire.AccountResponse, answer.result)
            if about.account is None and about.requires_openai_auth:
                self.ends.refuse("failed", _LOGGED_OUT)
            else:
                self._may_prompt = True
        elif name == calls.OPEN:
            thread = read(wire.OpenedThread, answer.result).thread
            self._thread = thread.id
            if self.script.resumes:
                self._begin_queued()
        elif name == calls.PROMPT:
            self._turn = read(wire.BegunTurn, answer.result).turn.id
            if self._stopping:
                self._steps.plan(calls.INTERRUPT, self._interruption(), marked=False)
        if self._prompted and not self._stopping and self.ends.refused is None:
            if self.script.opens_only:
                self.ends.opened = True
                return [SessionNamed(self._thread)]
            self._steps.plan(calls.PROMPT, self.script.prompt_line(self._thread))
        return []

    def _begin_queued(self) -> None:
        name = self._others.begin()
        self._steps.plan(name, calls.start_queued(name, self._thread))

    def _steered(self, uuid: str, *, refused: bool) -> list[TurnEvent]:
        if refused:
            self._steers[uuid] = "discarded"
            return [PromptState(uuid, "discarded")]
        if not self._steers.get(uuid):
            self._steers[uuid] = "queued"
            return [PromptState(uuid, "queued")]
        return []

    def _noticed(self, notice: Notice) -> list[TurnEvent]:
        params = notice.params
        match notice.method:
            case "item/started" | "item/completed":
                found = read(wire.ItemNotification, params)
                return self._item(found, done=notice.method == "item/completed")
            case "turn/started":
                self._started(read(wire.TurnNotification, params))
            case "turn/completed":
                return self._completed(read(wire.TurnNotification, params))
            case "error":
                return self._failed(read(wire.ErrorNotification, params))
            case "serverRequest/resolved":
                resolved = read(wire.ResolvedNotification, params)
                closed = self._asked.resolved(resolved.request_id)
                return [] if closed is None else [ApprovalWithdrawn(closed)]
            case "thread/started":
                self._telling.thread(read(wire.Thread, params.get("thread")))
            case "thread/queue/changed":
                if read(wire.ThreadNotification, params).thread_id == self._thread:
                    self._others.changed()
            case "thread/tokenUsage/updated":
                used = read(wire.TokenUsageNotification, params)
                if used.turn_id == self._turn or used.thread_id != self._thread:
                    self.ends.use(used.token_usage.last)
            case "account/rateLimits/updated":
                self.ends.limits = read(wire.RateLimitsNotification, params).rate_limits
            case "item/agentMessage/delta" | "item/reasoning/summaryTextDelta":
                self._unreachable_since = 0
                delta = read(wire.DeltaNotification, params)
                other = self._others.is_other(delta.turn_id)
                if delta.thread_id == self._thread and not other:
                    return self._telling.delta(delta, words="agentMessage" in notice.method)
            case _:
                pass
        return []

    def _item(self, found: wire.ItemNotification, *, done: bool) -> list[TurnEvent]:
        self._unreachable_since = 0
        item, ours = found.item, found.thread_id == self._thread
        if ours and self._others.is_other(found.turn_id):
            return self._queued(found.turn_id, item, done=done)
        if item.type == "userMessage":
            return self._written_down(item) if ours else []
        self._asked.note(found.thread_id, item)
        if item.type in wire.WORKING:
            self.tool_begun = True
        if ours and done and item.type == "agentMessage":
            self.ends.texts.begin()
            self.ends.texts.add(item.text)
        return self._telling.item(found, done=done, ours=ours)

    def _queued(self, turn: str, item: wire.ThreadItem, *, done: bool) -> list[TurnEvent]:
        """Show the message of a turn that is not ours, which may be stopped once it is there."""
        if item.type != "userMessage":
            return []
        if not done:
            return [self._others.message(turn, item)]
        self._others.over()
        if not self._others.drained:
            name = f"{calls.STOP}{turn}"
            self._steps.plan(name, calls.interrupt_turn(self._thread, turn, name))
        return []

    def _written_down(self, item: wire.ThreadItem) -> list[TurnEvent]:
        """Note that a message of ours is in Codex's record, and goes to the model."""
        uuid = item.client_id or ""
        if uuid == self.script.uuid:
            self._steps.confirm(calls.PROMPT)
            self.taken_up = True
            if self._named:
                return []
            self._named = True
            return [SessionNamed(self._thread), PromptState(uuid, "started")]
        if uuid in self._steers and self._steers[uuid] != "started":
            self._steers[uuid] = "started"
            self._steps.confirm(f"{calls.STEER}{uuid}")
            return [PromptState(uuid, "started")]
        return []

    def _started(self, found: wire.TurnNotification) -> None:
        """Note a turn that is not ours."""
        turn = found.turn.id
        if found.thread_id != self._thread:
            self._others.works(found.thread_id, self._telling.name_of(found.thread_id))
        elif not self._others.drained or (self._turn and turn != self._turn):
            self._others.started(turn)

    def _completed(self, found: wire.TurnNotification) -> list[TurnEvent]:
        if found.thread_id != self._thread:
            self._others.rests(found.thread_id)
        elif self._others.is_other(found.turn.id):
            self._others.over()
            if not self._others.drained:
                self._begin_queued()
        if found.thread_id != self._thread or found.turn.id != self._turn:
            return []
        if self.ends.turn is None and found.turn.status != "interrupted":
            self._others.ended()
            self._steps.plan(calls.REST, calls.list_queued(self._thread))
        self.ends.turn = found.turn
        taken = [uuid for uuid, state in self._steers.items() if state == "started"]
        return [PromptState(uuid, "completed") for uuid in (self.script.uuid, *taken)]

    def _failed(self, found: wire.ErrorNotification) -> list[TurnEvent]:
        self.idle_line = found.will_retry
        if not found.will_retry:
            return []
        now, error = self._said_at, found.error
        why = f" ({error.additional_details})" if error.additional_details else ""
        self._unreachable_since = self._unreachable_since or now
        if now - self._unreachable_since >= UNREACHABLE_MS:
            minutes = UNREACHABLE_MS // 60_000
            words = f"the provider was unreachable for {minutes} minutes: {error.message}{why}"
            self.ends.refuse("failed", words)
        return [self._telling.again(f"{error.message}{why}")]

    # -- our lines -----------------------------------------------------------------------------

    def open_requests(self) -> Sequence[ApprovalRequested | ToolCalled | HookRaised]:
        return self._asked.waiting

    def attached(self) -> None:
        self._steps.attached()

    def replies(self) -> Sequence[Group]:
        return [*((line,) for line in self._asked.due()), *self._steps.due()]

    def prompt(self, text: str, uuid: str) -> Group:
        """Build what hands a message to the running turn."""
        line = calls.steer_turn(self._thread, self._turn, uuid, text)
        self._steps.plan(f"{calls.STEER}{uuid}", line)
        return tuple(line for group in self._steps.due() for line in group)

    def sent(self, uuid: str) -> None:
        self._steers.setdefault(uuid, "")

    def not_sent(self, uuid: str) -> None:
        self._steers[uuid] = "unsent"

    def answer(self, request_id: str, decision: Decision) -> Group | None:
        line = self._asked.answer(request_id, decision)
        if line is None:
            return None
        if line:
            return (line,)
        self.ends.refuse("failed", "Codex offers no leave for once: nothing was allowed")
        return (self._interruption(),)

    def reply_tool(self, call_id: str, text: str, success: bool) -> Group | None:
        return None  # Podium's tools have a server of their own

    def settle_hook(self, hook_id: str, refusal: str | None) -> Group | None:
        return None

    def interrupt(self) -> Group:
        self._stopping = True
        return (self._interruption(),) if self._turn else ()

    def end(self) -> Group:
        return ()

    def _interruption(self) -> bytes:
        return calls.interrupt_turn(self._thread, self._turn)

    def report(self, ending: Ending) -> TurnReport:
        forced: tuple[EndKind, str] | None = None
        if ending.kind is not None and not (ending.kind == "broken" and self._settled):
            forced = (ending.kind, ending.detail)
        report = self.ends.report(
            ending,
            forced=forced,
            structured=self.script.structured,
            prompt_recorded=self.taken_up,
            tool_begun=self.tool_begun,
        )
        lost = [uuid for uuid, state in self._steers.items() if state in ("", "queued")]
        denials = tuple(self._asked.denials.values())
        stopped = (*report.background_stopped, *self._others.cut_off())
        return replace(report, undelivered=tuple(lost), denials=denials, background_stopped=stopped)
