"""The Agent Client Protocol, version 1: what an agent says, as values. Pure.

Each struct is a definition of the protocol's schema with the members that are read
(``podiumd.formats.said``).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podiumd.core.reply.amounts import dollars
from podiumd.formats.jsonrpc_lines import Id
from podiumd.formats.said import Said

VERSION: Final = 1
"""The version of the protocol that is spoken."""

AUTH_REQUIRED: Final = -32000
REQUEST_CANCELLED: Final = -32800


class AgentInfo(Said, frozen=True):
    """The agent's own words for itself."""

    name: str = ""
    version: str = ""


class PromptCapabilities(Said, frozen=True):
    """Members of a prompt beside text, as far as an agent takes them."""

    image: bool = False


class AgentCapabilities(Said, frozen=True):
    """``session_capabilities`` has a member for each thing that can be done with a session."""

    load_session: bool = False
    session_capabilities: dict[str, Any] = msgspec.field(default_factory=dict)
    prompt_capabilities: PromptCapabilities = PromptCapabilities()


class AuthMethod(Said, frozen=True):
    """A way to log in."""

    id: str = ""
    name: str = ""


class InitializeResponse(Said, frozen=True):
    """The answer to ``initialize``."""

    protocol_version: int = VERSION
    agent_info: AgentInfo | None = None
    auth_methods: tuple[AuthMethod, ...] = ()
    agent_capabilities: AgentCapabilities = AgentCapabilities()


class SessionMode(Said, frozen=True):
    """A mode that a session can be in."""

    id: str = ""


class SessionModeState(Said, frozen=True):
    """The mode of a session, and those that there are."""

    current_mode_id: str = ""
    available_modes: tuple[SessionMode, ...] = ()


class ModelInfo(Said, frozen=True):
    """A model that can be chosen."""

    model_id: str = ""


class SessionModelState(Said, frozen=True):
    """The model of a session, and those that there are."""

    current_model_id: str = ""
    available_models: tuple[ModelInfo, ...] = ()


class ConfigOption(Said, frozen=True):
    """A choice of a session. ``options`` are its values, or groups of them."""

    id: str = ""
    category: str | None = None
    current_value: Any = None
    options: tuple[Any, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values that there are to choose from."""
        found: list[str] = []
        for one in self.options:
            inner = one.get("options") if isinstance(one, dict) else None
            for each in inner if isinstance(inner, list) else (one,):
                value = each.get("value") if isinstance(each, dict) else None
                if isinstance(value, str):
                    found.append(value)
        return tuple(found)


class OpenedSession(Said, frozen=True):
    """The answer to ``session/new``, ``load``, ``resume``, ``fork`` and ``set_config_option``.

    A session that is gone on with is not named again, and its answer may be null.
    """

    session_id: str = ""
    modes: SessionModeState | None = None
    models: SessionModelState | None = None
    config_options: tuple[ConfigOption, ...] = ()


class Usage(Said, frozen=True):
    """The tokens of a turn."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_read_tokens: int = 0


class PromptResponse(Said, frozen=True):
    """The answer to ``session/prompt``: the end of the turn."""

    stop_reason: str = ""
    usage: Usage | None = None


class ToolMeta(Said, frozen=True):
    """Further members about a tool, of some agents."""

    tool_name: str = ""


class ToolCall(Said, frozen=True):
    """A use of a tool, or news of one: what is ``None`` has not changed.

    ``title`` is the agent's own text. ``name`` few agents give.
    """

    tool_call_id: str = ""
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    raw_input: Any = None
    raw_output: Any = None
    content: Any = None
    meta: ToolMeta | None = msgspec.field(default=None, name="_meta")


class PlanEntry(Said, frozen=True):
    """A step of the agent's plan. ``status``: pending, in_progress or completed."""

    content: str = ""
    status: str = ""


class Cost(Said, frozen=True):
    """The cost of a session so far."""

    amount: float | None = None
    currency: str = ""

    @property
    def in_usd(self) -> float | None:
        """Return it where it is in dollars, and can be."""
        if self.amount is None or self.currency != "USD":
            return None
        return dollars(self.amount)


class SessionUpdate(ToolCall, frozen=True):
    """An update of any kind: the members of those kinds that are read."""

    session_update: str = ""
    message_id: str | None = None
    current_mode_id: str = ""
    config_options: tuple[ConfigOption, ...] = ()
    used: int | None = None
    size: int | None = None
    cost: Cost | None = None
    entries: tuple[PlanEntry, ...] = ()


class SessionNotification(Said, frozen=True):
    """``session/update``."""

    session_id: str = ""
    update: SessionUpdate = SessionUpdate()


class PermissionOption(Said, frozen=True):
    """A possible answer. ``kind``: allow_once, allow_always, reject_once or reject_always."""

    option_id: str = ""
    name: str = ""
    kind: str = ""


class PermissionRequest(Said, frozen=True):
    """``session/request_permission``: may this tool be used?"""

    session_id: str = ""
    options: tuple[PermissionOption, ...] = ()
    tool_call: ToolCall = ToolCall()


class CancelRequest(Said, frozen=True):
    """``$/cancel_request``: no answer is waited for any more."""

    request_id: Id | None = None


def text_of(content: Any) -> str:
    """Return the text in the content of a message or of a tool: a block, or a list of them."""
    if isinstance(content, list):
        return "\n".join(found for one in content if (found := text_of(one)))
    if not isinstance(content, dict):
        return ""
    if content.get("type") == "content":
        return text_of(content.get("content"))
    text = content.get("text")
    return text if isinstance(text, str) else ""
