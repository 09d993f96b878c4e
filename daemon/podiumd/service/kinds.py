"""The actions of every service manager."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal, Protocol

from podiumd.service.runner import Command, Runner
from podiumd.service.situation import Situation


class ServiceManager(Protocol):
    """A kind of service manager. It decides the steps; a ``Runner`` does or prints them."""

    name: Literal["systemd", "launchd"]

    def files(self, situation: Situation) -> tuple[Path, ...]:
        """List every file of an installation; the first is there if it is installed."""

    def texts(self, situation: Situation) -> dict[Path, str]:
        """Build the files that ``install`` writes, the service first."""

    def question(self, situation: Situation) -> Command:
        """Return a command that succeeds where the service manager can be reached.

        It changes nothing.
        """

    def install(self, situation: Situation, runner: Runner) -> None:
        """Install it, or bring what is installed up to date; turns go on. A daemon that runs
        already is stopped only when nothing but the start is left to do."""

    def undo(self, situation: Situation, runner: Runner) -> None:
        """Restore all as it was, after an ``install`` that failed."""

    def uninstall(self, situation: Situation, runner: Runner) -> None:
        """Interrupt the turns, stop it, and take back all that is there.

        Works also where the service manager is silent.
        """

    def start(self, situation: Situation, runner: Runner) -> None:
        """Start what is installed."""

    def stop(self, situation: Situation, runner: Runner) -> None:
        """Interrupt the turns and stop it, until the next login or ``start``."""

    def restart(self, situation: Situation, runner: Runner) -> None:
        """Let the next daemon take over; turns go on."""


def manager_for(platform: str = sys.platform) -> ServiceManager:
    """Return the service manager of a platform."""
    if platform == "darwin":
        from podiumd.service.launchd import Launchd

        return Launchd()
    from podiumd.service.systemd import Systemd

    return Systemd()
