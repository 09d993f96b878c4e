"""The shared parts of the runtime: the store, the bus, the clock, agents and leases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from podiumd.config.settings import LimitSettings, RetentionSettings
from podiumd.drivers.base import Driver
from podiumd.runtime.bus import Bus
from podiumd.runtime.clock import Clock
from podiumd.runtime.locks.agent_limiter import AgentLimiter
from podiumd.runtime.locks.foreign_sessions import all_foreign, foreign_holder, wait_idle
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.leases import LeaseBook
from podiumd.runtime.locks.writer_locks import all_writers, wait_unlocked, writer
from podiumd.runtime.session_names import RunNames
from podiumd.runtime.tool_access import ToolAccess
from podiumd.store.facts import Store

Level = Literal["debug", "info", "warning", "error"]


class LogEvent(Protocol):
    """Writes one structured line: an event's name, a level, and fields."""

    def __call__(self, event: str, level: Level = "info", **fields: Any) -> None: ...


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that turns can be given to.

    ``environment`` makes a child's whole environment from the marker that it is to carry.
    ``config_directory`` holds the agent's own records of its live sessions, ``writer_locks`` its
    locks of them, where it has any.
    ``family`` is the agents whose ids of sessions mean the same sessions, by the format of their
    files; empty: none but this one.
    ``fix`` is what to do where it cannot be run. ``only_recipe``: it has lines for this recipe and
    no other. ``plays_scripts``: a run may bring the turns that it plays. ``ask_setting``: see
    ``podiumd.agents.kind.Kind``.
    """

    driver: Driver
    command: tuple[str, ...]
    environment: Callable[[str], dict[str, str]]
    permission_mode: str | None = None
    model: str | None = None
    turn_timeout_seconds: float = 3600.0
    idle_timeout_seconds: float = 600.0
    config_directory: Path | None = None
    writer_locks: Path | None = None
    family: str = ""
    fix: str = ""
    only_recipe: str | None = None
    plays_scripts: bool = False
    ask_setting: str | None = None

    def open_elsewhere(self, session_id: str, own_id: str) -> Holder | None:
        """Find a process that Podium did not start and that has this session open.

        ``own_id``: the agent's own id of the session. Blocks no longer than a few small files take.
        """
        if self.config_directory is not None:
            return foreign_holder(session_id, self.config_directory, ())
        return None if self.writer_locks is None else writer(own_id, self.writer_locks)

    def all_open_elsewhere(self) -> list[Holder]:
        """List every session that such a process has open, by the agent's own id."""
        if self.config_directory is not None:
            return all_foreign(self.config_directory)
        return [] if self.writer_locks is None else all_writers(self.writer_locks)

    async def left_alone(self, session_id: str, own_id: str) -> bool:
        """Return once no such process works in a session; ``False`` if that cannot be waited for.

        One that keeps others out as long as it has the session open is waited for until it ends.
        """
        if self.config_directory is not None:
            await wait_idle(session_id, self.config_directory, ())
        elif self.writer_locks is not None:
            return await wait_unlocked(own_id, self.writer_locks)
        return True


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime's surroundings.

    ``agents`` may be exchanged for turns that start later. ``state`` is the daemon's STATE
    directory; ``retention`` and ``limits`` return what holds at this moment. ``tool_access`` lets
    agents reach the tools of their turn from outside; ``names`` are those of recipes' sessions.
    ``listed_as`` returns the agent's own id of a session that has a file, ``keeper`` the agent
    that a file of a session belongs to.
    """

    store: Store
    bus: Bus
    clock: Clock
    leases: LeaseBook
    agents: dict[str, Agent]
    state: Path
    agent_limiter: AgentLimiter
    log: LogEvent
    command_environment: Callable[[str], dict[str, str]]
    retention: Callable[[], RetentionSettings] = RetentionSettings
    limits: Callable[[], LimitSettings] = LimitSettings
    tool_access: ToolAccess = msgspec.field(default_factory=ToolAccess)
    names: RunNames = msgspec.field(default_factory=RunNames)
    listed_as: Callable[[str], Awaitable[str | None]]
    keeper: Callable[[str], Awaitable[str | None]]

    def family(self, agent: str) -> str:
        """Return the agents that know the sessions of an agent by the same ids, as one word.

        One that is not configured has its session files in a format of its name.
        """
        known = self.agents.get(agent)
        return agent if known is None else known.family or agent

    def turn_directory(self, turn_id: str) -> Path:
        """Return the directory of a turn's files: its FIFO, spool and error output."""
        return self.state / "turns" / turn_id

    def check_log(self, run_id: str, name: str) -> Path:
        """Return the file that holds all the output of a check."""
        return self.state / "checks" / run_id / f"{name}.log"
