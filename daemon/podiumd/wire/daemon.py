"""The daemon itself: its state, its settings, what it keeps, its end, and tools for agents."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from podiumd.wire.fields import Done, Json, JsonObject, Nothing, Params, Result
from podiumd.wire.gateway import GatewayStatus
from podiumd.wire.method import Method
from podiumd.wire.runs import ActivePrompt, Talk
from podiumd.wire.voice import SpeechStatus

# -- parameters ------------------------------------------------------------------------------


class Configure(Params, frozen=True, kw_only=True):
    """``daemon.configure``."""

    orchestration_enabled: bool | None = None


class Shutdown(Params, frozen=True, kw_only=True):
    """``daemon.shutdown``."""

    turns: Literal["leave", "interrupt"] = "leave"


class Prune(Params, frozen=True, kw_only=True):
    """``storage.prune``. ``what``: parts, none is all of them. ``dry_run``: say what would go.
    ``vacuum``: give the disk back what of ``facts.db`` is not in use."""

    what: Annotated[list[str], Meta(max_length=20)] = field(default_factory=list)
    dry_run: bool = False
    vacuum: bool = False


class ToolMessage(Params, frozen=True, kw_only=True):
    """``mcp.message``. ``message`` is a line of the Model Context Protocol, as the agent wrote it.
    ``delivery`` is the same when it is sent again, and no other has it: its calls are then done
    once."""

    token: str
    message: str
    delivery: str | None = None


# -- results ---------------------------------------------------------------------------------


class Pong(Result, frozen=True, kw_only=True):
    """The daemon answers."""

    pong: bool


class PendingSetting(Result, frozen=True, kw_only=True):
    """A setting that the file has otherwise than the daemon that runs."""

    key: str
    running: Json
    file: Json


class ConfigurationStatus(Result, frozen=True, kw_only=True):
    """The state of the settings. ``problem``: why the file is not in force; ``pending``: what of it
    waits for a restart, for which ``restart`` is the command; ``warnings``: what has no effect."""

    path: str | None
    problem: str | None
    pending: tuple[PendingSetting, ...]
    restart: str
    warnings: tuple[str, ...]


class Setting(Result, frozen=True, kw_only=True):
    """A setting in force, and where it comes from."""

    key: str
    value: Json
    source: str


class Configuration(ConfigurationStatus, frozen=True, kw_only=True):
    """The state of the settings, and all values in force."""

    values: tuple[Setting, ...]


class Reloaded(Result, frozen=True, kw_only=True):
    """The settings that took effect, and those that wait for a restart."""

    changed: tuple[str, ...]
    pending: tuple[PendingSetting, ...]
    restart: str


class LimitsInForce(Result, frozen=True, kw_only=True):
    """The bounds of the daemon (``[limits]``)."""

    max_agents: int
    max_queued: int
    agent_memory_megabytes: int
    spool_megabytes: int
    run_spool_megabytes: int
    output_megabytes: int
    turn_timeout_seconds: float
    idle_timeout_seconds: float


class RetentionInForce(Result, frozen=True, kw_only=True):
    """The retention in force: what is kept, and for how long (``[retention]``)."""

    runs_days: int
    failed_turns: int
    failed_checks: int
    failed_megabytes: int
    commands: int
    commands_days: int
    transcripts_days: int
    gone_days: int
    copies_days: int


class Orchestration(Result, frozen=True, kw_only=True):
    """The availability of recipes."""

    enabled: bool


class Configured(Result, frozen=True, kw_only=True):
    """The result of ``daemon.configure``."""

    orchestration: Orchestration


class Activity(Result, frozen=True, kw_only=True):
    """Work in progress. ``runs_paused`` counts those of ``runs_active`` that are paused, also while
    they wait for an answer. ``prompts_active`` counts prompts that have not ended,
    ``prompts_waiting`` those of them that wait in line and have not begun, and ``prompts`` are the
    oldest of them.
    ``talks_waiting`` are conversations that go on when their person answers; ``taken_up`` counts
    turns that went on while no daemon was there."""

    sessions: int
    runs_active: int
    runs_paused: int
    prompts_active: int
    prompts_waiting: int
    prompts: tuple[ActivePrompt, ...]
    questions_open: int
    talks_waiting: tuple[Talk, ...]
    orchestration: Orchestration
    taken_up: int


class DaemonStatus(Result, frozen=True, kw_only=True):
    """State of the daemon; the last ten fields as in ``Activity``. ``service``: the manager that
    runs it, ``systemd`` or ``launchd``."""

    version: str
    pid: int
    started_at: str
    socket: str
    service: str | None
    gateway: GatewayStatus
    voice: SpeechStatus
    configuration: ConfigurationStatus
    limits: LimitsInForce
    retention: RetentionInForce
    sessions: int
    runs_active: int
    runs_paused: int
    prompts_active: int
    prompts_waiting: int
    prompts: tuple[ActivePrompt, ...]
    questions_open: int
    talks_waiting: tuple[Talk, ...]
    orchestration: Orchestration
    taken_up: int


class StoragePart(Result, frozen=True, kw_only=True):
    """A part of STATE. ``bytes``: ``None`` where there are too many files to look at; ``bound``
    says in words what bounds it."""

    part: str
    bytes: int | None
    bound: str


class StorageUsage(Result, frozen=True, kw_only=True):
    """The space that STATE takes; ``unused`` are bytes of ``facts.db``."""

    state: str
    parts: tuple[StoragePart, ...]
    unused: int


class PrunedPart(Result, frozen=True, kw_only=True):
    """The amount of a part that was removed, or would be."""

    part: str
    count: int
    bytes: int


class Pruned(Result, frozen=True, kw_only=True):
    """The parts that were removed, or would be; ``vacuumed`` are bytes given back to the disk."""

    dry_run: bool
    parts: tuple[PrunedPart, ...]
    vacuumed: int | None


class ToolReply(Result, frozen=True, kw_only=True):
    """The answer to a message of an agent: a message, a batch, or nothing."""

    reply: Json


# -- methods ---------------------------------------------------------------------------------

CONFIGURATION = Method[Nothing, Configuration](
    "daemon.configuration", "The settings in force.", reads=True
)
CONFIGURE = Method[Configure, Configured]("daemon.configure", "Switch recipes on or off.")
PING = Method[Nothing, Pong](
    "daemon.ping", "Prove that the daemon answers.", pace="instant", needs="look"
)
RELOAD = Method[Nothing, Reloaded]("daemon.reload", "Read the configuration anew.")
SHUTDOWN = Method[Shutdown, Done]("daemon.shutdown", "Stop the daemon.", pace="instant")
STATUS = Method[Nothing, DaemonStatus](
    "daemon.status", "What the daemon is and does.", reads=True, needs="look"
)
TOOL_MESSAGE = Method[ToolMessage, ToolReply](
    "mcp.message", "A message to the tools of a turn.", pace="waiting"
)
DISCOVER = Method[Nothing, JsonObject](
    "rpc.discover", "This protocol as an OpenRPC document.", reads=True, needs="look"
)
PRUNE = Method[Prune, Pruned]("storage.prune", "Remove what retention says may go.", pace="waiting")
USAGE = Method[Nothing, StorageUsage](
    "storage.usage", "What STATE takes, by part.", pace="waiting", reads=True, needs="look"
)
