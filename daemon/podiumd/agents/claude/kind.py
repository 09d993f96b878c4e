"""Claude Code as a kind of agent: what is to be known of it before a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from podiumd.agents.claude.one_shot import ONE_SHOT
from podiumd.agents.kind import (
    IDLE_SECONDS,
    TURN_SECONDS,
    Folders,
    Kind,
    Plan,
    Variables,
    Where,
)
from podiumd.agents.settings import OptionalModel, Seconds, Section, Text, VariableName, Word


class ClaudeSettings(Section, frozen=True):
    """``[agents.claude]``: ``command`` is a path, or a name looked up on PATH. ``tools``: how it
    reaches Podium's own tools, by its driver or by a program that it starts (``podium mcp``)."""

    command: Word = "claude"
    model: OptionalModel = ""
    permission_mode: Annotated[
        str,
        Meta(pattern=r"\A[A-Za-z][A-Za-z-]{0,39}\Z", description="a permission mode of the agent"),
    ] = "default"
    turn_timeout_seconds: Seconds = TURN_SECONDS
    idle_timeout_seconds: Seconds = IDLE_SECONDS
    env: dict[VariableName, Text] = msgspec.field(default_factory=dict)
    pass_env: tuple[VariableName, ...] = ()
    tools: Literal["in-process", "stdio"] = "in-process"


def _plan(settings: ClaudeSettings) -> Plan:
    return Plan(
        command=(settings.command,),
        env=settings.env,
        pass_env=settings.pass_env,
        permission_mode=settings.permission_mode,
        model=settings.model or None,
        turn_timeout_seconds=settings.turn_timeout_seconds,
        idle_timeout_seconds=settings.idle_timeout_seconds,
    )


def _folders(settings: ClaudeSettings, where: Where) -> Folders:
    chosen = where.environ.get("CLAUDE_CONFIG_DIR")
    own = Path(chosen) if chosen else where.home / ".claude"
    return Folders(sessions=own / "projects", config_directory=own)


CLAUDE: Final = Kind(
    name="claude",
    label="Claude Code",
    package="podiumd.agents.claude",
    settings=ClaudeSettings,
    plan=_plan,
    folders=_folders,
    variables=Variables(
        ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "NODE_EXTRA_CA_CERTS"),
        ("ANTHROPIC_", "CLAUDE_CODE_USE_", "AWS_", "GOOGLE_"),
    ),
    remedy=(
        "Install it, or set [agents.{agent}] command in the configuration; a PATH that has changed "
        "takes 'podium down && podium up'. '--agent native' needs no such program, only a key for "
        "a model or one on this machine."
    ),
    session_format="claude",
    placing=("env", "pass_env"),
    mode_setting="permission_mode",
    one_shot=ONE_SHOT,
)
