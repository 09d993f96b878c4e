"""Plans for launchd, as an agent of the person's graphical session."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from podiumd.service import property_list
from podiumd.service.situation import Situation
from podiumd.service.steps import (
    AwaitAnswer,
    MakeDirectory,
    Plan,
    PutBack,
    RemoveEmpty,
    RemoveFile,
    Run,
    StopDaemon,
    WriteFile,
)


class Launchd:
    """A ``ServiceManager``."""

    name: Literal["systemd", "launchd"] = "launchd"

    def files(self, situation: Situation) -> tuple[Path, ...]:
        """The property list, and the log of what is said before the daemon's own is open."""
        agents = situation.home / "Library" / "LaunchAgents"
        return agents / property_list.FILE, _early_log(situation)

    def question(self, situation: Situation) -> tuple[str, ...]:
        """Who is logged in over SSH alone has no graphical session, in which agents are loaded."""
        return ("launchctl", "print", _domain(situation))

    def install(self, situation: Situation) -> Plan:
        """An agent that is loaded is stopped (its turns go on) and loaded anew."""
        file, early_log = self.files(situation)
        gateway = situation.gateway
        text = property_list.agent(
            situation.program,
            situation.variables,
            socket=situation.places.socket,
            early_log=early_log,
            gateway=(gateway.host, gateway.port) if situation.gateway_socket else None,
        )
        return (
            situation.trial,
            MakeDirectory(file.parent),
            MakeDirectory(early_log.parent, 0o700),
            MakeDirectory(situation.places.socket.parent, 0o700),
            WriteFile(file, text, 0o600),
            StopDaemon("leave"),
            _launchctl("bootout", _service(situation), tolerate=True),
            _launchctl("enable", _service(situation)),
            _launchctl("bootstrap", _domain(situation), str(file)),
            AwaitAnswer(),
        )

    def undo(self, situation: Situation) -> Plan:
        """What was loaded before is loaded again."""
        file, _ = self.files(situation)
        again = _launchctl("bootstrap", _domain(situation), str(file), tolerate=True)
        return (
            _launchctl("bootout", _service(situation), tolerate=True),
            PutBack(),
            *((again,) if file in situation.there else ()),
        )

    def uninstall(self, situation: Situation) -> Plan:
        """Nothing of it stays; what the daemon knows (STATE) does."""
        file, early_log = self.files(situation)
        return (
            *self.stop(situation),
            RemoveFile(file),
            RemoveFile(early_log),
            RemoveEmpty(file.parent),
        )

    def start(self, situation: Situation) -> Plan:
        """Load it: it starts as it is loaded. One that is loaded already only has to run."""
        file, _ = self.files(situation)
        return (
            _launchctl("bootstrap", _domain(situation), str(file), tolerate=True),
            _launchctl("kickstart", _service(situation)),
            AwaitAnswer(),
        )

    def stop(self, situation: Situation) -> Plan:
        """Unloaded, so that no client starts the next daemon."""
        return (
            StopDaemon("interrupt"),
            _launchctl("bootout", _service(situation), tolerate=True),
        )

    def restart(self, situation: Situation) -> Plan:
        """launchd holds the socket meanwhile: nobody is refused."""
        return (StopDaemon("leave"), _launchctl("kickstart", _service(situation)), AwaitAnswer())


def _early_log(situation: Situation) -> Path:
    return situation.places.state / "launchd.log"


def _domain(situation: Situation) -> str:
    return f"gui/{situation.uid}"


def _service(situation: Situation) -> str:
    return f"{_domain(situation)}/{property_list.LABEL}"


def _launchctl(*words: str, tolerate: bool = False) -> Run:
    return Run(("launchctl", *words), tolerate)
