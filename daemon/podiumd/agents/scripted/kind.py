"""The scripted agent as a kind: what is to be known of it before a turn."""

from __future__ import annotations

from typing import Final

from podiumd.agents.kind import Kind, Plan
from podiumd.agents.settings import Section, Text

DEMO: Final = "implement-and-review"
"""The recipe that the built-in script is for."""


class ScriptedSettings(Section, frozen=True):
    """``[agents.scripted]``: ``script`` is a file of turns; empty: the built-in demo."""

    script: Text = ""


def _plan(settings: ScriptedSettings) -> Plan:
    return Plan(only_recipe=None if settings.script else DEMO)


SCRIPTED: Final = Kind(
    name="scripted",
    label="plays a file of turns, for trying things out",
    package="podiumd.agents.scripted",
    settings=ScriptedSettings,
    plan=_plan,
    live=False,
    plays_scripts=True,
)
