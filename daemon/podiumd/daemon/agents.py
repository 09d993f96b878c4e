"""The agents of this daemon, made from its settings and the environment that it was started in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from podiumd.agents.native.driver import SESSIONS, Surroundings
from podiumd.agents.registry import make_drivers
from podiumd.agents.scripted.script import ScriptError
from podiumd.config.paths import Places, of_home
from podiumd.config.reload import Settings
from podiumd.config.settings import Config
from podiumd.drivers.spool import SpoolWatch
from podiumd.runtime.context import Agent
from podiumd.sessions.index.tree import Root
from podiumd.tools.process.environment import child_environment

DEMO = "implement-and-review"
"""The recipe that the scripted agent's built-in script is for."""

_FIXES = {
    "claude": (
        "Install it, or set [agents.claude] command in the configuration; a PATH that has changed "
        "takes 'podium down && podium up'. '--agent native' needs no such program, only a key for "
        "a model or one on this machine."
    ),
    "native": "docs/native.md tells of other providers, and of models on this machine.",
}


class Agents:
    """``environ`` is the daemon's own environment, ``places`` are its files."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], places: Places) -> None:
        self._settings = settings
        self._environ = dict(environ)  # of the process itself each variable is decoded anew
        self._places = places

    def make(self, watch: SpoolWatch) -> dict[str, Agent]:
        """Every agent by its name. Raises ``ScriptError``, which names the setting."""
        config = self._settings.config

        def spool_megabytes() -> int:
            return self._settings.config.limits.spool_megabytes

        try:
            script = of_home(config.agents.scripted.script, self._environ)
            drivers = make_drivers(
                watch, self._native(), script=script, spool_megabytes=spool_megabytes
            )
        except ScriptError as error:
            place = self._settings.source("agents.scripted.script")
            raise ScriptError(f"{place}: agents.scripted.script: {error}") from None
        found = {
            name: Agent(
                driver=driver,
                command=(),
                environment=self.environment(name),
                fix=_FIXES.get(name, ""),
                only_recipe=DEMO if name == "scripted" and not script else None,
            )
            for name, driver in drivers.items()
        }
        self.renew(found, config)
        return found

    def renew(self, agents: dict[str, Agent], config: Config) -> None:
        """Give turns that start from here on what the settings say now."""
        claude = config.agents.claude
        agents["claude"] = replace(
            agents["claude"],
            command=(claude.command,),
            environment=self.environment("claude", claude.env, claude.pass_env),
            permission_mode=claude.permission_mode,
            model=claude.model or None,
            turn_timeout_seconds=claude.turn_timeout_seconds,
            idle_timeout_seconds=claude.idle_timeout_seconds,
            config_directory=self.claude_directory(config),
            tools_over=claude.tools,
        )
        agents["native"] = replace(agents["native"], permission_mode=config.agents.native.mode)

    def _native(self) -> Surroundings:
        places = self._places
        return Surroundings(
            settings=lambda: self._settings.config.agents.native,
            environ=self._environ,
            state=places.state,
            closed=(*places.private, places.config, places.recipes, places.socket),
        )

    def environment(
        self, agent: str, extra: Mapping[str, str] | None = None, pass_env: tuple[str, ...] = ()
    ) -> Callable[[str], dict[str, str]]:
        """What makes the whole environment of a child from its marker."""

        def environment(marker: str) -> dict[str, str]:
            return child_environment(
                self._environ, agent=agent, pass_env=pass_env, extra_env=extra or {}, marker=marker
            )

        return environment

    def roots(self) -> list[Root]:
        """Where agents keep their session files."""
        home = Path(self._environ.get("HOME", "~")).expanduser()
        codex = Path(self._environ.get("CODEX_HOME") or home / ".codex")
        return [
            Root("claude", self.claude_directory(self._settings.config) / "projects"),
            Root("codex", codex / "sessions"),
            Root("native", self._places.state / SESSIONS),
        ]

    def claude_directory(self, config: Config) -> Path:
        """Where Claude Code keeps what is its own, with these settings."""
        claude = config.agents.claude
        environment = self.environment("claude", claude.env, claude.pass_env)("")
        chosen = environment.get("CLAUDE_CONFIG_DIR")
        home = Path(environment.get("HOME", "~")).expanduser()
        return Path(chosen) if chosen else home / ".claude"
