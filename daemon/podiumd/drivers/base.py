"""The interface of every driver: one turn of one kind of agent, run, taken up or settled.

A driver runs a turn (``turn``), takes a living turn of an earlier daemon up again (``reattach``),
or reports what became of a turn whose end was never recorded (``inspect``). It never decides what a
turn means: it reports, the core decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import msgspec

from podiumd.core.analysis.check_agents import Capabilities, Described
from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.reply.report import TurnReport
from podiumd.core.run.native_loop_commands import LoopCommand
from podiumd.core.run.native_loop_facts import Words
from podiumd.core.run.native_loop_state import LoopState


class HookPoint(msgspec.Struct, frozen=True):
    """The point where an agent is to stop and ask: before or after the tools that ``match`` (a
    glob; every tool without one)."""

    event: Literal["before-tool", "after-tool"]
    match: str | None = None


class ToolsServer(msgspec.Struct, frozen=True):
    """The command by which an agent starts the server of Podium's tools as a program of its own
    (MCP over its standard streams). ``environment`` holds the turn's token, which belongs into no
    argument."""

    command: tuple[str, ...]
    environment: dict[str, str]


class JournalClosed(Exception):
    """The turn is over, or its whole run: nothing more of it is recorded."""


class TurnJournal(Protocol):
    """The record of a turn that goes on inside the daemon: facts of its run.

    What a driver records is stored for good when ``record`` returns, so that the next daemon can
    go on from there.
    """

    @property
    def loop(self) -> LoopState:
        """Return how far the turn has come."""
        ...

    @property
    def words(self) -> tuple[Words, ...]:
        """Return the words of people that this turn took, and is not known to have begun with.

        Words that stand here before the first ``record`` are from an earlier life of the daemon.
        """
        ...

    async def record(self, command: LoopCommand) -> LoopState:
        """Store what happened; returns how far the turn has come with it.

        A command that does not fit changes nothing. Raises ``JournalClosed``.
        """
        ...


class Image(msgspec.Struct, frozen=True):
    """An image of a prompt: a file that stays as it is until the turn is over."""

    path: str
    media_type: str


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request to a driver: everything that it needs to run one turn.

    ``directory`` (STATE/turns/TURN_ID) exists and is empty, but for a turn that is entered once
    more after a crash (``journal``); ``lease_fd`` is the locked descriptor of the session's lock
    file which the agent process inherits, ``tree_fd`` that of the working tree's; ``environment``
    is the child's whole environment, the marker ``PODIUM_TURN`` included. ``journal`` is for a turn
    that goes on inside the daemon: how far it has come, and its record. ``first``: no turn of the
    run was begun before. ``commits``: an agent that makes commits itself may commit what this turn
    has changed, and with ``foreign`` what earlier turns of its run have left: all but those paths,
    from the tree's top, which were uncommitted or ignored when the run began. ``writes_git``: its
    step is to commit, so an agent whose commands may not write git's directories is to let them in
    this turn. ``served`` are the
    tools that Podium serves in this turn (``changing``: other turns of the session are served
    others), and ``hooks`` where it wants to be asked; with a ``tools_server`` the agent is to reach
    these tools by that, not through the driver. ``system_prompt`` is added to the agent's own
    system text. ``script_file`` states where ``script`` came from. ``goes_on``: the turn takes up
    the one before it, which was cut off. ``agent_session_id``: of an agent that names its sessions
    itself, its own id of the one that is resumed or forked; ``session_id`` and ``fork_from`` are
    Podium's. ``opens_only``: the session is opened, and no prompt is sent: a trial
    (``podiumd.drivers.free_cases``), of an agent that is a process.
    """

    turn_id: str
    run_id: str
    session_id: str
    session_mode: Literal["new", "resume", "fork"]
    fork_from: str | None = None
    working_directory: str
    prompt: str
    prompt_uuid: str
    command: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    first: bool = False
    lease_fd: int | None = None
    tree_fd: int | None = None
    schema: dict[str, Any] | None = None
    tools: str | tuple[str, ...] = "all"
    allow: tuple[str, ...] = ()
    permission_mode: str | None = None
    model: str | None = None
    max_budget_usd: float | None = None
    system_prompt: str | None = None
    idle_timeout_seconds: float = 600.0
    script: dict[str, Any] | None = None
    script_file: str = ""
    journal: TurnJournal | None = None
    commits: bool = False
    writes_git: bool = False
    foreign: tuple[str, ...] | None = None
    served: tuple[ToolSpec, ...] = ()
    changing: bool = False
    hooks: tuple[HookPoint, ...] = ()
    tools_server: ToolsServer | None = None
    goes_on: bool = False
    agent_session_id: str | None = None
    opens_only: bool = False

    images: tuple[Image, ...] = ()

    @property
    def inherited(self) -> tuple[int, ...]:
        """Return the descriptors that the turn's processes inherit."""
        return tuple(fd for fd in (self.lease_fd, self.tree_fd) if fd is not None)


class PendingTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that facts record as intended and not ended: the knowledge of recovery about it.

    ``pid``, ``proc_start`` and ``group`` are ``None`` when no ``turn.started`` was recorded.
    ``denied_tool_uses`` are calls that a person denied. ``offset`` is up to where in its output
    clients have been informed of the agent's work; ``None`` leaves that to the driver's own notes.
    ``loop`` is how far a native turn has come; ``irreversible``: nothing of it may be repeated
    unseen. ``served`` and ``hooks`` are as in its request. ``agent_session_id``: the agent's own id
    of the session, where it names its sessions itself and its name for this one is stored.
    """

    turn_id: str
    session_id: str
    session_mode: Literal["new", "resume", "fork"]
    working_directory: str
    prompt_uuid: str
    directory: str
    environment: dict[str, str]
    pid: int | None = None
    proc_start: int | None = None
    sent_uuids: tuple[str, ...] = ()
    denied_tool_uses: frozenset[str] = frozenset()
    offset: int | None = None
    idle_timeout_seconds: float = 600.0
    loop: LoopState = LoopState()
    irreversible: bool = False
    served: tuple[ToolSpec, ...] = ()
    hooks: tuple[HookPoint, ...] = ()
    agent_session_id: str | None = None


class TurnStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a pending turn, found by looking (never by blind repetition).

    ``absent``: nothing of the prompt reached the agent's record and no tool had begun: the same
    prompt under the same uuid may be sent. ``running``: take it up. ``finished``: ``report`` is to
    be judged. ``broken``: it was cut off; ``prompt_recorded``: whether the transcript holds our
    prompt, ``tool_begun``: whether the spool shows a tool call. ``agent_session_id`` is the agent's
    own id of the session, where it has told one.
    """

    state: Literal["absent", "running", "finished", "broken"]
    report: TurnReport | None = None
    pid: int | None = None
    proc_start: int | None = None
    session_exists: bool = False
    prompt_recorded: bool = False
    tool_begun: bool = False
    detail: str = ""
    delivered_steers: tuple[str, ...] = ()
    agent_session_id: str | None = None


class Started(msgspec.Struct, frozen=True, tag=True):
    """The agent's process exists: the fact ``turn.started`` is to be stored."""

    pid: int
    proc_start: int
    group: int


OutputKind = Literal["text", "thinking", "tool", "progress", "tool_result", "status"]


class SessionNamed(msgspec.Struct, frozen=True, tag=True):
    """The agent's own id for the session: of an agent that takes none from us. It may come in each
    turn, before the agent's first output."""

    agent_session_id: str


class AgentDescribed(msgspec.Struct, frozen=True, tag=True):
    """The agent has said of itself what it can do: at the beginning of a turn, once."""

    about: Described


class Output(msgspec.Struct, frozen=True, tag=True):
    """The words or activity of the agent, for people watching; transient.

    ``kind``: ``text``, ``thinking``, ``tool`` (``delta`` is a one-line description), ``progress``
    (how much of its input is written), ``tool_result`` or ``status`` (for example a retry of the
    model's API).

    ``part`` is the part of the turn that it belongs to: each one is reported from its beginning
    again after a restart, earlier ones are stored. Empty where the whole turn is one. ``again``: a
    daemon before this one may have reported it already.
    """

    uuid: str
    kind: OutputKind
    delta: str
    part: str = ""
    again: bool = False


class ApprovalRequested(msgspec.Struct, frozen=True, tag=True):
    """The agent asks whether it may use a tool, or asks the person something itself.

    ``asks_person`` is true for the agent's own questions (AskUserQuestion, ExitPlanMode).
    """

    request_id: str
    tool: str
    input: dict[str, Any]
    tool_use_id: str
    description: str = ""
    asks_person: bool = False


class ApprovalWithdrawn(msgspec.Struct, frozen=True, tag=True):
    """The agent no longer waits for this answer."""

    request_id: str


PromptProgress = Literal["queued", "started", "completed", "cancelled", "discarded", "refused"]


class PromptState(msgspec.Struct, frozen=True, tag=True):
    """Lifecycle of a prompt or steer that we sent, by its uuid."""

    uuid: str
    state: PromptProgress


class ToolCalled(msgspec.Struct, frozen=True, tag=True):
    """The agent's call of one of the tools that Podium serves; it waits (``Turn.reply_tool``).

    The same call may be reported again, by a turn that was taken up or entered once more: under the
    same ``call_id``.
    """

    call_id: str
    tool: str
    args: dict[str, Any]


class HookRaised(msgspec.Struct, frozen=True, tag=True):
    """The agent is about to use a tool, or has used one, and waits (``Turn.settle_hook``)."""

    hook_id: str
    event: Literal["before-tool", "after-tool"]
    tool: str
    input: dict[str, Any]
    output: str = ""


TurnEvent = (
    Started
    | SessionNamed
    | AgentDescribed
    | Output
    | ApprovalRequested
    | ApprovalWithdrawn
    | PromptState
    | ToolCalled
    | HookRaised
)


class Decision(msgspec.Struct, frozen=True):
    """The answer to an approval request.

    ``message`` is sent to the agent with a no; ``note`` is the part of that which a person wrote,
    if they did. ``rule`` is also allowed for the rest of the session, in memory only: a tool's
    name, or ``Bash(git diff:*)`` for commands that begin so, where the agent itself reports which
    do. ``updated_input`` replaces the tool's input (the agent's own questions are answered so).
    """

    behavior: Literal["allow", "deny"]
    message: str = ""
    note: str = ""
    rule: str = ""
    updated_input: dict[str, Any] | None = None


class Turn(Protocol):
    """A turn in progress. Iterate it to its end, then read ``report``."""

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> TurnEvent: ...

    @property
    def report(self) -> TurnReport:
        """Return the end of the turn; valid once the iteration is over and the context was left."""
        ...

    async def interrupt(self) -> None:
        """Ask the agent to stop, queued steers withdrawn; the iteration then comes to its end."""
        ...

    async def steer(self, text: str, uuid: str) -> bool:
        """Hand a message to the running turn. ``False``: the turn was over, nothing was sent.

        May wait until the agent has taken up its prompt: the turn is followed by another task.
        """
        ...

    async def answer(self, request_id: str, decision: Decision) -> bool:
        """Answer an approval; sending the same answer again is harmless. ``False``: too late."""
        ...

    async def reply_tool(self, call_id: str, text: str, success: bool) -> bool:
        """Send the result of a call to the agent; again is harmless. ``False``: no call waits."""
        ...

    async def settle_hook(self, hook_id: str, refusal: str | None) -> bool:
        """Let the agent go on, or send it the refusal; again is harmless. ``False``: none waits."""
        ...

    async def leave(self) -> None:
        """Let go of the turn: the iteration ends, the agent works on, nothing is torn down."""
        ...


class Driver(Protocol):
    """The driver of one configured agent."""

    name: str

    @property
    def capabilities(self) -> Capabilities:
        """Return what the agent can do, by the settings that are in force."""
        ...

    def turn(self, request: TurnRequest) -> AbstractAsyncContextManager[Turn]:
        """Run one turn.

        Leaving the context tears down all that still lives of it, in order and within a bound
        (unless ``Turn.leave`` was called); nothing is left behind.

        Entering it raises ``OSError`` where the disk is too full; nothing was started then.
        """
        ...

    def reattach(self, pending: PendingTurn) -> AbstractAsyncContextManager[Turn]:
        """Attach to a turn that ``settle`` found running; otherwise as ``turn``."""
        ...

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look what became of a turn. Ends survivors of a dead one (the marker's sweep)."""
        ...

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Check that the agent can be run: ``None``, else the reason in a sentence."""
        ...

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return the session's transcript file, if the agent has written one."""
        ...
