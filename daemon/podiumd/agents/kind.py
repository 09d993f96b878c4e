"""Kinds of agents, as values, and an agent that is made of one. Pure.

A kind is half of an agent's folder: what the configuration, the index of sessions and the client
have to know before any turn. The other half drives (``podiumd.agents.halves``) and is loaded where
turns are. A kind makes agents: each table ``[agents.NAME]`` is one, with settings, an environment
and places of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from podiumd.agents.settings import Section
from podiumd.core.analysis.check_agents import Capabilities

TURN_SECONDS: Final[float] = 3600
IDLE_SECONDS: Final[float] = 600


class Variables(msgspec.Struct, frozen=True):
    """Variables by their names, and by how these begin."""

    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Effect of an agent's settings on its turns.

    ``env`` is added to its environment, ``pass_env`` are variables of the daemon's that it is given
    too. ``only_recipe``: it has lines for this recipe and no other.
    """

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    pass_env: tuple[str, ...] = ()
    permission_mode: str | None = None
    model: str | None = None
    turn_timeout_seconds: float = TURN_SECONDS
    idle_timeout_seconds: float = IDLE_SECONDS
    only_recipe: str | None = None


class OneShot(msgspec.Struct, frozen=True):
    """Way for an agent to answer one question outside of any session, leaving nothing behind.

    ``arguments`` makes those of its command from an instruction; the question comes on its standard
    input. ``answer`` finds the answer in what it printed, empty where there is none.
    ``environment`` is added to its own.
    """

    arguments: Callable[[str], list[str]]
    answer: Callable[[str], str]
    environment: Mapping[str, str] = {}


class Where(msgspec.Struct, frozen=True):
    """Surroundings of an agent: the whole ``environ`` of its processes, and STATE; its name."""

    environ: Mapping[str, str]
    state: Path
    agent: str = ""

    @property
    def home(self) -> Path:
        """Return the person's home."""
        return Path(self.environ.get("HOME", "~")).expanduser()


class Folders(msgspec.Struct, frozen=True):
    """Directories of an agent's own.

    ``sessions`` holds its session files, in the kind's format or in ``session_format``.
    ``config_directory`` holds its records of its live sessions, ``writer_locks`` a file ``ID.lock``
    for each session that a process of it has open and keeps others out of. ``None``: it has no such
    thing.
    """

    sessions: Path | None = None
    session_format: str | None = None
    config_directory: Path | None = None
    writer_locks: Path | None = None


def _nowhere(settings: Any, where: Where) -> Folders:
    return Folders()


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of agent.

    ``name`` is what ``driver`` says in an agent's table, ``label`` what it is in a few words.
    ``package`` is the folder with its other half, modules ``driver`` and ``doctor``. ``settings``
    are the table's, ``defaults`` those of an agent of a name where its table is silent, if they are
    others than the settings' own; ``plan`` is what they come to, ``folders`` where the agent keeps
    what is its own. ``standing``: there is an agent of this name without a table. ``known``: the
    names of further agents that need none where their program is on PATH. ``variables`` of
    the daemon's environment an agent is given beside what every program is; ``daemon_variables``
    are read by the daemon for it. ``remedy`` is what to do where it cannot be used, ``{agent}`` in
    it its name.
    ``session_format`` is the format of its session files (``podiumd.formats.session_formats``).
    ``live``: its settings take effect while the daemon runs, but for those in ``placing`` where
    they would move its places. ``mode_setting`` is the setting of the mode that turns have, and
    ``modes`` are its words if the client may know them. ``ask_setting`` is the setting without
    which an agent is not known to ask before it uses a tool. ``one_shot``: it can be asked for a
    session's title. ``plays_scripts``: a run may bring the turns that it plays.
    ``shipped`` is what agents of the kind can do that are known by name without any table.
    """

    name: str
    label: str
    package: str
    settings: type[Section]
    defaults: Callable[[str], Section] | None = None
    plan: Callable[[Any], Plan] = lambda settings: Plan()
    folders: Callable[[Any, Where], Folders] = _nowhere
    standing: bool = True
    known: Callable[[], Iterable[str]] = tuple
    variables: Variables = Variables()
    daemon_variables: tuple[str, ...] = ()
    remedy: str = ""
    session_format: str | None = None
    live: bool = True
    placing: tuple[str, ...] = ()
    mode_setting: str | None = None
    modes: tuple[str, ...] = ()
    ask_setting: str | None = None
    one_shot: OneShot | None = None
    plays_scripts: bool = False
    shipped: Callable[[], Mapping[str, Capabilities]] = dict

    def settings_of(self, name: str) -> Section:
        """Return the settings of an agent of this name whose table says nothing."""
        return self.settings() if self.defaults is None else self.defaults(name)


class ConfiguredAgent(msgspec.Struct, frozen=True):
    """An agent: a table of the configuration, or a kind's own without one."""

    name: str
    kind: Kind
    settings: Section

    @property
    def plan(self) -> Plan:
        """Return the plan that the settings come to."""
        return self.kind.plan(self.settings)

    @property
    def remedy(self) -> str:
        """Return what to do where it cannot be used."""
        return self.kind.remedy.replace("{agent}", self.name)

    def folders(self, where: Where) -> Folders:
        """Return where it keeps what is its own."""
        return self.kind.folders(self.settings, replace(where, agent=self.name))
