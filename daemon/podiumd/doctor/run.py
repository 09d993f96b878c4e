"""The whole examination, in the order in which a person would look."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from podiumd.agents.examination import ANSWER_SECONDS
from podiumd.agents.kind import ConfiguredAgent
from podiumd.config.load import ConfigError, load
from podiumd.config.paths import Places, resolve
from podiumd.config.settings import Config
from podiumd.core.findings import nearest
from podiumd.doctor import (
    agents,
    disk,
    gateway,
    leftovers,
    machine,
    places,
    programs,
    provider,
    service,
)
from podiumd.doctor.subject import Subject, environment_of, find_daemon
from podiumd.observe.checks import Check, broken
from podiumd.wording import quoted

Look = Callable[[Subject], list[Check]]

_AGENT: Final = "agent "
"""How the name of an agent's check begins."""

_SIDE_BY_SIDE: Final = 16
"""How many agents are asked at once."""

_FIRST: Final[tuple[tuple[str, Look], ...]] = (
    ("python", machine.python),
    ("user", machine.user),
    ("git", programs.git),
    ("git identity", programs.identity),
)
_LAST: Final[tuple[tuple[str, Look], ...]] = (
    ("provider", provider.provider),
    ("voice", programs.voice),
    ("configuration", places.configuration),
    ("directories", places.directories),
    ("lock", places.lock),
    ("socket", places.socket),
    ("version", places.version),
    ("port", gateway.port),
    ("certificate", gateway.certificate),
    ("disk", disk.space),
    ("disk latency", disk.latency),
    ("storage", disk.storage),
    ("facts.db", disk.databases),
    ("clock", machine.clock),
    ("watches", machine.inotify),
    ("service", service.service),
    ("lingering", service.lingering),
    ("orphans", leftovers.leftovers),
)


def checks_of(config: Config) -> list[tuple[str, Look]]:
    """List every check by name, with one for each configured agent."""

    def look(name: str) -> Look:
        return lambda subject: agents.agent(subject, name)

    return [*_FIRST, *((f"{_AGENT}{name}", look(name)) for name in config.agents), *_LAST]


def examine(environ: Mapping[str, str], home: Path, config_flag: str | None = None) -> list[Check]:
    """Look at everything. Raises ``config.paths.PlaceError`` where not even the places hold."""
    unusable: list[Check] = []
    try:
        loaded = load(environ, sys.platform, home, config_flag)
        config, found = loaded.config, loaded.places
    except ConfigError as error:
        unusable = [places.unusable(error)]
        config, found = Config(), resolve(environ, sys.platform, home, config_flag)
    subject = _subject(config, found, environ, home)
    checks = [one for one in checks_of(config) if not unusable or one[0] != "configuration"]
    return [*unusable, *look_at(subject, checks)]


def configured(
    environ: Mapping[str, str], home: Path, config_flag: str | None, name: str
) -> tuple[ConfiguredAgent, Mapping[str, str]]:
    """Return an agent by its name, and the environment of the daemon, or ours where none runs.

    Raises ``ConfigError``, ``PlaceError`` and ``LookupError``.
    """
    loaded = load(environ, sys.platform, home, config_flag)
    subject = _subject(loaded.config, loaded.places, environ, home)
    if name not in loaded.config.agents:
        known = sorted(loaded.config.agents)
        raise LookupError(f"There is no agent {quoted(name)}; {nearest(name, known)}.")
    return loaded.config.agents[name], subject.daemon_environ


def unready(environ: Mapping[str, str], home: Path, config_flag: str | None = None) -> str:
    """Return why no agent can work, in a sentence; nothing where one can.

    Raises ``ConfigError`` and ``PlaceError``.
    """
    loaded = load(environ, sys.platform, home, config_flag)
    return why_unready(_subject(loaded.config, loaded.places, environ, home))


def _subject(config: Config, found: Places, environ: Mapping[str, str], home: Path) -> Subject:
    daemon = find_daemon(found)
    theirs = environment_of(daemon.pid) if daemon.pid is not None else {}
    return Subject(
        config=config,
        places=found,
        environ=environ,
        daemon_environ=theirs or environ,
        home=home,
        uid=os.getuid(),
        platform=sys.platform,
        now=datetime.now(UTC),
        daemon=daemon,
        until=time.monotonic() + ANSWER_SECONDS,
    )


def look_at(subject: Subject, checks: Sequence[tuple[str, Look]]) -> list[Check]:
    """Run these checks, those of agents side by side, and list their findings in order."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        begun = {
            name: threads.submit(_findings, name, look, subject)
            for name, look in checks
            if name.startswith(_AGENT)
        }
        found: list[Check] = []
        for name, look in checks:
            found += begun[name].result() if name in begun else _findings(name, look, subject)
    return found


def _findings(name: str, look: Look, subject: Subject) -> list[Check]:
    """Run a check; one that fails itself is a finding."""
    try:
        return look(subject)
    except Exception as error:  # noqa: BLE001 - one check's fault must not hide the others
        message = f"check failed: {type(error).__name__}: {error}"
        return [broken(name, message, "report this as a bug of Podium")]


def why_unready(subject: Subject) -> str:
    """Return why no agent can work yet; nothing where one can."""
    looks = {name: agents.examined(subject, name) for name in subject.config.agents}
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        ready = [*threads.map(lambda look: look[0].is_ready(look[1]), looks.values())]
    if not any(ready):
        for name, (doctor, asked) in looks.items():
            stranger = f"{name} is not logged in"
            if doctor.examine(asked).message.startswith(stranger):
                return f"No agent is ready yet: {stranger}: 'podium doctor' says what to do."
        return "No agent is ready yet: 'podium doctor' says what to install."
    providers = provider.provider(subject)
    lost = [one for one in providers if one.state != "ok"]
    if lost and len(lost) == len(providers):
        return (
            f"No agent can work just now: {lost[0].message} ('podium doctor' says what to check)."
        )
    return ""
