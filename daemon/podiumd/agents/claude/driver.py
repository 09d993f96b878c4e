"""The driver of Claude Code: the real ``claude``, one process a turn, over stream-json.

The process reads a named pipe and writes a spool file in the turn's directory, so it works on
when the daemon stops, and the next daemon takes it up (``podiumd.drivers.spooled``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from podiumd.agents.claude.arguments import claude_arguments, claude_environment
from podiumd.agents.claude.dialect import OPENING, ClaudeDialect
from podiumd.agents.claude.files import find_transcript, look_back, size_of
from podiumd.agents.claude.greeting import greeting, traces
from podiumd.agents.claude.inputs import write_inputs
from podiumd.agents.claude.kind import CLAUDE
from podiumd.agents.claude.settle import settle
from podiumd.agents.claude.tools import hooks_line
from podiumd.agents.halves import Host
from podiumd.core.analysis.check_agents import Capabilities, OwnTools
from podiumd.drivers.agent_process import AgentProcess, spawn
from podiumd.drivers.base import PendingTurn, TurnRequest, TurnStatus
from podiumd.drivers.dialect import Aftermath
from podiumd.drivers.fifo import require_short
from podiumd.drivers.images import inline
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES, Look
from podiumd.drivers.spooled_driver import SpooledDriver, messages_of
from podiumd.formats import claude_control

__all__ = ["CAPABILITIES", "ClaudeDriver", "greeting", "make", "traces"]

CAPABILITIES: Final = Capabilities(
    structured_output=True,
    approvals=True,
    interrupt=True,
    steer=True,
    resume=True,
    fork=True,
    read_only_tools=True,
    tool_lists=True,
    deny_words=True,
    survives_daemon=True,
    hooks=True,
    system_text=True,
    permission_modes=(
        "default",
        "acceptEdits",
        "auto",
        "bypassPermissions",
        "dontAsk",
        "manual",
        "plan",
    ),
    exactly_once="agent",
    own_tools="dialect",
    usage="cost",
    images="inline",
)


def make(host: Host) -> ClaudeDriver:
    """Make the driver of one agent that is Claude Code."""
    return ClaudeDriver(
        host.watch, host.spool_megabytes, tools=lambda: _OWN_TOOLS[host.settings().tools]
    )


_OWN_TOOLS: Final[dict[str, OwnTools]] = {"in-process": "dialect", "stdio": "mcp"}


class ClaudeDriver(SpooledDriver[ClaudeDialect]):
    """Runs turns of Claude Code. ``tools``: how the agent reaches Podium's tools, by the settings
    that are in force. For the other parameters see ``SpooledDriver``."""

    name = CLAUDE.name

    def __init__(
        self,
        watch: SpoolWatch,
        spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES,
        *,
        tools: Callable[[], OwnTools] = lambda: "dialect",
    ) -> None:
        super().__init__(
            watch, spool_megabytes, dialect=_dialect, spawn=_spawn, look_back=_look_back
        )
        self._tools = tools

    @property
    def capabilities(self) -> Capabilities:
        return replace(CAPABILITIES, own_tools=self._tools())

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look what became of a turn; see ``podiumd.drivers.base.Driver.inspect``.

        Where no pid is recorded the caller has made sure that the session's lease can be taken,
        or waits for the marker to appear: a child between fork and exec holds the lease and does
        not carry the marker yet.
        """
        return await settle(pending)

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return the session's transcript, ``None`` where there is none yet."""
        return find_transcript(session_id, working_directory, environment)


def _dialect(turn: TurnRequest | PendingTurn) -> ClaudeDialect:
    opens_only = isinstance(turn, TurnRequest) and turn.opens_only
    return ClaudeDialect(messages_of(turn), turn.served, opens_only=opens_only)


async def _spawn(request: TurnRequest, dialect: ClaudeDialect) -> AgentProcess:
    # Before the prompt, so that no tool is used unasked.
    hooks = hooks_line(request.hooks)
    prompt = dialect.prompt(request.prompt, request.prompt_uuid)
    if request.images:
        told = inline(request.images)
        prompt = (claude_control.user_message(request.prompt, request.prompt_uuid, told),)
    if request.opens_only:
        require_short(*prompt)
        prompt = (OPENING,)
    write_inputs(request)
    return await spawn(
        replace(request, environment=claude_environment(request)),
        claude_arguments(request),
        *(prompt if hooks is None else (hooks, *prompt)),
    )


def _look_back(turn: TurnRequest | PendingTurn) -> Look:
    def transcript() -> Path | None:
        return find_transcript(turn.session_id, turn.working_directory, turn.environment)

    since = size_of(transcript()) if isinstance(turn, TurnRequest) else 0

    async def look() -> Aftermath:
        return await look_back(transcript(), turn.prompt_uuid, since)

    return look
