"""Events of Claude Code's stream-json, one type an event. Measured with ``claude`` 2.1.328."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from podiumd.core.reply.report import Denial, Tokens
from podiumd.formats.message import Block, ToolResult

SYNTHETIC_MODEL = "<synthetic>"


class Init(msgspec.Struct, frozen=True):
    """The start of a turn; it comes again at every turn of a process."""

    session_id: str
    cwd: str
    model: str
    permission_mode: str
    version: str
    tools: tuple[str, ...]


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A content block of the model's message, each with a ``uuid`` of its own.

    ``synthetic``: made up by the CLI (errors, local commands), not written by the model; ``error``
    is then its name for what failed. ``aborted``: cut short by an interrupt. A sub-agent's has a
    ``parent_tool_use_id``.
    """

    uuid: str
    message_id: str
    model: str
    blocks: tuple[Block, ...]
    parent_tool_use_id: str | None
    synthetic: bool
    aborted: bool
    error: str = ""


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Tool results, or words that the CLI puts into the conversation itself.

    ``refused_by_hook`` are the ids of those calls among them that a hook did not let happen.
    """

    uuid: str
    results: tuple[ToolResult, ...]
    text: str
    parent_tool_use_id: str | None
    synthetic: bool
    refused_by_hook: tuple[str, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one exchange; there may be several before the process is idle.

    ``subtype`` says ``success`` even for a failed request: judge by the other fields.
    ``cost_usd`` and ``tokens`` are this result's alone (the sums of
    ``model_usage_since_last_result``), exact also after ``--resume``;
    ``total_cost_usd`` is the session's, earlier processes included.
    ``terminal_reason`` is ``None`` when no model was asked (a hook's refusal, local commands).
    """

    uuid: str
    subtype: str
    is_error: bool
    terminal_reason: str | None
    api_error_status: int | None
    api_error: str | None
    result: str
    structured_output: dict[str, Any] | None
    errors: tuple[str, ...]
    permission_denials: tuple[Denial, ...]
    total_cost_usd: float
    cost_usd: float
    queued_turn_count: int
    num_turns: int
    stop_reason: str | None
    tokens: Tokens | None = None


class ControlRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI asks us; ``subtype`` ``can_use_tool`` waits for an answer to ``request_id``.

    ``asks_person``: the agent's own question (AskUserQuestion, ExitPlanMode).
    """

    request_id: str
    subtype: str
    tool: str
    input: dict[str, Any]
    tool_use_id: str
    description: str
    asks_person: bool


class ServerMessage(msgspec.Struct, frozen=True):
    """A message to the tool server that lives in the host; the CLI waits for ``request_id``.

    Also where the message itself is a notification, to which no server replies.
    """

    request_id: str
    message: dict[str, Any]


class HookCallback(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI waits for the host's word before or after a tool; ``output`` is what came of it."""

    request_id: str
    event: str
    tool: str
    input: dict[str, Any]
    tool_use_id: str
    output: str


class ControlCancel(msgspec.Struct, frozen=True):
    """The CLI no longer waits for the answer to this request."""

    request_id: str


class ControlResponse(msgspec.Struct, frozen=True):
    """The answer to a request of ours; ``cancelled`` are uuids an interrupt withdrew.

    ``hooks_applied`` is false where a request to be asked at hooks was received and is not
    followed.
    """

    request_id: str
    error: str | None
    cancelled: tuple[str, ...]
    hooks_applied: bool = True


class Lifecycle(msgspec.Struct, frozen=True):
    """The fate of a message that we sent: ``queued``, ``started``, then one of four ends."""

    command_uuid: str
    state: str


class StateChanged(msgspec.Struct, frozen=True):
    """``running``, ``requires_action`` (an open approval) or ``idle``."""

    state: str


class ApiRetry(msgspec.Struct, frozen=True):
    """A request to the model failed and is tried again after ``delay_ms``."""

    attempt: int
    max_retries: int
    delay_ms: int
    status: int | None
    error: str


class BackgroundTask(msgspec.Struct, frozen=True):
    """A task that runs beside the conversation: ``local_bash`` or ``local_agent``."""

    task_id: str
    task_type: str
    description: str


class BackgroundTasks(msgspec.Struct, frozen=True):
    """The background tasks that run now."""

    tasks: tuple[BackgroundTask, ...]


class RateLimit(msgspec.Struct, frozen=True):
    """The account's limit: ``rejected`` means used up. ``resets_at``: seconds since 1970."""

    status: str
    resets_at: int | None
    limit_type: str | None


class Informational(msgspec.Struct, frozen=True):
    """A notice of the CLI; ``stops``: the prompt was not handed to the model (a hook)."""

    content: str
    stops: bool


class StreamDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the answer as it is written (``--include-partial-messages``).

    The record's uuid is not known yet: ``message_id`` and ``index`` name the block.
    """

    message_id: str
    index: int
    kind: Literal["text", "thinking"]
    delta: str
    parent_tool_use_id: str | None


class ToolWriting(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool as it is written: its ``name`` first, then pieces of its input in JSON."""

    message_id: str
    name: str
    delta: str
    parent_tool_use_id: str | None


class Other(msgspec.Struct, frozen=True):
    """A type that has no meaning here."""

    type: str
    raw: dict[str, Any]


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no JSON object."""

    reason: str
    size: int


Event = (
    Init
    | AssistantMessage
    | UserMessage
    | Result
    | ControlRequest
    | ServerMessage
    | HookCallback
    | ControlCancel
    | ControlResponse
    | Lifecycle
    | StateChanged
    | ApiRetry
    | BackgroundTasks
    | RateLimit
    | Informational
    | StreamDelta
    | ToolWriting
    | Other
    | BadLine
)
