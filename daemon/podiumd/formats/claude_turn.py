"""The end of a turn of Claude Code, and its meaning. Pure: events in, a report out.

A process is idle when it says so (``session_state_changed``), but a steer may still wait, and one
turn may bring several results (a sub-agent that ends in the background, a steer that came too late
for the first). So a turn is over at ``idle`` once every message that we sent has come to one of its
four ends; then the last result is judged, by its fields and never by ``subtype`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from podiumd.core.reply.report import Denial, EndKind, Tokens, TurnReport
from podiumd.formats import claude_refusals
from podiumd.formats.claude_events import (
    ApiRetry,
    AssistantMessage,
    BackgroundTask,
    BackgroundTasks,
    BadLine,
    ControlCancel,
    ControlRequest,
    Event,
    Informational,
    Lifecycle,
    RateLimit,
    Result,
    StateChanged,
    UserMessage,
)
from podiumd.formats.message import Text, ToolUse

ENDS: Final = frozenset({"completed", "cancelled", "discarded", "refused"})
STRUCTURED_OUTPUT: Final = "StructuredOutput"
"""The CLI's own tool for an answer by schema; calling it does nothing to the world."""
APPROVAL_ABORTED: Final = "Tool permission request failed"
"""Words with which the CLI itself answers an open approval when no client can any more; the model
then goes on."""
LAST_SECOND: Final = 253_402_300_799  # of the year 9999, the last that RFC 3339 can write


class TurnReader:
    """Follows one turn.

    Parameters:
        sent: the uuids of messages that were handed over already, the prompt's first.

    ``feed`` every event in order, ``sent`` every message that is handed over on the way.
    """

    def __init__(self, sent: Iterable[str] = ()) -> None:
        self._states: dict[str, str] = dict.fromkeys(sent, "")
        self._began: set[str] = set()
        self._idle = False
        self._results: list[Result] = []
        self._active_since_result = False
        self._texts: list[str] = []
        self._own_words: list[str] = []
        self._error = ""
        self._tasks: tuple[BackgroundTask, ...] = ()
        self._limit: RateLimit | None = None
        self._refused_by_hook: str | None = None
        self._approval_aborted = False
        self._bad_lines = 0
        self.tool_begun = False
        """A tool call was seen, in a sub-agent too: something may have been done."""
        self.wants_stop: str | None = None
        """Why going on is pointless (bad credentials), for the driver to cut the turn short."""
        self.approvals: dict[str, ControlRequest] = {}
        """Open approval requests by request id. An answer of ours closes one: ``answered``."""
        self.hook_refusals: set[str] = set()
        """Calls that a hook refused: they are listed as denials too, and no person denied them."""

    def sent(self, uuid: str) -> None:
        """Note that a message was handed to the process; again for the same uuid is harmless."""
        self._states.setdefault(uuid, "")

    def answered(self, request_id: str) -> None:
        """Note that an approval was answered by us."""
        self.approvals.pop(request_id, None)

    @property
    def over(self) -> bool:
        """Return whether the process is idle and no message of ours waits."""
        return self._idle and all(state in ENDS for state in self._states.values())

    @property
    def stalled(self) -> bool:
        """Return whether the idle process has left a message without its end, and none is queued.

        A turn that fails by throwing leaves it so: after 2 s of this the turn is broken.
        """
        return self._idle and not self.over and "queued" not in self._states.values()

    @property
    def began(self) -> bool:
        """Return whether the process works on a message of ours, or has done so."""
        return bool(self._began)

    @property
    def has_result(self) -> bool:
        """Return whether a result has come; it may not be the last."""
        return bool(self._results)

    def feed(self, event: Event) -> None:
        """Take the next event of the stream."""
        match event:
            case AssistantMessage():
                self._assistant(event)
            case UserMessage():
                self.hook_refusals.update(event.refused_by_hook)
                aborted = any(APPROVAL_ABORTED in result.text for result in event.results)
                self._approval_aborted = self._approval_aborted or aborted
            case Result():
                self._results.append(event)
                self._active_since_result = False
            case Lifecycle(command_uuid, state):
                self._lifecycle(command_uuid, state)
            case StateChanged(state):
                self._idle = state == "idle"
            case ControlRequest(subtype="can_use_tool", request_id=request_id):
                self.approvals[request_id] = event
            case ControlCancel(request_id):
                self.answered(request_id)
            case ApiRetry(status=401):
                self.wants_stop = claude_refusals.refusal(401, event.error, "", "")
            case BackgroundTasks(tasks):
                self._tasks = tasks
            case RateLimit():
                self._limit = event
            case Informational(content, stops=True):
                self._refused_by_hook = content
            case BadLine():
                self._bad_lines += 1
            case _:
                pass

    def _assistant(self, message: AssistantMessage) -> None:
        if any(isinstance(b, ToolUse) and b.name != STRUCTURED_OUTPUT for b in message.blocks):
            self.tool_begun = True
        texts = [block.text for block in message.blocks if isinstance(block, Text)]
        if message.synthetic:
            self._own_words += texts
            self._error = message.error or self._error
            return
        self._active_since_result = True
        if message.parent_tool_use_id is None:
            self._texts += texts

    def _lifecycle(self, uuid: str, state: str) -> None:
        if uuid in self._states:
            self._states[uuid] = state
        if state == "started":
            self._began.add(uuid)
            self._idle = False

    def report(
        self,
        *,
        forced: tuple[EndKind, str] | None = None,
        asked_to_stop: bool = False,
        seconds: float = 0.0,
        exit_status: int | None = None,
        mark: dict[str, Any] | None = None,
        prompt_recorded: bool | None = None,
    ) -> TurnReport:
        """Return what the turn came to. Call it when it is over, or when the process is gone.

        Parameters:
            forced: the driver's own verdict (a timeout, a process that could not be run).
            asked_to_stop: we interrupted it, so an end without a result is no accident.
            prompt_recorded: what the transcript says; ``None``: judged from the stream.
        """
        kind, detail = forced or self._judge(asked_to_stop)
        last = self._results[-1] if self._results else None
        status = last.api_error_status if last else None
        return TurnReport(
            kind=kind,
            detail=detail,
            texts=tuple(self._texts),
            result_text=self._last_words(last),
            structured=last.structured_output if last else None,
            denials=self._denials(),
            cost_usd=sum(result.cost_usd for result in self._results),
            tokens=self._tokens(),
            seconds=seconds,
            exit_status=exit_status,
            api_status=status if self._refused is None else 401,
            resets_at=self._resets_at() if kind == "usage_limit" else None,
            background_stopped=tuple(t.description or t.task_id for t in self._tasks),
            prompt_recorded=self._acknowledged if prompt_recorded is None else prompt_recorded,
            tool_begun=self.tool_begun,
            bad_lines=self._bad_lines,
            undelivered=self._undelivered(),
            mark=mark,
        )

    def _tokens(self) -> Tokens | None:
        told = [result.tokens for result in self._results if result.tokens is not None]
        if not told:
            return None
        return Tokens(
            read=sum(one.read for one in told),
            cached=sum(one.cached for one in told),
            written=sum(one.written for one in told),
        )

    def _last_words(self, last: Result | None) -> str:
        """Return the model's last words, or the CLI's where it answered ``/compact`` or the like
        itself.

        The CLI's words on a request that failed are no answer: ``detail`` has them in our words.
        """
        if self._texts or last is None:
            return self._texts[-1] if self._texts else ""
        if last.terminal_reason == "api_error":
            return ""
        by_itself = last.terminal_reason is None
        return last.result or ("\n\n".join(self._own_words) if by_itself else "")

    @property
    def _acknowledged(self) -> bool:
        """Return whether the prompt ended without a start: the transcript had it from a process
        before."""
        prompt = next(iter(self._states), "")
        return self._states.get(prompt) == "completed" and prompt not in self._began

    def _denials(self) -> tuple[Denial, ...]:
        found = (denial for result in self._results for denial in result.permission_denials)
        return tuple(dict.fromkeys(found))

    def _undelivered(self) -> tuple[str, ...]:
        steers = list(self._states)[1:]
        return tuple(
            uuid for uuid in steers if uuid not in self._began and self._states[uuid] != "completed"
        )

    def _resets_at(self) -> str | None:
        seconds = self._limit.resets_at if self._limit else None
        if seconds is None or not 0 <= seconds <= LAST_SECOND:
            return None
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _judge(self, asked_to_stop: bool) -> tuple[EndKind, str]:
        if self._bad_lines:
            return "broken", f"{self._bad_lines} lines of the agent's output are not JSON"
        if self._refused is not None:
            return "api_error", self._refused
        if self._approval_aborted:
            return "broken", "an approval was given up before anyone answered it"
        if not self._results or self._unfinished:
            return self._without_end(asked_to_stop)
        last = self._results[-1]
        if self._refused_by_hook is not None and last.terminal_reason is None:
            return "failed", self._refused_by_hook
        return self._judge_result(last)

    @property
    def _refused(self) -> str | None:
        """Return the refused credentials, unless a later try was answered after all."""
        answered = bool(self._results) and not self._results[-1].is_error
        return None if answered else self.wants_stop

    @property
    def _unfinished(self) -> bool:
        """Return whether the process went away with work after, or beside, its last result."""
        agents = any(task.task_type == "local_agent" for task in self._tasks)
        return not self.over and (self._active_since_result or agents)

    def _without_end(self, asked_to_stop: bool) -> tuple[EndKind, str]:
        if asked_to_stop:
            return "interrupted", "stopped before it had an answer"
        if self._acknowledged:
            return "broken", "the agent had taken this prompt before and did not run it again"
        if "refused" in self._states.values():
            return "failed", "the agent refused the prompt"
        return "broken", "the agent's output ends before its result"

    def _judge_result(self, result: Result) -> tuple[EndKind, str]:
        said = "; ".join(result.errors) or result.result
        reason = result.terminal_reason or ""
        if not result.is_error:
            return "done", ""
        if reason.startswith("aborted"):
            return "interrupted", f"the turn was stopped ({reason})"
        if "structured_output_retr" in f"{reason} {result.subtype}":
            return "done", said
        if reason == "budget_exhausted" or result.subtype == "error_max_budget_usd":
            return "budget", said
        if self._used_up(result):
            return "usage_limit", said
        if reason == "blocking_limit" or said.startswith("Prompt is too long"):
            return "failed", said
        if reason == "api_error" or result.api_error_status is not None:
            cause = result.api_error or ""
            words = claude_refusals.refusal(result.api_error_status, self._error, cause, said)
            return "api_error", words
        return "failed", said or f"the agent ended with {reason or result.subtype}"

    def _used_up(self, result: Result) -> bool:
        """Return whether the account's limit is reached, not a server busy: both are a 429."""
        if result.api_error == "usage_limit_reached":
            return True
        rejected = self._limit is not None and self._limit.status == "rejected"
        return result.api_error_status == 429 and rejected and self._resets_at() is not None
