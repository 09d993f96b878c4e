"""The app-server of Codex: what we ask of it. Pure.

Each request has its step's name as its id. ``TAKEN`` says which of the schema's definitions are
sent, with the members of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podiumd.formats.jsonrpc_lines import Notice, Request, write

INITIALIZE: Final = "initialize"
ACCOUNT: Final = "account"
OPEN: Final = "open"
PROMPT: Final = "prompt"
INTERRUPT: Final = "interrupt"
QUEUE: Final = "queue:"
"""How the name of a step begins that begins with a queued message, before its number."""
REST: Final = "rest"
STOP: Final = "stop:"
"""How the name of a step begins that stops a turn that is not ours, before the turn's id."""
STEER: Final = "steer:"
"""How the name of a step begins that hands a message to the running turn, before its uuid."""

Params = Mapping[str, Any]


def initialize(version: str) -> tuple[bytes, bytes]:
    """Build the greeting, and what ends it."""
    about = {"name": "podium", "title": "Podium", "version": version}
    params = {"clientInfo": about, "capabilities": {"experimentalApi": True}}
    return _call(INITIALIZE, "initialize", params), write(Notice("initialized"), version=False)


def read_account() -> bytes:
    """Build the question whether somebody is logged in; it costs nothing."""
    return _call(ACCOUNT, "account/read", {})


def start_thread(params: Params) -> bytes:
    """Build the request for a new conversation."""
    return _call(OPEN, "thread/start", params)


def resume_thread(thread_id: str, params: Params) -> bytes:
    """Build the request to go on with a conversation, without its history."""
    return _call(OPEN, "thread/resume", {"threadId": thread_id, "excludeTurns": True, **params})


def fork_thread(thread_id: str, params: Params) -> bytes:
    """Build the request for a copy of a conversation."""
    return _call(OPEN, "thread/fork", {"threadId": thread_id, "excludeTurns": True, **params})


def start_turn(
    thread_id: str, uuid: str, text: str, images: Sequence[str], params: Params
) -> bytes:
    """Build the request for a turn: the prompt under our id, with pictures by their paths."""
    given = [*_words(text), *({"type": "localImage", "path": path} for path in images)]
    head = {"threadId": thread_id, "clientUserMessageId": uuid, "input": given}
    return _call(PROMPT, "turn/start", {**head, **params})


def steer_turn(thread_id: str, turn_id: str, uuid: str, text: str) -> bytes:
    """Build the request that adds a message to the running turn, and to no other."""
    params = {
        "threadId": thread_id,
        "expectedTurnId": turn_id,
        "clientUserMessageId": uuid,
        "input": _words(text),
    }
    return _call(f"{STEER}{uuid}", "turn/steer", params)


def interrupt_turn(thread_id: str, turn_id: str, name: str = INTERRUPT) -> bytes:
    """Build the request that stops a turn."""
    return _call(name, "turn/interrupt", {"threadId": thread_id, "turnId": turn_id})


def list_queued(thread_id: str) -> bytes:
    """Build the question what is queued for a thread."""
    return _call(REST, "thread/queue/list", {"threadId": thread_id})


def start_queued(name: str, thread_id: str) -> bytes:
    """Build the request that begins a turn with the next message that is queued for a thread."""
    return _call(name, "thread/queue/start", {"threadId": thread_id})


def _words(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _call(name: str, method: str, params: Params) -> bytes:
    return write(Request(name, method, dict(params)), version=False)


_OPENING: Final = ("config", "cwd", "developerInstructions", "model")

TAKEN: Final[Mapping[str, tuple[str, ...]]] = {
    "ClientInfo": ("name", "title", "version"),
    "InitializeCapabilities": ("experimentalApi",),
    "InitializeParams": ("capabilities", "clientInfo"),
    "ThreadForkParams": (*_OPENING, "excludeTurns", "threadId"),
    "ThreadQueueListParams": ("threadId",),
    "ThreadQueueStartParams": ("threadId",),
    "ThreadResumeParams": (
        *_OPENING,
        "approvalPolicy",
        "approvalsReviewer",
        "excludeTurns",
        "threadId",
    ),
    "ThreadStartParams": _OPENING,
    "TurnInterruptParams": ("threadId", "turnId"),
    "TurnStartParams": (
        "approvalPolicy",
        "approvalsReviewer",
        "clientUserMessageId",
        "cwd",
        "effort",
        "input",
        "model",
        "outputSchema",
        "sandboxPolicy",
        "threadId",
    ),
    "TurnSteerParams": ("clientUserMessageId", "expectedTurnId", "input", "threadId"),
    "CommandExecutionRequestApprovalResponse": ("decision",),
    "FileChangeRequestApprovalResponse": ("decision",),
    "McpServerElicitationRequestResponse": ("action", "content"),
    "ToolRequestUserInputAnswer": ("answers",),
    "ToolRequestUserInputResponse": ("answers",),
}
"""By the schema's name of the definition."""

CHOSEN: Final[Mapping[str, tuple[str, ...]]] = {
    "ApprovalsReviewer": ("user",),
    "AskForApproval": ("on-request", "untrusted"),
    "CommandExecutionApprovalDecision": ("accept", "decline"),
    "FileChangeApprovalDecision": ("accept", "decline"),
    "McpServerElicitationAction": ("accept", "decline"),
    "SandboxPolicy": ("readOnly", "workspaceWrite"),
    "UserInput": ("localImage", "text"),
}
"""Definitions with alternatives, and which of these are sent."""
