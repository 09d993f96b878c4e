"""The configuration: every setting with its type, range, unit and default.

This module only says what there is; ``config.load`` reads it from its sources.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from podiumd.wire.fields import MODEL

Text = Annotated[str, Meta(pattern=r"\A[^\0]*\Z", description="a string without NUL")]
Word = Annotated[
    str, Meta(pattern=r"\A[^\0\n\r]+\Z", description="a string of one line that is not empty")
]
Seconds = Annotated[
    float, Meta(gt=0, le=2_592_000, description="seconds, above 0 and at most 2592000 (30 days)")
]
VariableName = Annotated[
    str,
    Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z", description="the name of an environment variable"),
]
OptionalVariableName = Annotated[
    str,
    Meta(
        pattern=r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z",
        description="the name of an environment variable, or an empty string",
    ),
]
OptionalUrl = Annotated[
    str,
    Meta(
        pattern=r"\A(https?://[^\s/@?#]+[^\s@?#]*)?\Z",
        description="an http or https URL without user and query, or an empty string",
    ),
]
OptionalModel = Annotated[
    str,
    Meta(
        pattern=rf"\A({MODEL})?\Z",
        description="the agent's own word for a model, without spaces, or an empty string",
    ),
]
VoiceUrl = Annotated[
    str,
    Meta(
        pattern=r"\A((https?|tcp)://[^\s/@?#]+[^\s@?#]*|unix:///[^\s\0]+)?\Z",
        description="a URL (http, https, tcp://HOST:PORT or unix:///PATH), or an empty string",
    ),
]
LanguageCode = Annotated[
    str,
    Meta(
        pattern=r"\A([a-z]{2,3})?\Z",
        description='the code of a language such as "en", or an empty string',
    ),
]
HostName = Annotated[
    str,
    Meta(
        pattern=r"\A(\*\.)?[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\Z|\A[0-9A-Fa-f:]{2,45}\Z",
        description="a host name, '*.' and a domain, or an address",
    ),
]
ListenHost = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\Z|\A[0-9A-Fa-f:]{2,45}\Z",
        description="a host name or an address",
    ),
]


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class ClaudeSettings(_Section, frozen=True):
    """``[agents.claude]``: ``command`` is a path, or a name looked up on PATH. ``tools``: how it
    reaches Podium's own tools, by its driver or by a program that it starts (``podium mcp``)."""

    command: Word = "claude"
    model: OptionalModel = ""
    permission_mode: Annotated[
        str,
        Meta(pattern=r"\A[A-Za-z][A-Za-z-]{0,39}\Z", description="a permission mode of the agent"),
    ] = "default"
    turn_timeout_seconds: Seconds = 3600
    idle_timeout_seconds: Seconds = 600
    env: dict[VariableName, Text] = {}
    pass_env: tuple[VariableName, ...] = ()
    tools: Literal["in-process", "stdio"] = "in-process"


class NativeSettings(_Section, frozen=True):
    """``[agents.native]``: the daemon's own agent."""

    provider: Literal["anthropic", "openai", "scripted"] = "anthropic"
    base_url: OptionalUrl = ""
    model: Text = ""
    api_key_env: OptionalVariableName = ""
    mode: Literal["confirm", "allow-all", "read-only"] = "confirm"
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] = 10
    commit: bool = True
    sandbox: Literal["off", "auto", "required"] = "auto"
    test_command: Text = ""


class ScriptedSettings(_Section, frozen=True):
    """``[agents.scripted]``: ``script`` is a file of turns; empty: the built-in demo."""

    script: Text = ""


class AgentSettings(_Section, frozen=True):
    """``[agents]``: one table an agent."""

    claude: ClaudeSettings = ClaudeSettings()
    native: NativeSettings = NativeSettings()
    scripted: ScriptedSettings = ScriptedSettings()


class GatewaySettings(_Section, frozen=True):
    """``[gateway]``: ``port`` 0 is any free port; ``tls = "files"`` needs both files."""

    enabled: bool = True
    host: ListenHost = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    tls: Literal["off", "auto", "files"] = "off"
    cert_file: Text = ""
    key_file: Text = ""
    allowed_hosts: tuple[HostName, ...] = ()


class VoiceSettings(_Section, frozen=True):
    """``[voice]``: ``model`` is a model's name, or a directory that holds one; for a server, what
    it calls the model. ``language``: a code such as "en"; empty: detected.

    ``url``, ``api_key_env``: of a server; ``allow_remote``: a Wyoming server, which knows neither
    keys nor encryption, may be on another machine. ``script``: a file of answers for the scripted
    engine. ``max_seconds``, ``max_megabytes`` (MiB): of one utterance or file.
    ``timeout_seconds``: an engine that says nothing for so long has failed. ``threads``: 0 is one
    with a small model, else one for each processor, at most four. ``speak``: at the machine;
    ``speak_command`` is the program that does it, with the text on its standard input (empty:
    ``say``, or espeak-ng), ``speak_rate`` how fast those two do, in words a minute.
    """

    enabled: bool = True
    engine: Literal["worker", "openai", "wyoming", "scripted"] = "worker"
    model: Word = "base"
    language: LanguageCode = ""
    url: VoiceUrl = ""
    api_key_env: OptionalVariableName = ""
    allow_remote: bool = False
    script: Text = ""
    max_seconds: Annotated[int, Meta(ge=1, le=7200)] = 600
    max_megabytes: Annotated[int, Meta(ge=1, le=1024)] = 64
    idle_unload_seconds: Seconds = 300
    timeout_seconds: Seconds = 30
    threads: Annotated[int, Meta(ge=0, le=64)] = 0
    speak: Literal["off", "summary", "full"] = "off"
    speak_command: tuple[Word, ...] = ()
    speak_rate: Annotated[int, Meta(ge=80, le=450)] = 175


class OrchestrationSettings(_Section, frozen=True):
    """``[orchestration]``: whether recipes are available."""

    enabled: bool = True


class LimitSettings(_Section, frozen=True):
    """``[limits]``: of the whole daemon.

    ``max_agents``: agent processes at once. ``max_queued``: prompts and starts that wait for one,
    or for their session; one more is refused. ``agent_memory_megabytes`` (MiB): an agent that takes
    more, with what it started, is noted in the log; 0: none. ``spool_megabytes`` (MiB): output of
    one turn, which ends beyond it. ``run_spool_megabytes`` (MiB): kept of the output of the turns
    of one run that are over, while it lives. ``output_megabytes`` (MiB): kept of the output of one
    command of a phone.
    """

    max_agents: Annotated[int, Meta(ge=1, le=64)] = 4
    max_queued: Annotated[int, Meta(ge=1, le=10_000)] = 256
    agent_memory_megabytes: Annotated[int, Meta(ge=0, le=1_048_576)] = 4096
    spool_megabytes: Annotated[int, Meta(ge=1, le=65536)] = 1024
    run_spool_megabytes: Annotated[int, Meta(ge=1, le=1_048_576)] = 4096
    output_megabytes: Annotated[int, Meta(ge=2, le=1024)] = 10


class RetentionSettings(_Section, frozen=True):
    """``[retention]``: what is kept of what is over. Looked after at each start and once a day.

    ``runs_days``: history of runs and prompts; 0: for good. ``failed_turns``, ``failed_checks``:
    spools of turns, and output of checks, of runs that ended in an error; ``failed_megabytes``
    (MiB): of all spools, and of all such output, together. ``commands``, ``commands_days``: history
    of phones' commands, with their output. ``transcripts_days``: conversations with the native
    agent, after their last message; ``gone_days``: sessions whose transcript is gone;
    ``copies_days``: ``facts.db`` as earlier releases left it. 0: for good.
    """

    runs_days: Annotated[int, Meta(ge=0, le=36500)] = 365
    failed_turns: Annotated[int, Meta(ge=0, le=100_000)] = 32
    failed_checks: Annotated[int, Meta(ge=0, le=100_000)] = 32
    failed_megabytes: Annotated[int, Meta(ge=0, le=1_048_576)] = 1024
    commands: Annotated[int, Meta(ge=0, le=100_000)] = 1000
    commands_days: Annotated[int, Meta(ge=1, le=3650)] = 7
    transcripts_days: Annotated[int, Meta(ge=0, le=36500)] = 0
    gone_days: Annotated[int, Meta(ge=0, le=36500)] = 0
    copies_days: Annotated[int, Meta(ge=0, le=36500)] = 30


class NotifySettings(_Section, frozen=True):
    """``[notify]``: an argument list, run with the event as JSON on its standard input."""

    command: tuple[Word, ...] = ()


class Config(_Section, frozen=True):
    """Every setting of one daemon."""

    agents: AgentSettings = AgentSettings()
    gateway: GatewaySettings = GatewaySettings()
    voice: VoiceSettings = VoiceSettings()
    orchestration: OrchestrationSettings = OrchestrationSettings()
    limits: LimitSettings = LimitSettings()
    retention: RetentionSettings = RetentionSettings()
    notify: NotifySettings = NotifySettings()
