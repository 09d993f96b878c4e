"""Podium's own agent as a kind: what is to be known of it before a turn."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from podiumd.agents.kind import Folders, Kind, Plan, Where
from podiumd.agents.settings import OptionalUrl, OptionalVariableName, Section, Text

MODES: Final = ("confirm", "allow-all", "read-only")

SESSIONS: Final = "sessions"
"""The directory of the session files, in STATE."""


class NativeSettings(Section, frozen=True):
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


def _plan(settings: NativeSettings) -> Plan:
    return Plan(permission_mode=settings.mode)


def _folders(settings: NativeSettings, where: Where) -> Folders:
    return Folders(sessions=where.state / SESSIONS)


NATIVE: Final = Kind(
    name="native",
    label="Podium's own agent: an API key or a local model",
    package="podiumd.agents.native",
    settings=NativeSettings,
    plan=_plan,
    folders=_folders,
    daemon_variables=("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    remedy="docs/native.md tells of other providers, and of models on this machine.",
    session_format="native",
    mode_setting="mode",
    modes=MODES,
)
