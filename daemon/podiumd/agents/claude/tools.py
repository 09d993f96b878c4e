"""The requests of ``claude`` to Podium in a turn: its tools, and its word at those of others. No
I/O.

Over the control protocol the agent speaks to a tool server that lives in the daemon. Lines that
this server can answer by itself (greeting, list of tools) are ``due`` at once; a call and a hook
wait for the runtime. An answer counts once, from any sender, so where it is not proved that one
arrived it is sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.recipe.served_tools import SERVED_PREFIX
from podiumd.drivers.base import HookPoint, HookRaised, ToolCalled
from podiumd.drivers.dialect import Group
from podiumd.formats import claude_control, mcp
from podiumd.formats.claude_control import HookMoment
from podiumd.formats.claude_events import (
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    HookCallback,
    Init,
    ServerMessage,
    UserMessage,
)
from podiumd.formats.claude_turn import STRUCTURED_OUTPUT
from podiumd.formats.json_fields import mapping, string

ARGUMENTS_BYTES: Final = 1 << 20
"""A call whose line is longer than this is refused, unread."""
ANSWER_CHARACTERS: Final = 8000
"""Characters of an answer; in JSON it then fits the smallest pipe, 64 KiB, whatever they are."""
OUTPUT_CHARACTERS: Final = 100_000
"""Characters of a tool's output, as a hook gets it."""

NOT_OURS: Final = f"^(?!{SERVED_PREFIX}|{STRUCTURED_OUTPUT}$)"
"""Tools that do something to the world: around Podium's own, hooks are run when they are called."""

_HOOKS_REQUEST: Final = "podium-initialize"
_MOMENTS: Final[dict[str, HookMoment]] = {"before-tool": "before", "after-tool": "after"}


def hooks_line(hooks: Iterable[HookPoint]) -> bytes | None:
    """Return the line that has the agent ask at these points, ``None`` where there are none.

    The line does not name their tools: names match by ``core.decide.policy.hooked``, and a hook
    that the agent raises for nothing costs a few milliseconds.
    """
    moments = tuple(dict.fromkeys(_MOMENTS[hook.event] for hook in hooks))
    if not moments:
        return None
    return claude_control.initialize(_HOOKS_REQUEST, moments, NOT_OURS)


class _Waiting(msgspec.Struct, frozen=True):
    """A request of the agent's that needs a decision."""

    raised: ToolCalled | HookRaised
    tool_use_id: str
    asked: mcp.Call | str  # a hook's event, in the agent's word for it


class _Due(msgspec.Struct, frozen=True):
    line: bytes
    tool_use_id: str = ""


class ServedTools:
    """The open requests between the agent and Podium; ``specs`` are the tools of this turn."""

    def __init__(self, specs: Sequence[ToolSpec] = ()) -> None:
        self._specs = tuple(specs)
        self._waiting: dict[str, _Waiting] = {}
        self._due: dict[str, _Due] = {}
        self._answers: dict[str, Group] = {}
        self.unasked = ""
        """Reason why the agent does not ask at hooks although it should: no tool may be used."""

    @property
    def waiting(self) -> Sequence[ToolCalled | HookRaised]:
        """List the open requests of the agent, oldest first."""
        return [one.raised for one in self._waiting.values()]

    def due(self) -> Sequence[Group]:
        """Hand out what needs no decision, once."""
        groups = [(due.line,) for due in self._due.values()]
        self._due.clear()
        return groups

    def feed(self, event: Event, size: int) -> Sequence[ToolCalled | HookRaised]:
        """Take what the agent says, in a line of ``size`` bytes."""
        match event:
            case ServerMessage():
                return self._message(event, size)
            case HookCallback():
                return self._hook(event)
            case ControlRequest(subtype="can_use_tool", tool_use_id=tool_use_id):
                self._close_hooks(tool_use_id)
            case ControlCancel(request_id):
                self._waiting.pop(request_id, None)
            case UserMessage(results=results):
                self._close({result.tool_use_id for result in results} - {""})
            case ControlResponse(request_id=key) if key == _HOOKS_REQUEST:
                if event.error is not None or not event.hooks_applied:
                    why = event.error or "its settings do not let it"
                    self.unasked = f"the agent does not ask at the hooks of this step: {why}"
            case Init():
                # It follows the greeting: the server's messages have arrived, or are given up.
                self._due = {key: due for key, due in self._due.items() if due.tool_use_id}
            case _:
                pass
        return []

    def refuse_unknown(self, request: ControlRequest) -> None:
        """Refuse a request that Podium knows nothing of: the agent may wait for an answer to it."""
        line = claude_control.unknown(request.request_id, request.subtype)
        self._due[request.request_id] = _Due(line)

    def allows(self, request: ControlRequest) -> bool:
        """Let one of our own tools be used without a question, in any mode of the agent."""
        if request.tool not in {SERVED_PREFIX + spec.name for spec in self._specs}:
            return False
        line = claude_control.allow(request.request_id)
        self._due[request.request_id] = _Due(line, request.tool_use_id)
        return True

    def missing(self, init: Init) -> Sequence[str]:
        """List those of our tools that the agent does not offer to its model."""
        return [spec.name for spec in self._specs if SERVED_PREFIX + spec.name not in init.tools]

    def reply(self, call_id: str, text: str, success: bool) -> Group | None:
        """Build what answers a call, ``None`` where none waits; the first answer holds."""
        waiting = self._waiting.get(call_id)
        if waiting is not None and isinstance(waiting.asked, mcp.Call):
            said = mcp.result(waiting.asked, _bounded(text), success)
            self._answered(call_id, claude_control.server_reply(call_id, said))
        return self._answers.get(call_id)

    def settle(self, hook_id: str, refusal: str | None) -> Group | None:
        """Build our answer at a hook; the first one holds, ``None`` as in ``reply``."""
        waiting = self._waiting.get(hook_id)
        if waiting is not None and isinstance(waiting.asked, str):
            why = None if refusal is None else _bounded(refusal)
            self._answered(hook_id, claude_control.hook_answer(hook_id, waiting.asked, why))
        return self._answers.get(hook_id)

    def _answered(self, request_id: str, line: bytes) -> None:
        del self._waiting[request_id]
        self._answers[request_id] = (line,)

    def _message(self, event: ServerMessage, size: int) -> Sequence[ToolCalled]:
        found = mcp.receive(event.message, self._specs)
        params = mapping(event.message, "params")
        tool_use_id = string(mapping(params, "_meta"), "claudecode/toolUseId")
        if isinstance(found, mcp.Call) and size > ARGUMENTS_BYTES:
            words = f"{size} bytes of arguments, and at most {ARGUMENTS_BYTES} are taken"
            found = mcp.result(found, f"{words}: put it into a file, and name that.", success=False)
        if not isinstance(found, mcp.Call):
            line = claude_control.server_reply(event.request_id, found)
            self._due[event.request_id] = _Due(line, tool_use_id)
            self._close_cancelled(event)
            return []
        self._close_hooks(tool_use_id)
        called = ToolCalled(event.request_id, found.tool, found.args)
        self._waiting[event.request_id] = _Waiting(called, tool_use_id, found)
        return [called]

    def _hook(self, event: HookCallback) -> Sequence[HookRaised]:
        self._close_hooks(event.tool_use_id)
        raised = HookRaised(
            event.request_id,
            "before-tool" if event.event == "PreToolUse" else "after-tool",
            event.tool,
            event.input,
            event.output[:OUTPUT_CHARACTERS],
        )
        self._waiting[event.request_id] = _Waiting(raised, event.tool_use_id, event.event)
        return [raised]

    def _close_cancelled(self, event: ServerMessage) -> None:
        if event.message.get("method") != "notifications/cancelled":
            return
        cancelled = mapping(event.message, "params").get("requestId")
        for key, one in list(self._waiting.items()):
            if isinstance(one.asked, mcp.Call) and one.asked.id == cancelled:
                del self._waiting[key]

    def _close_hooks(self, tool_use_id: str) -> None:
        """Close the earlier hooks of this tool: the agent has gone on, so they were answered."""
        for key, one in list(self._waiting.items()):
            if isinstance(one.raised, HookRaised) and one.tool_use_id == tool_use_id:
                del self._waiting[key]

    def _close(self, done: set[str]) -> None:
        """Close the requests of tools that have their results: no agent waits for an answer to
        them."""
        self._waiting = {k: one for k, one in self._waiting.items() if one.tool_use_id not in done}
        self._due = {k: one for k, one in self._due.items() if one.tool_use_id not in done}


def _bounded(text: str) -> str:
    if len(text) <= ANSWER_CHARACTERS:
        return text
    return text[: ANSWER_CHARACTERS - 1] + "…"
