"""The facts that the steps depend on: this machine, this person, this installation of Podium."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from podiumd.agents.kind import ConfiguredAgent
from podiumd.config.paths import Places
from podiumd.config.settings import GatewaySettings
from podiumd.service.captured import captured
from podiumd.service.runner import Command, Runner


def program_of_this_installation() -> tuple[str, ...]:
    """Return the command that starts this process's daemon: an upgrade in place keeps it right.

    The interpreter is named as it was called, not where its link leads: that is what makes it this
    environment's.
    """
    script = Path(sys.executable).with_name("podiumd")
    if script.is_file():
        return (str(script),)
    return (sys.executable, "-P", "-m", "podiumd")


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Hold all that the steps depend on; nothing else is looked at.

    ``program`` starts the daemon, without options; ``agents`` are those that are configured.
    ``settings`` are the variables that set something of the configuration. ``there`` are the files
    of an installation that exist already. ``gateway_socket``: the service manager is to hold the
    gateway's port. ``silent``: what the service manager said in place of an answer.
    """

    platform: str
    home: Path
    uid: int = field(default_factory=os.getuid)
    user: str
    environ: Mapping[str, str]
    places: Places
    gateway: GatewaySettings
    program: Command = field(default_factory=program_of_this_installation)
    agents: tuple[ConfiguredAgent, ...] = ()
    settings: tuple[str, ...] = ()
    gateway_socket: bool = False
    silent: str = ""
    there: frozenset[Path] = field(default_factory=frozenset)

    @property
    def variables(self) -> dict[str, str]:
        """Build the environment of the service."""
        found = captured(self.environ, self.agents)
        found |= {name: self.environ[name] for name in self.settings}
        for name in ("PODIUM_HOME", "PODIUM_SOCKET"):
            if name in found:
                found[name] = str(Path(found[name]).expanduser().absolute())
        if self.places.config_required:
            found["PODIUM_CONFIG"] = str(self.places.config)
        return dict(sorted(found.items()))

    def try_program(self, runner: Runner) -> None:
        """Prove, before anything is written, that the program runs without this shell."""
        runner.run((*self.program, "--version"), environment={"HOME": str(self.home)})


@cache
def template(folder: str, name: str) -> str:
    """Read a shipped file; ``folder`` is ``systemd`` or ``launchd``."""
    return files("podiumd").joinpath("_data", folder, name).read_text(encoding="utf-8")
