"""The configuration: every setting with its type, range, unit and default.

This module only says what there is; ``config.load`` reads it from its sources.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from podiumd.agents.kind import ConfiguredAgent
from podiumd.agents.kinds import standing_agents
from podiumd.agents.settings import (
    OptionalVariableName,
    Seconds,
    Section,
    Text,
    Word,
)

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
Origin = Annotated[
    str,
    Meta(
        pattern=r"\Ahttps://[a-z0-9.\[\]:-]{1,260}\Z",
        description="https:// and a host in small letters, with a port where it is not 443, and no"
        " path",
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


class GatewaySettings(Section, frozen=True):
    """``[gateway]``: ``port`` 0 is any free port; ``tls = "files"`` needs both files."""

    enabled: bool = True
    host: ListenHost = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    tls: Literal["off", "auto", "files"] = "off"
    cert_file: Text = ""
    key_file: Text = ""
    allowed_hosts: tuple[HostName, ...] = ()
    origins: tuple[Origin, ...] = ()


class VoiceSettings(Section, frozen=True):
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


class OrchestrationSettings(Section, frozen=True):
    """``[orchestration]``: whether recipes are available."""

    enabled: bool = True


class LimitSettings(Section, frozen=True):
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


class RetentionSettings(Section, frozen=True):
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


class NotifySettings(Section, frozen=True):
    """``[notify]``: an argument list, run with the event as JSON on its standard input."""

    command: tuple[Word, ...] = ()


class Config(Section, frozen=True):
    """Every setting of one daemon.

    ``agents``: each ``[agents.NAME]``, and those that need no table, by name.
    """

    agents: dict[str, ConfiguredAgent] = msgspec.field(default_factory=standing_agents)
    gateway: GatewaySettings = GatewaySettings()
    voice: VoiceSettings = VoiceSettings()
    orchestration: OrchestrationSettings = OrchestrationSettings()
    limits: LimitSettings = LimitSettings()
    retention: RetentionSettings = RetentionSettings()
    notify: NotifySettings = NotifySettings()
