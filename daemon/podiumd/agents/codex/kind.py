"""Codex as a kind of agent: what is to be known of it before a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

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

Effort = Literal["", "minimal", "low", "medium", "high", "xhigh"]


class CodexSettings(Section, frozen=True):
    """``[agents.codex]``: ``command`` is a path, or a name looked up on PATH. ``effort``: how long
    the model is to think; empty leaves it to Codex."""

    command: Word = "codex"
    model: OptionalModel = ""
    effort: Effort = ""
    turn_timeout_seconds: Seconds = TURN_SECONDS
    idle_timeout_seconds: Seconds = IDLE_SECONDS
    env: dict[VariableName, Text] = msgspec.field(default_factory=dict)
    pass_env: tuple[VariableName, ...] = ()


def _plan(settings: CodexSettings) -> Plan:
    return Plan(
        command=(settings.command,),
        env=settings.env,
        pass_env=settings.pass_env,
        model=settings.model or None,
        turn_timeout_seconds=settings.turn_timeout_seconds,
        idle_timeout_seconds=settings.idle_timeout_seconds,
    )


def home_of(environment: dict[str, str]) -> Path:
    """Return Codex's own directory for processes with this environment."""
    chosen = environment.get("CODEX_HOME")
    home = Path(chosen) if chosen else Path(environment.get("HOME", "~"), ".codex")
    return home.expanduser()


def _folders(settings: CodexSettings, where: Where) -> Folders:
    home = home_of(dict(where.environ))
    return Folders(sessions=home / "sessions", writer_locks=home / "thread-writer-locks")


CODEX: Final = Kind(
    name="codex",
    label="Codex",
    package="podiumd.agents.codex",
    settings=CodexSettings,
    plan=_plan,
    folders=_folders,
    variables=Variables(("CODEX_HOME", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"), ("OPENAI_",)),
    remedy=(
        "Install it, or set [agents.{agent}] command in the configuration; a PATH that has changed "
        "takes 'podium down && podium up'. It logs in by 'codex login'."
    ),
    session_format="codex",
    placing=("env", "pass_env"),
)
