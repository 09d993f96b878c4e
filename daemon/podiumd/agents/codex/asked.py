"""The requests of Codex to us in a turn: leave for commands and changes, questions, tools. No I/O.

What people have allowed or forbidden before is answered at once; the rest waits for a person. Only
answers for once are given: what holds for longer is Podium's own memory. Where Codex offers no
leave for once, nothing is guessed: a person sees the question, and a yes ends the turn. An answer
that is given again, or too late, does nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Any, Final

import msgspec

from podiumd.agents.codex import leave
from podiumd.agents.codex.script import Script
from podiumd.core.decide.policy import ESCALATE
from podiumd.core.recipe.served_tools import SERVER
from podiumd.core.reply.report import Denial
from podiumd.drivers.base import ApprovalRequested, ApprovalWithdrawn, Decision
from podiumd.drivers.request_keys import RequestKeys
from podiumd.formats.codex import wire
from podiumd.formats.jsonrpc_lines import (
    INVALID_REQUEST,
    Answer,
    Failure,
    Id,
    Request,
    not_found,
    write,
)
from podiumd.formats.said import read

Called = Callable[[str, str], Mapping[str, Any] | None]
"""Looks up the arguments of a call by its thread and its id, in Codex's own record of it."""

RealPath = Callable[[str], str]
"""Follows the symlinks of a path."""

MCP_CALL: Final = "mcp_tool_call"
ASK_PERSON: Final = "AskUserQuestion"
READ_ONLY: Final = "this step may only read"

_USUAL: Final = (None, "use_default")


class _Waiting(msgspec.Struct, frozen=True):
    asked: ApprovalRequested
    id: Id
    answer: Callable[[Decision], dict[str, Any]]
    takes_yes: bool = True


class Asked:
    """The open requests of one turn, its sub-agents' included. ``called`` tells what a call of the
    model's asks for, ``name_of`` what the sub-agent of a thread is called."""

    def __init__(
        self, script: Script, called: Called, real_path: RealPath, name_of: Callable[[str], str]
    ) -> None:
        self._script = script
        self._allow = script.allow
        self._called = called
        self._real_path = real_path
        self._name_of = name_of
        self._items: dict[tuple[str, str], wire.ThreadItem] = {}
        self._keys = RequestKeys()
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

    def note(self, thread_id: str, item: wire.ThreadItem) -> None:
        """Note an item that has begun: a request names it."""
        self._items[thread_id, item.id] = item

    def resolved(self, request_id: Id) -> str | None:
        """Note that no answer is waited for any more; return the request if it was open."""
        key = self._keys.of(request_id)
        self._due.pop(key, None)
        return None if self._waiting.pop(key, None) is None else key

    def take(
        self, request: Request, *, in_turn: bool
    ) -> list[ApprovalRequested | ApprovalWithdrawn]:
        """Take a request; return it where a person is to decide.

        One with the id of another that is open is refused, and that one with it. So is what is not
        for anything in the turn: ``in_turn``.
        """
        found = self._keys.add(request.id)
        before = found.before or ""
        self._due.pop(before, None)
        self._answers.pop(before, None)
        if before in self._waiting:
            self._keys.spoil(request.id)
            self._due[before] = _refused(request.id)
        if self._keys.is_spoiled(request.id):
            self._due[found.key] = _refused(request.id)
            closed = [before] if self._waiting.pop(before, None) is not None else []
            return [ApprovalWithdrawn(key) for key in (*closed, found.key)]
        if not in_turn:
            self._due[found.key] = _refused(request.id, "no turn of ours is going on")
            return []
        asked = self._asked(request)
        return [] if asked is None else [asked]

    def _asked(self, request: Request) -> ApprovalRequested | None:
        match request.method:
            case "item/commandExecution/requestApproval":
                return self._command(request, read(wire.CommandApproval, request.params))
            case "item/fileChange/requestApproval":
                return self._change(request, read(wire.FileChangeApproval, request.params))
            case "item/tool/requestUserInput":
                return self._question(request, read(wire.UserInputRequest, request.params))
            case "mcpServer/elicitation/request":
                return self._elicitation(request, read(wire.Elicitation, request.params))
            case _:
                self._due[self._keys.of(request.id)] = write(not_found(request), version=False)
                return None

    def answer(self, request_id: str, decision: Decision) -> bytes | None:
        """Build the answer's line; the first one holds, and is given again.

        Empty for a yes where Codex offers none for once.
        """
        waiting = self._waiting.pop(request_id, None)
        if waiting is not None:
            if decision.behavior == "deny":
                self._denied(waiting.asked)
            elif decision.rule:
                self._allow = (*self._allow, decision.rule)
            given = decision.behavior == "deny" or waiting.takes_yes
            line = _line(waiting.id, waiting.answer(decision)) if given else b""
            self._answers[request_id] = line
        return self._answers.get(request_id)

    # -- each kind ---------------------------------------------------------------------------

    def _command(self, request: Request, asked: wire.CommandApproval) -> ApprovalRequested | None:
        script = leave.script_of(asked.command)
        escalated = self._escalated(asked)
        tool, given = leave.COMMAND, {"command": script, "cwd": asked.cwd or ""}
        network = asked.network_approval_context
        if network is not None:
            given = {"url": f"{network.protocol}://{network.host}", "for_command": script}
            script = ""  # its leave was for the sandbox, which reaches no network
        if escalated is not False:
            tool, given["sandbox"] = ESCALATE, "outside" if escalated else "perhaps outside"
        verdict = leave.on_command(script, self._script.tools, self._allow, escalated=escalated)
        words = self._said_by(asked.thread_id, asked.reason)
        return self._judged(
            request, verdict, tool, given, asked.item_id, words, takes_yes=asked.takes_yes
        )

    def _escalated(self, asked: wire.CommandApproval) -> bool | None:
        """Return whether the call wants out of the sandbox, ``None`` where it is not known."""
        if asked.network_approval_context is not None:
            return True
        if asked.approval_id is not None:
            return None
        arguments = self._called(asked.thread_id, asked.item_id)
        if arguments is None:
            return None
        return arguments.get("sandbox_permissions") not in _USUAL

    def _change(self, request: Request, asked: wire.FileChangeApproval) -> ApprovalRequested | None:
        item = self._items.get((asked.thread_id, asked.item_id), wire.ThreadItem())
        inside = self._inside(item)
        paths = [change.path for change in item.changes]
        given: dict[str, Any] = {"file_path": paths[0] if paths else ""}
        if asked.grant_root is not None:
            given["writable_from_now_on"] = asked.grant_root
        if not inside:
            given["sandbox"] = "outside"
        moved = [to for to in map(leave.moved_to, item.changes) if to is not None]
        if moved:
            given["moved_to"] = moved
        if len(paths) > 1:
            given["files"] = paths
        given["diff"] = "\n".join(change.diff for change in item.changes)
        verdict = leave.on_change(
            item, asked.grant_root, self._script.tools, self._allow, inside=inside
        )
        tool = leave.change_tool(item) if inside and asked.grant_root is None else ESCALATE
        words = self._said_by(asked.thread_id, asked.reason)
        return self._judged(request, verdict, tool, given, asked.item_id, words)

    def _inside(self, item: wire.ThreadItem) -> bool:
        """Return whether a change is known to change files of the working directory alone."""
        top, paths = self._script.settings["cwd"], leave.paths_of(item)
        real = [self._real_path(posixpath.join(top, path)) for path in paths]
        return bool(real) and all(leave.is_inside(one, self._real_path(top)) for one in real)

    def _said_by(self, thread_id: str, reason: str | None) -> str:
        """Return why it asks, beginning with who does where that is a sub-agent."""
        return ": ".join(part for part in (self._name_of(thread_id), reason) if part)

    def _judged(
        self,
        request: Request,
        verdict: leave.Verdict,
        tool: str,
        given: dict[str, Any],
        item_id: str,
        words: str,
        *,
        takes_yes: bool = True,
    ) -> ApprovalRequested | None:
        asked = ApprovalRequested(self._keys.of(request.id), tool, given, item_id, words)
        if verdict == "ask" or (verdict == "allow" and not takes_yes):
            return self._wait(asked, request.id, _leave_for_once, takes_yes=takes_yes)
        if verdict == "deny":
            self._denied(asked)
        self._due[self._keys.of(request.id)] = _line(request.id, _leave_for_once(Decision(verdict)))
        return None

    def _question(self, request: Request, asked: wire.UserInputRequest) -> ApprovalRequested | None:
        texts = _apart([one.question for one in asked.questions])
        questions = [
            {
                "question": text,
                "header": one.header,
                "options": [
                    {"label": option.label, "description": option.description}
                    for option in one.options or ()
                ],
            }
            for text, one in zip(texts, asked.questions, strict=True)
        ]

        def answers(decision: Decision) -> dict[str, Any]:
            said = (decision.updated_input or {}).get("answers", {})
            return {
                "answers": {
                    one.id: {"answers": [said[text]] if text in said else []}
                    for text, one in zip(texts, asked.questions, strict=True)
                }
            }

        found = ApprovalRequested(
            self._keys.of(request.id), ASK_PERSON, {"questions": questions}, asked.item_id, "", True
        )
        return self._wait(found, request.id, answers)

    def _elicitation(self, request: Request, asked: wire.Elicitation) -> ApprovalRequested | None:
        about = asked.meta if isinstance(asked.meta, dict) else {}
        tool = str(about.get("tool_name", ""))
        if about.get("codex_approval_kind") != MCP_CALL:
            # A server of the person's own wants a form filled in: no turn of ours can.
            self._due[self._keys.of(request.id)] = _line(request.id, {"action": "decline"})
            return None
        if asked.server_name == SERVER:
            taken = tool in self._script.served
            self._due[self._keys.of(request.id)] = _line(
                request.id, _elicited(Decision("allow" if taken else "deny"))
            )
            return None
        name = f"mcp__{asked.server_name}__{tool}"
        given = about.get("tool_params")
        found = ApprovalRequested(
            self._keys.of(request.id),
            name,
            given if isinstance(given, dict) else {},
            "",
            asked.message,
        )
        if self._script.tools == "read-only":
            self._denied(found)
            self._due[self._keys.of(request.id)] = _line(request.id, _elicited(Decision("deny")))
            return None
        if name in self._allow:
            self._due[self._keys.of(request.id)] = _line(request.id, _elicited(Decision("allow")))
            return None
        return self._wait(found, request.id, _elicited)

    def _wait(
        self,
        asked: ApprovalRequested,
        id: Id,
        answer: Callable[[Decision], dict[str, Any]],
        *,
        takes_yes: bool = True,
    ) -> ApprovalRequested:
        self._waiting[asked.request_id] = _Waiting(asked, id, answer, takes_yes)
        return asked

    def _denied(self, asked: ApprovalRequested) -> None:
        self.denials[asked.request_id] = Denial(asked.tool, asked.tool_use_id)


def _apart(texts: Sequence[str]) -> list[str]:
    """Number the texts that are there twice: an answer goes by the text of its question."""
    apart: list[str] = []
    for text in texts:
        numbered = (f"{text} ({number})" for number in count(2))
        apart.append(next(one for one in chain((text,), numbered) if one not in apart))
    return apart


def _leave_for_once(decision: Decision) -> dict[str, Any]:
    return {"decision": "accept" if decision.behavior == "allow" else "decline"}


def _elicited(decision: Decision) -> dict[str, Any]:
    if decision.behavior == "allow":
        return {"action": "accept", "content": None, "_meta": None}
    return {"action": "decline", "content": None, "_meta": None}


def _refused(id: Id, why: str = "two open requests have this id") -> bytes:
    return write(Answer(id, error=Failure(INVALID_REQUEST, why)), version=False)


def _line(id: Id, result: dict[str, Any]) -> bytes:
    return write(Answer(id, result), version=False)
