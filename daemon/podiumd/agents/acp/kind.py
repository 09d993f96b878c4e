"""Agents that speak the Agent Client Protocol, as a kind: what is to be known before a turn.

An agent of this kind is a table of the configuration. What is known of some by name is data
(``acp_agents.toml``), and holds where the table says nothing else.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from podiumd.agents.kind import IDLE_SECONDS, TURN_SECONDS, Folders, Kind, Plan, Where
from podiumd.agents.others import OTHERS
from podiumd.agents.settings import OptionalModel, Seconds, Section, Text, VariableName, Word
from podiumd.core.analysis.check_agents import Capabilities

OptionalWord = Annotated[
    str, Meta(pattern=r"\A[^\0\n\r]*\Z", description="a string of one line, which may be empty")
]

Quirk = Literal[
    "deny-ends-turn",
    "errors-as-text",
    "load-not-within-a-minute",
    "meta-names-tools",
    "names-own-tools",
]
"""What an agent does in its own way. ``deny-ends-turn``: a no ends its turn. ``errors-as-text``:
the model's failure is its answer. ``load-not-within-a-minute``: to load a session within the minute
in which it began loses it. ``names-own-tools``: the title of a tool of a server is
``mcp__SERVER__TOOL``, and no other's; ``meta-names-tools``: the member ``_meta.toolName`` is."""

Resume = Literal["resume", "load", "no"]
Usage = Literal["cost", "tokens", "none"]

SessionFormat = Literal["", "qwen", "gemini", "kimi", "copilot"]

KNOWN: Final = Path(__file__).with_name("acp_agents.toml")


class AcpSettings(Section, frozen=True):
    """``[agents.NAME]`` with ``driver = "acp"``. ``command`` is a program and its arguments.

    ``ask_mode`` is the agent's word for the mode in which it asks before it uses a tool,
    ``read_only_mode`` and ``auto_mode`` for those in which it may only read, or asks nothing. With
    neither the first nor the last no turn is begun: what it does unasked is never a guess.
    ``ask_env`` are variables and ``ask_options`` values of its options that hold beside any of its
    modes but ``auto_mode``, and without which it would not ask. ``unasked`` are the tools that it
    uses unasked even so: a recipe's step has to allow them.
    ``mode_confirm``: how it confirms a mode, ``read`` by saying which it is in, ``answer`` by no
    more than its answer. ``model_option``: the option that chooses its model, where it has another
    than the one for models. ``resume``: how its sessions are gone on with. ``fork``: they can be
    copied. ``mcp``: it starts servers of tools. ``usage``: what it tells of a turn's use.
    ``images``: it takes them with a prompt. ``login``: the command by which a person logs in.
    ``session_format``: whose format its session files have; with none Podium keeps what it ran of
    its sessions. ``session_files``: where its session files are, with ``{id}`` or the first eight
    characters of it, ``{id8}``.
    """

    command: tuple[Word, ...] = ()
    ask_mode: OptionalWord = ""
    read_only_mode: OptionalWord = ""
    auto_mode: OptionalWord = ""
    ask_env: dict[VariableName, Text] = msgspec.field(default_factory=dict)
    ask_options: dict[Word, Word] = msgspec.field(default_factory=dict)
    unasked: tuple[Word, ...] = ()
    mode_confirm: Literal["read", "answer"] = "read"
    model: OptionalModel = ""
    model_option: OptionalWord = ""
    resume: Resume = "no"
    fork: bool = False
    mcp: bool = True
    usage: Usage = "none"
    images: bool = False
    quirks: tuple[Quirk, ...] = ()
    session_files: OptionalWord = ""
    login: OptionalWord = ""
    session_format: SessionFormat = ""
    turn_timeout_seconds: Seconds = TURN_SECONDS
    idle_timeout_seconds: Seconds = IDLE_SECONDS
    env: dict[VariableName, Text] = msgspec.field(default_factory=dict)
    pass_env: tuple[VariableName, ...] = ()

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the modes that are named."""
        named = (self.ask_mode, self.read_only_mode, self.auto_mode)
        return tuple(dict.fromkeys(mode for mode in named if mode))


@cache
def known_agents() -> dict[str, AcpSettings]:
    """Return the settings of the agents that are known by name."""
    tables = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return msgspec.convert(tables, dict[str, AcpSettings])


def _defaults(name: str) -> AcpSettings:
    return known_agents().get(name, AcpSettings())


def capabilities(settings: AcpSettings) -> Capabilities:
    """Return what an agent can do, by its table: nothing is concluded from its protocol."""
    return Capabilities(
        approvals=bool(settings.ask_mode),
        interrupt=True,
        resume=settings.resume != "no",
        fork=settings.fork,
        read_only_tools=bool(settings.read_only_mode),
        survives_daemon=True,
        compacts=True,
        names_sessions=True,
        permission_modes=settings.modes,
        unasked=settings.unasked,
        exactly_once="mark",
        own_tools="mcp" if settings.mcp else "none",
        usage=settings.usage,
        images="inline" if settings.images else "none",
    )


def _shipped() -> dict[str, Capabilities]:
    return {name: capabilities(settings) for name, settings in known_agents().items()}


def _plan(settings: AcpSettings) -> Plan:
    return Plan(
        command=settings.command,
        env={**settings.ask_env, **settings.env},
        pass_env=settings.pass_env,
        model=settings.model or None,
        turn_timeout_seconds=settings.turn_timeout_seconds,
        idle_timeout_seconds=settings.idle_timeout_seconds,
    )


def records_of(agent: str, state: Path) -> Path:
    """Return where Podium keeps what it ran of an agent's sessions, whose own files it cannot
    read."""
    return state / "agent-sessions" / agent


def _folders(settings: AcpSettings, where: Where) -> Folders:
    if not settings.session_format:
        return Folders(sessions=records_of(where.agent, where.state))
    directory = OTHERS[settings.session_format].directory(where)
    return Folders(sessions=directory, session_format=settings.session_format)


ACP: Final = Kind(
    name="acp",
    label="any agent that speaks the Agent Client Protocol",
    package="podiumd.agents.acp",
    settings=AcpSettings,
    defaults=_defaults,
    plan=_plan,
    folders=_folders,
    standing=False,
    known=known_agents,
    remedy=(
        "Install it, or set [agents.{agent}] command in the configuration; a PATH that has changed "
        "takes 'podium down && podium up'."
    ),
    session_format="acp",
    placing=("env", "pass_env", "session_format"),
    ask_setting="ask_mode",
    shipped=_shipped,
)
