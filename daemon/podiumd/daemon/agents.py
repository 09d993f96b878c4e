"""The agents of this daemon, made from its settings and the environment that it was started in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from podiumd.agents.environment import agent_environment
from podiumd.agents.halves import Host, SettingFault, check_settings, make_driver
from podiumd.agents.kind import ConfiguredAgent, Folders, Where
from podiumd.config.load import AGENTS, ConfigError, Loaded
from podiumd.config.paths import Places
from podiumd.config.reload import Settings
from podiumd.config.settings import Config
from podiumd.drivers.spool import SpoolWatch
from podiumd.runtime.context import Agent
from podiumd.sessions.index.tree import Root
from podiumd.sessions.roots import roots_of
from podiumd.tools.process.environment import child_environment


class CannotMake(Exception):
    """An agent cannot be made with its settings; the text names the setting."""


class Agents:
    """``environ`` is the daemon's own environment, ``places`` are its files."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], places: Places) -> None:
        self._settings = settings
        self._environ = dict(environ)  # of the process itself each variable is decoded anew
        self._places = places

    def make(self, watch: SpoolWatch) -> dict[str, Agent]:
        """Make every configured agent, by its name. Raises ``CannotMake``."""
        config = self._settings.config
        found = {name: self._made(one, watch) for name, one in config.agents.items()}
        self.renew(found, config)
        return found

    def check(self, loaded: Loaded) -> None:
        """Refuse settings with which a start would fail. Blocks. Raises ``ConfigError``."""
        faults = []
        for name, agent in loaded.config.agents.items():
            try:
                check_settings(agent, self._environ)
            except SettingFault as fault:
                key = f"{AGENTS}.{name}.{fault.key}"
                faults.append(f"{loaded.sources.get(key, 'default')}: {key}: {fault}")
        if faults:
            raise ConfigError(faults)

    def _made(self, agent: ConfiguredAgent, watch: SpoolWatch) -> Agent:
        name, places = agent.name, self._places

        def settings() -> Any:
            return self._settings.config.agents[name].settings

        host = Host(
            agent=name,
            settings=settings,
            environ=self._environ,
            state=places.state,
            watch=watch,
            closed=(*places.private, places.config, places.recipes, places.socket),
            spool_megabytes=lambda: self._settings.config.limits.spool_megabytes,
        )
        try:
            driver = make_driver(agent.kind, host)
        except SettingFault as fault:
            key = f"{AGENTS}.{name}.{fault.key}"
            raise CannotMake(f"{self._settings.source(key)}: {key}: {fault}") from None
        return Agent(
            driver=driver,
            command=(),
            environment=self._environment(agent),
            fix=agent.remedy,
            plays_scripts=agent.kind.plays_scripts,
            ask_setting=agent.kind.ask_setting,
        )

    def renew(self, agents: dict[str, Agent], config: Config) -> None:
        """Give turns that start from here on what the settings say now."""
        for name, agent in config.agents.items():
            plan = agent.plan
            agents[name] = replace(
                agents[name],
                command=plan.command,
                environment=self._environment(agent),
                permission_mode=plan.permission_mode,
                model=plan.model,
                turn_timeout_seconds=plan.turn_timeout_seconds,
                idle_timeout_seconds=plan.idle_timeout_seconds,
                config_directory=self.folders(agent).config_directory,
                writer_locks=self.folders(agent).writer_locks,
                family=self._family(agent),
                only_recipe=plan.only_recipe,
            )

    def _family(self, agent: ConfiguredAgent) -> str:
        """Return the format of the agent's own session files; empty where it has none."""
        own = agent.kind.session_format if agent.kind.standing else None
        return self.folders(agent).session_format or own or ""

    def _environment(self, agent: ConfiguredAgent) -> Callable[[str], dict[str, str]]:
        """Return the function that makes the whole environment of a turn's processes from its
        marker."""
        return lambda marker: agent_environment(agent, self._environ, marker)

    def command_environment(self, marker: str) -> dict[str, str]:
        """Return the whole environment of a check, a hook or a person's command."""
        return child_environment(self._environ, pass_env=(), extra_env={}, marker=marker)

    def roots(self) -> list[Root]:
        """List where agents keep their session files."""
        return roots_of(self._settings.config.agents, self._environ, self._places.state)

    def folders(self, agent: ConfiguredAgent) -> Folders:
        """Return where an agent keeps what is its own, with these settings."""
        environ = agent_environment(agent, self._environ, "")
        return agent.folders(Where(environ, self._places.state))
