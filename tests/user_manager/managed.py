"""The daemon as a service of the user manager that runs beside the tests."""

from __future__ import annotations

import os
import subprocess

from podiumd.service.systemd import GATEWAY, SERVICE, SOCKET
from podiumd.tools.process.processes import Identity
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.user_manager.namespace import MANAGER

UNITS = (SERVICE, SOCKET, GATEWAY)
RUNTIME = "XDG_RUNTIME_DIR"


def systemctl(*words: str) -> str:
    """Ask or tell the user manager; returns what it says."""
    command = ["systemctl", "--user", "--no-pager", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def shown(name: str, unit: str = SERVICE) -> str:
    """One property of a unit."""
    return systemctl("show", "--value", "--property", name, unit)


def left_of_units() -> list[str]:
    """The units of ours that the manager still knows."""
    return systemctl("list-units", "--all", "--legend=no", "--plain", *UNITS).splitlines()


class ManagedDaemon(PodiumDaemon):
    """Installed when it is entered, uninstalled at the end; nothing may be left then."""

    def __init__(self, machine: Machine, *options: str, **environment: str) -> None:
        super().__init__(machine, **{RUNTIME: os.environ[RUNTIME]}, **environment)
        self._options = options

    async def start(self) -> None:
        """Install the service, or install it once more."""
        said = await self.cli("service", "install", *self._options)
        assert said.code == 0, said

    @property
    def pid(self) -> int:
        """Its main process, as the manager knows it."""
        return int(shown("MainPID"))

    async def answers(self) -> int:
        """Wait until it answers; returns how many turns it took up."""
        return int((await self.rpc("daemon.status"))["taken_up"])

    def log_text(self) -> str:
        """What it said; it writes to a file here, for there is no journal."""
        path = self.machine.root / "podiumd.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def living(self) -> list[tuple[Identity, str]]:
        """Every process of this home but the manager itself."""
        return [one for one in super().living() if not one[1].startswith(MANAGER)]

    async def _end(self) -> list[str]:
        said = await self.cli("service", "uninstall")
        left = [] if said.code == 0 else [f"uninstall: {said}"]
        return [*left, *(line for _, line in self.living()), *left_of_units()]
