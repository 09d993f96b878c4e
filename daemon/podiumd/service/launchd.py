"""launchd: the steps, and the property list of an agent of the person's graphical session.

The list is the shipped one with this machine's paths in their places.
"""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from podiumd.service.runner import Command, Runner
from podiumd.service.situation import Situation, template

LABEL: Final = "podiumd"
FILE: Final = "podiumd.plist"
OPTIONS: Final = ("--detached", "--log-format", "json")


class Launchd:
    """Decide the steps for launchd; see ``ServiceManager``."""

    name: Final = "launchd"

    def files(self, situation: Situation) -> tuple[Path, ...]:
        """List the property list, and the log for output before the daemon's own is open."""
        agents = situation.home / "Library" / "LaunchAgents"
        return agents / FILE, _early_log(situation)

    def texts(self, situation: Situation) -> dict[Path, str]:
        """Build the property list."""
        file, early_log = self.files(situation)
        gateway = situation.gateway
        text = property_list(
            situation.program,
            situation.variables,
            socket=situation.places.socket,
            early_log=early_log,
            gateway=(gateway.host, gateway.port) if situation.gateway_socket else None,
        )
        return {file: text}

    def question(self, situation: Situation) -> Command:
        """Return the question whether there is a graphical session, in which agents are loaded.

        A person logged in over SSH alone has none.
        """
        return ("launchctl", "print", _domain(situation))

    def install(self, situation: Situation, runner: Runner) -> None:
        """Install the agent; a loaded one is stopped (its turns go on) and loaded anew."""
        ((file, text),) = self.texts(situation).items()
        situation.try_program(runner)
        runner.make_directory(file.parent)
        runner.make_directory(_early_log(situation).parent, 0o700)
        runner.make_directory(situation.places.socket.parent, 0o700)
        runner.write(file, text, 0o600)
        runner.stop_daemon("leave")
        _launchctl(runner, "bootout", _service(situation), tolerate=True)
        _launchctl(runner, "enable", _service(situation))
        _launchctl(runner, "bootstrap", _domain(situation), str(file))
        runner.await_answer()

    def undo(self, situation: Situation, runner: Runner) -> None:
        """Undo an install; an agent that was loaded before is loaded again."""
        file, _ = self.files(situation)
        _launchctl(runner, "bootout", _service(situation), tolerate=True)
        runner.put_back()
        if file in situation.there:
            _launchctl(runner, "bootstrap", _domain(situation), str(file), tolerate=True)

    def uninstall(self, situation: Situation, runner: Runner) -> None:
        """Remove the installation; the daemon's data (STATE) stays."""
        file, early_log = self.files(situation)
        self.stop(situation, runner)
        runner.remove(file)
        runner.remove(early_log)
        runner.remove_empty(file.parent)

    def start(self, situation: Situation, runner: Runner) -> None:
        """Load it: it starts as it is loaded. One that is loaded already only has to run."""
        file, _ = self.files(situation)
        _launchctl(runner, "bootstrap", _domain(situation), str(file), tolerate=True)
        _launchctl(runner, "kickstart", _service(situation))
        runner.await_answer()

    def stop(self, situation: Situation, runner: Runner) -> None:
        """Unloaded, so that no client starts the next daemon."""
        runner.stop_daemon("interrupt")
        _launchctl(runner, "bootout", _service(situation), tolerate=True)

    def restart(self, situation: Situation, runner: Runner) -> None:
        """Restart the daemon; launchd holds the socket meanwhile, so no client is refused."""
        runner.stop_daemon("leave")
        _launchctl(runner, "kickstart", _service(situation))
        runner.await_answer()


def _early_log(situation: Situation) -> Path:
    return situation.places.state / "launchd.log"


def _domain(situation: Situation) -> str:
    return f"gui/{situation.uid}"


def _service(situation: Situation) -> str:
    return f"{_domain(situation)}/{LABEL}"


def _launchctl(runner: Runner, *words: str, tolerate: bool = False) -> None:
    runner.run(("launchctl", *words), tolerate=tolerate)


def property_list(
    program: Sequence[str],
    variables: Mapping[str, str],
    *,
    socket: Path,
    early_log: Path,
    gateway: tuple[str, int] | None = None,
) -> str:
    """Build the property list.

    ``early_log`` takes output before the daemon's own log is open; ``gateway`` is the host and port
    that launchd is to hold for it.
    """
    shipped: dict[str, Any] = plistlib.loads(template("launchd", FILE).encode())
    sockets: dict[str, Any] = {"rpc": {"SockPathName": str(socket), "SockPathMode": 0o600}}
    if gateway is not None:
        host, port = gateway
        sockets["gateway"] = {"SockNodeName": host, "SockServiceName": str(port)}
    made = shipped | {
        "ProgramArguments": [*program, *OPTIONS],
        "EnvironmentVariables": {**shipped["EnvironmentVariables"], **variables},
        "Sockets": sockets,
        "StandardOutPath": str(early_log),
        "StandardErrorPath": str(early_log),
    }
    return plistlib.dumps(made, sort_keys=False).decode()
