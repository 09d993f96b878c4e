"""A parrot as a kind of agent: it says its phrase to whatever it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from podiumd.agents.kind import Folders, Kind, Plan, Variables, Where
from podiumd.agents.settings import Section, Text, Word


class ParrotSettings(Section, frozen=True):
    """``[agents.NAME]`` of a parrot: its program, what it says, and where it keeps its sessions."""

    command: Word = "parrot"
    phrase: Text = "hello"
    perch: Text = ""
    mood: Text = "calm"


def _plan(settings: Any) -> Plan:
    return Plan(
        command=(settings.command,), env={"PHRASE": settings.phrase}, permission_mode=settings.mood
    )


def _folders(settings: Any, where: Where) -> Folders:
    return Folders(sessions=Path(settings.perch or where.home / "perch"))


PARROT: Final = Kind(
    name="parrot",
    label="says its phrase",
    package="tests.agents.parrot",
    settings=ParrotSettings,
    plan=_plan,
    folders=_folders,
    standing=False,
    variables=Variables(("PARROT_KEY",), ("SEED_",)),
    daemon_variables=("PARROT_HOME",),
    remedy="Buy a parrot, or set [agents.{agent}] command.",
    session_format="native",
    placing=("perch",),
    mode_setting="mood",
)
