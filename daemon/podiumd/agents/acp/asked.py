"""The requests of an agent to us in a turn: leave for its tools. No I/O.

What people have allowed or forbidden before is answered at once; the rest waits for a person. Only
answers for once are given: what holds for longer is Podium's own memory. Where there is none for
once, nothing is guessed: the turn ends. An answer that is given again, or too late, does nothing.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from podiumd.agents.acp import leave
from podiumd.agents.acp.script import Script
from podiumd.core.recipe.served_tools import SERVED_PREFIX
from podiumd.core.reply.report import Denial
from podiumd.drivers.base import ApprovalRequested, ApprovalWithdrawn, Decision
from podiumd.drivers.request_keys import RequestKeys
from podiumd.formats.acp import calls
from podiumd.formats.acp.wire import PermissionRequest, ToolCall
from podiumd.formats.jsonrpc_lines import Id, Request, not_found, write
from podiumd.formats.said import read

PERMISSION = "session/request_permission"


class _Waiting(msgspec.Struct, frozen=True):
    asked: ApprovalRequested
    id: Id
    request: PermissionRequest


class Asked:
    """The open requests of one turn."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._allow = script.allow
        self._keys = RequestKeys()
        self._calls: dict[str, ToolCall] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._due: dict[str, bytes] = {}
        self._answers: dict[str, bytes] = {}
        self.denials: dict[str, Denial] = {}

    @property
    def waiting(self) -> list[ApprovalRequested]:
        """List the open requests that wait for a person, oldest first."""
        return [one.asked for one in self._waiting.values()]

    def due(self) -> list[bytes]:
        """Hand out the answers that need no person, once."""
        lines = [*self._due.values()]
        self._due.clear()
        return lines

    def note(self, call: ToolCall) -> ToolCall:
        """Note news of a tool's use; return all that is known of it now."""
        before = self._calls.get(call.tool_call_id, ToolCall())
        known = {
            name: value
            for name in ToolCall.__struct_fields__
            if (value := getattr(call, name)) is not None
        }
        found = replace(before, **known)
        self._calls[call.tool_call_id] = found
        return found

    def settled(self, call_id: str) -> list[str]:
        """Note that a tool's use is over: no answer is waited for; return the requests for it."""
        return self._close([key for key, one in self._waiting.items() if _about(one) == call_id])

    def withdrawn(self, request_id: Id) -> list[str]:
        """Note that the agent has withdrawn a request, which has an answer even so."""
        key = self._keys.of(request_id)
        closed = self._close([key])
        if closed:
            self._due[key] = calls.withdrawn(request_id)
        return closed

    def over(self) -> list[str]:
        """Note that the turn is over."""
        return self._close([*self._waiting])

    def cancelled(self) -> tuple[bytes, ...]:
        """Build the answers to all open requests of a turn that is stopped."""
        lines = tuple(calls.cancelled(one.id) for one in self._waiting.values())
        self._close([*self._waiting])
        return lines

    def take(
        self, request: Request, *, in_turn: bool
    ) -> list[ApprovalRequested | ApprovalWithdrawn]:
        """Take a request; return it where a person is to decide.

        One with the id of another that is open is refused, and that one with it. So is leave that
        is not for anything in the turn: ``in_turn``.
        """
        found = self._keys.add(request.id)
        before = found.before or ""
        self._due.pop(before, None)
        self._answers.pop(before, None)
        if before in self._waiting:
            self._keys.spoil(request.id)
            self._due[before] = calls.cancelled(request.id)
        if self._keys.is_spoiled(request.id):
            self._due[found.key] = calls.cancelled(request.id)
            return [ApprovalWithdrawn(key) for key in (*self._close([before]), found.key)]
        if not in_turn and request.method == PERMISSION:
            self._due[found.key] = calls.cancelled(request.id)
            return []
        asked = self._asked(request, found.key)
        return [] if asked is None else [asked]

    def _asked(self, request: Request, key: str) -> ApprovalRequested | None:
        if request.method != PERMISSION:
            self._due[key] = write(not_found(request), version=True)
            return None
        permission = read(PermissionRequest, request.params)
        call = self.note(permission.tool_call)
        tool = leave.tool_of(call)
        asked = ApprovalRequested(
            key, tool, leave.input_of(call), call.tool_call_id, call.title or ""
        )
        served = self._served(call)
        verdict: leave.Verdict = "allow"
        if served is not None:
            verdict = "allow" if served else "deny"
        else:
            verdict = leave.judge(call, self._script.tools, self._allow, self._script.cwd)
        option = "" if verdict == "ask" else leave.once(permission.options, verdict)
        if not option:
            self._waiting[key] = _Waiting(asked, request.id, permission)
            return asked
        if verdict == "deny":
            self._denied(asked)
        self._due[key] = calls.selected(request.id, option)
        return None

    def answer(self, request_id: str, decision: Decision) -> bytes | None:
        """Build the answer's line; the first one holds, and is given again.

        Empty where the agent offers no such answer for once.
        """
        waiting = self._waiting.pop(request_id, None)
        if waiting is not None:
            if decision.behavior == "deny":
                self._denied(waiting.asked)
            elif decision.rule:
                self._allow = (*self._allow, decision.rule)
            option = leave.once(waiting.request.options, decision.behavior)
            line = calls.selected(waiting.id, option) if option else b""
            self._answers[request_id] = line or calls.cancelled(waiting.id)
            if not line:
                return b""
        return self._answers.get(request_id)

    def _served(self, call: ToolCall) -> bool | None:
        """Return whether a tool of ours is served in this turn; ``None`` for one that is not ours.

        Only of agents that are known to give no other tool such a name.
        """
        if (call.kind or leave.OTHER) in leave.TOOLS:
            return None
        name = ""
        if "names-own-tools" in self._script.quirks:
            name = call.title or ""
        elif "meta-names-tools" in self._script.quirks and call.meta is not None:
            name = call.meta.tool_name
        if not name.startswith(SERVED_PREFIX):
            return None
        return name.removeprefix(SERVED_PREFIX) in self._script.served

    def _close(self, keys: list[str]) -> list[str]:
        return [key for key in keys if self._waiting.pop(key, None) is not None]

    def _denied(self, asked: ApprovalRequested) -> None:
        self.denials[asked.request_id] = Denial(asked.tool, asked.tool_use_id)


def _about(waiting: _Waiting) -> str:
    return waiting.request.tool_call.tool_call_id
