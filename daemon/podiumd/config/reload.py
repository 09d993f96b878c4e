"""The settings of a daemon that runs: in force, read anew on request, or waiting for a restart.

A file that cannot be used changes nothing: the settings before it stay in force, and the fault is
reported until a file can be used again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio
from msgspec.structs import asdict

from podiumd.agents.kind import ConfiguredAgent
from podiumd.agents.kinds import DEFAULT_AGENT
from podiumd.config.load import ConfigError, Loaded, driver_key, flatten, values_of, with_values
from podiumd.config.paths import PlaceError
from podiumd.config.settings import Config
from podiumd.observe.logs import log
from podiumd.observe.redaction import HIDDEN, is_secret_name
from podiumd.wire.daemon import (
    Configuration,
    ConfigurationStatus,
    LimitsInForce,
    PendingSetting,
    Reloaded,
    RetentionInForce,
    Setting,
)
from podiumd.wording import restart_command

Apply = Callable[[Config, frozenset[str]], Awaitable[None]]

LIVE: Final = (
    "gateway.allowed_hosts",
    "gateway.origins",
    "limits.",
    "notify.",
    "orchestration.",
    "retention.",
)
"""The settings, or their beginnings, that take effect while the daemon runs, beside those of agents
whose kind is live: for turns that start later."""


class Settings:
    """The settings of one daemon.

    Parameters: ``loaded`` is what it started with; ``read`` reads the sources anew and blocks;
    ``restart`` is the command that starts this daemon anew.
    """

    def __init__(
        self, loaded: Loaded, read: Callable[[], Loaded], restart: str = restart_command(None)
    ) -> None:
        self.config = loaded.config
        self._restart = restart
        self._path = str(loaded.places.config)
        self._sources = dict(loaded.sources)
        self._warnings = list(loaded.warnings)
        self._read = read
        self._apply: Apply | None = None
        self._fixed: Callable[[ConfiguredAgent], object] = lambda _: None
        self._check: Callable[[Loaded], None] = lambda _: None
        self._problem: str | None = None
        self._pending: dict[str, Any] = {}
        self._agents = loaded.config.agents
        self._lock = trio.Lock()

    def on_change(
        self,
        apply: Apply,
        fixed: Callable[[ConfiguredAgent], object],
        check: Callable[[Loaded], None] = lambda _: None,
    ) -> None:
        """``apply`` puts new settings into force; it is given the keys that differ. ``fixed`` is
        what an agent's settings have decided for the daemon's whole life. ``check`` raises
        ``ConfigError`` for settings that a start would refuse; it may block."""
        self._apply, self._fixed, self._check = apply, fixed, check

    async def reload(self) -> Reloaded:
        """Read the sources and put into force what can be.

        Raises ``ConfigError`` and ``PlaceError``, and then everything is as it was.
        """
        async with self._lock:
            try:
                loaded = await trio.to_thread.run_sync(self._read)
                await trio.to_thread.run_sync(self._check, loaded)
            except (ConfigError, PlaceError) as error:
                self._problem = str(error)
                effect = "the settings before it stay in force"
                log("Configuration refused", "error", reason=self._problem, effect=effect)
                raise
            self._problem = None
            changed = await self._take(loaded)
            return Reloaded(changed=tuple(changed), pending=self._waiting(), restart=self._restart)

    async def _take(self, loaded: Loaded) -> list[str]:
        old, new = values_of(self.config), values_of(loaded.config)
        self._agents = loaded.config.agents
        live, others = self._live(), self._other_agents()
        differing = [
            key
            for key in new
            if key in old and new[key] != old[key] and driver_key(key) not in others
        ]
        changed = [key for key in differing if key.startswith(LIVE) or key in live]
        self._pending = {key: new[key] for key in differing if key not in changed}
        self.config = with_values(self.config, {key: new[key] for key in changed})
        self._sources |= {
            key: source for key, source in loaded.sources.items() if key not in self._pending
        }
        if changed and self._apply is not None:
            await self._apply(self.config, frozenset(changed))
        log("Configuration read", changed=changed, file=self._path)
        for key in (*others, *self._pending):
            fix = f"restart with '{self._restart}'"
            log("Configuration needs a restart", "warning", key=key, fix=fix)
        return changed

    def _live(self) -> set[str]:
        """Return the agents' settings that take effect at once, for agents that keep their kind."""
        return {
            f"agents.{name}.{field}"
            for name, agent in self._same_agents().items()
            for field in agent.settings.__struct_fields__
            if agent.kind.live
            and (
                field not in agent.kind.placing
                or self._fixed(agent) == self._fixed(self.config.agents[name])
            )
        }

    def _same_agents(self) -> dict[str, ConfiguredAgent]:
        running = self.config.agents
        return {
            name: agent
            for name, agent in self._agents.items()
            if name in running and running[name].kind == agent.kind
        }

    def _other_agents(self) -> dict[str, PendingSetting]:
        """Return the agents that the file has added, removed, or made of another kind."""
        same = self._same_agents()
        names = [name for name in {**self.config.agents, **self._agents} if name not in same]

        def driver(agents: dict[str, ConfiguredAgent], name: str) -> str | None:
            return agents[name].kind.name if name in agents else None

        return {
            (key := f"agents.{name}.driver"): PendingSetting(
                key=key,
                running=driver(self.config.agents, name),
                file=driver(self._agents, name),
            )
            for name in names
        }

    def source(self, key: str) -> str:
        """Return a setting's source: ``default``, ``FILE:LINE`` or ``environment NAME``."""
        return self._sources.get(key, "default")

    def status(self) -> ConfigurationStatus:
        """Report whether the file is in force, and which of its settings wait for a restart."""
        return ConfigurationStatus(
            path=self._path,
            problem=self._problem,
            pending=self._waiting(),
            restart=self._restart,
            warnings=tuple(self._warnings),
        )

    def document(self) -> Configuration:
        """Report the status, and all settings that are in force."""
        values = tuple(
            Setting(key=key, value=_public(value), source=self.source(key))
            for key, value in flatten(self.config).items()
        )
        return Configuration(**asdict(self.status()), values=values)

    def limits(self) -> LimitsInForce:
        """Return the bounds in force."""
        return limits_of(self.config)

    def retention(self) -> RetentionInForce:
        """Return what is kept, and for how long."""
        return RetentionInForce(**asdict(self.config.retention))

    def _waiting(self) -> tuple[PendingSetting, ...]:
        running = flatten(self.config)
        wanted = flatten(with_values(self.config, self._pending))
        settings = (
            PendingSetting(key=key, running=_public(running[key]), file=_public(wanted[key]))
            for key in self._pending
        )
        return (*self._other_agents().values(), *settings)


def limits_of(config: Config) -> LimitsInForce:
    """Return the bounds of a daemon with these settings."""
    plan = config.agents[DEFAULT_AGENT].plan
    return LimitsInForce(
        **asdict(config.limits),
        turn_timeout_seconds=plan.turn_timeout_seconds,
        idle_timeout_seconds=plan.idle_timeout_seconds,
    )


def _public(value: Any) -> Any:
    """Mask a setting for clients: the values of secret variables are hidden."""
    if not isinstance(value, dict):
        return value
    return {name: HIDDEN if is_secret_name(name) else item for name, item in value.items()}
