"""The app-server of Codex: what it says, as values. Pure. Measured with ``codex`` 0.169.0.

Each struct is a definition of the protocol's schema, under the schema's own name, with the members
that are read (``podiumd.formats.said``). ``GIVEN`` says which of the schema's definitions each
struct reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from podiumd.formats.said import Said


class _Stamped(msgspec.Struct):
    emittedAtMs: int = 0  # noqa: N815 - the protocol's word


def emitted_at(line: bytes) -> int:
    """Return when a line was said, in ms since 1970; 0 where it does not tell."""
    try:
        return msgspec.json.decode(line, type=_Stamped).emittedAtMs
    except msgspec.MsgspecError:
        return 0


class Thread(Said, frozen=True):
    """A conversation; a sub-agent's has a parent."""

    id: str = ""
    parent_thread_id: str | None = None
    agent_nickname: str | None = None


class OpenedThread(Said, frozen=True):
    """The answer to ``thread/start``, ``thread/resume`` and ``thread/fork``."""

    thread: Thread = Thread()
    model: str = ""


class TurnError(Said, frozen=True):
    """Why a turn failed. ``codex_error_info`` is a word, or an object with a word as its key."""

    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class Turn(Said, frozen=True):
    """A turn. ``status``: inProgress, completed, interrupted or failed."""

    id: str = ""
    status: str = ""
    error: TurnError | None = None


class BegunTurn(Said, frozen=True):
    """The answer to ``turn/start``."""

    turn: Turn = Turn()


class TurnNotification(Said, frozen=True):
    """``turn/started``, ``turn/completed``."""

    thread_id: str = ""
    turn: Turn = Turn()


class FileUpdateChange(Said, frozen=True):
    """A change of one file; ``diff`` is its text."""

    path: str = ""
    diff: str = ""
    kind: Any = None


class TextInput(Said, frozen=True):
    """A part of a person's message; only text has words."""

    text: str = ""


class ThreadItem(Said, frozen=True):
    """A piece of a turn, of any type: the members of those types that are read."""

    type: str = ""
    id: str = ""
    client_id: str | None = None
    content: tuple[TextInput, ...] = ()
    text: str = ""
    phase: str | None = None
    status: str = ""
    command: str = ""
    aggregated_output: str | None = None
    exit_code: int | None = None
    changes: tuple[FileUpdateChange, ...] = ()
    server: str = ""
    tool: str = ""
    query: str = ""
    prompt: str | None = None


class ItemNotification(Said, frozen=True):
    """``item/started``, ``item/completed``."""

    thread_id: str = ""
    turn_id: str = ""
    item: ThreadItem = ThreadItem()


class ThreadNotification(Said, frozen=True):
    """``thread/queue/changed``."""

    thread_id: str = ""


class DeltaNotification(Said, frozen=True):
    """Words as they are written."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    delta: str = ""


class ErrorNotification(Said, frozen=True):
    """A failure. ``will_retry``: Codex tries again by itself."""

    thread_id: str = ""
    turn_id: str = ""
    error: TurnError = TurnError()
    will_retry: bool = False


class TokenUsageBreakdown(Said, frozen=True):
    """Tokens. ``input_tokens`` counts the cached ones too."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class ThreadTokenUsage(Said, frozen=True):
    """Tokens of the last request, and of the thread's whole life."""

    last: TokenUsageBreakdown = TokenUsageBreakdown()
    total: TokenUsageBreakdown = TokenUsageBreakdown()


class TokenUsageNotification(Said, frozen=True):
    """``thread/tokenUsage/updated``: after each request to the model."""

    thread_id: str = ""
    turn_id: str = ""
    token_usage: ThreadTokenUsage = ThreadTokenUsage()


class RateLimitWindow(Said, frozen=True):
    """A limit of the account. ``resets_at``: seconds since 1970."""

    used_percent: float = 0
    resets_at: int | None = None


class RateLimitSnapshot(Said, frozen=True):
    """The limits of the account."""

    primary: RateLimitWindow | None = None
    secondary: RateLimitWindow | None = None


class RateLimitsNotification(Said, frozen=True):
    """``account/rateLimits/updated``."""

    rate_limits: RateLimitSnapshot = RateLimitSnapshot()


class ResolvedNotification(Said, frozen=True):
    """``serverRequest/resolved``: nobody waits for an answer to that request any more."""

    thread_id: str = ""
    request_id: str | int = ""


class AccountResponse(Said, frozen=True):
    """The answer to ``account/read``."""

    account: Any = None
    requires_openai_auth: bool = False


class NetworkApprovalContext(Said, frozen=True):
    """The host that a command wants to reach. ``protocol``: http, https, socks5Tcp or socks5Udp."""

    host: str = ""
    protocol: str = ""


class CommandApproval(Said, frozen=True):
    """``item/commandExecution/requestApproval``: may this command be run?

    ``reason`` is the model's. ``available_decisions`` are the answers that it offers, words or
    objects; a no is taken always. ``approval_id``: it is about a part of the call alone.
    ``network_approval_context``: what is asked is to reach that, for a command that runs.
    """

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    approval_id: str | None = None
    available_decisions: tuple[Any, ...] | None = None
    network_approval_context: NetworkApprovalContext | None = None

    @property
    def takes_yes(self) -> bool:
        """Return whether leave for once may be given."""
        return self.available_decisions is None or "accept" in self.available_decisions


class FileChangeApproval(Said, frozen=True):
    """``item/fileChange/requestApproval``: may these files be changed? The item tells which.

    ``grant_root``: a directory that it wants to write in from now on.
    """

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    reason: str | None = None
    grant_root: str | None = None


class QuestionOption(Said, frozen=True):
    """A possible answer."""

    label: str = ""
    description: str = ""


class UserQuestion(Said, frozen=True):
    """A question of the model's to the person."""

    id: str = ""
    header: str = ""
    question: str = ""
    options: tuple[QuestionOption, ...] | None = None


class UserInputRequest(Said, frozen=True):
    """``item/tool/requestUserInput``: the model's questions."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    questions: tuple[UserQuestion, ...] = ()


class Elicitation(Said, frozen=True):
    """``mcpServer/elicitation/request``: a server of tools asks, or Codex for one of its tools.

    ``meta`` says which of the two, and what the tool is given.
    """

    thread_id: str = ""
    turn_id: str | None = None
    server_name: str = ""
    message: str = ""
    meta: Any = msgspec.field(name="_meta", default=None)


GIVEN: Final[Mapping[str, type[Said]]] = {
    "AccountRateLimitsUpdatedNotification": RateLimitsNotification,
    "AgentMessageDeltaNotification": DeltaNotification,
    "CommandExecutionRequestApprovalParams": CommandApproval,
    "ErrorNotification": ErrorNotification,
    "FileChangeRequestApprovalParams": FileChangeApproval,
    "FileUpdateChange": FileUpdateChange,
    "GetAccountResponse": AccountResponse,
    "ItemCompletedNotification": ItemNotification,
    "ItemStartedNotification": ItemNotification,
    "McpServerElicitationRequestParams": Elicitation,
    "NetworkApprovalContext": NetworkApprovalContext,
    "RateLimitSnapshot": RateLimitSnapshot,
    "RateLimitWindow": RateLimitWindow,
    "ReasoningSummaryTextDeltaNotification": DeltaNotification,
    "ServerRequestResolvedNotification": ResolvedNotification,
    "Thread": Thread,
    "ThreadForkResponse": OpenedThread,
    "ThreadItem": ThreadItem,
    "ThreadQueueChangedNotification": ThreadNotification,
    "ThreadResumeResponse": OpenedThread,
    "ThreadStartResponse": OpenedThread,
    "ThreadTokenUsage": ThreadTokenUsage,
    "ThreadTokenUsageUpdatedNotification": TokenUsageNotification,
    "TokenUsageBreakdown": TokenUsageBreakdown,
    "ToolRequestUserInputOption": QuestionOption,
    "ToolRequestUserInputParams": UserInputRequest,
    "ToolRequestUserInputQuestion": UserQuestion,
    "Turn": Turn,
    "TurnCompletedNotification": TurnNotification,
    "TurnError": TurnError,
    "TurnStartResponse": BegunTurn,
    "TurnStartedNotification": TurnNotification,
}
"""By the schema's name of the definition."""

ITEMS: Final = (
    "userMessage",
    "agentMessage",
    "reasoning",
    "commandExecution",
    "fileChange",
    "mcpToolCall",
    "webSearch",
    "contextCompaction",
    "collabAgentToolCall",
)
"""The types of ``ThreadItem`` that are read."""

WORKING: Final = frozenset(
    {"commandExecution", "fileChange", "mcpToolCall", "webSearch", "collabAgentToolCall"}
)
"""Those that do something, or begin with it."""
