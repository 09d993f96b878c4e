"""Plans for systemd's user manager."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from podiumd.service import units
from podiumd.service.situation import Situation
from podiumd.service.steps import (
    AwaitAnswer,
    MakeDirectory,
    Plan,
    RemoveEmpty,
    RemoveFile,
    Run,
    Step,
    StopDaemon,
    WriteFile,
)

_SOCKETS: Final = (units.SOCKET, units.GATEWAY)


def unit_directory(situation: Situation) -> Path:
    """Where the person's own units are."""
    chosen = situation.environ.get("XDG_CONFIG_HOME", "")
    base = Path(chosen) if chosen.startswith("/") else situation.home / ".config"
    return base / "systemd" / "user"


class Systemd:
    """A ``ServiceManager``."""

    name: Literal["systemd", "launchd"] = "systemd"

    def files(self, situation: Situation) -> tuple[Path, ...]:
        """The service, then its sockets."""
        directory = unit_directory(situation)
        return tuple(directory / name for name in (units.SERVICE, *_SOCKETS))

    def install(self, situation: Situation) -> Plan:
        """The sockets go down for a moment: systemd opens none of a service that runs."""
        directory = unit_directory(situation)
        texts = _texts(situation)
        old = [] if situation.gateway_socket else _present(situation, (units.GATEWAY,))
        drop: list[Step] = []
        for name in old:
            drop += [_systemctl("disable", "--now", name), RemoveFile(directory / name)]
        return (
            situation.trial,
            StopDaemon("leave", only_stray=True),
            *drop,
            MakeDirectory(directory),
            *(WriteFile(directory / name, text, _mode(name)) for name, text in texts.items()),
            _systemctl("daemon-reload"),
            _systemctl("enable", *texts),
            _systemctl("stop", *texts),
            _systemctl("start", *_sockets_first(texts)),
            AwaitAnswer(),
        )

    def uninstall(self, situation: Situation) -> Plan:
        """Nothing of it stays; what the daemon knows (STATE) does."""
        directory = unit_directory(situation)
        present = _present(situation, (units.SERVICE, *_SOCKETS))
        return (
            *self.stop(situation),
            _systemctl("disable", *present, tolerate=True),
            *(RemoveFile(directory / name) for name in present),
            RemoveEmpty(directory),
            RemoveEmpty(directory.parent),
            _systemctl("daemon-reload"),
            _systemctl("reset-failed", units.SERVICE, tolerate=True),
        )

    def start(self, situation: Situation) -> Plan:
        """Sockets, then the daemon."""
        present = _present(situation, (*_SOCKETS, units.SERVICE))
        return (_systemctl("start", *present), AwaitAnswer())

    def stop(self, situation: Situation) -> Plan:
        """The sockets first, so that no client starts the next daemon."""
        sockets = _systemctl("stop", *_present(situation, _SOCKETS))
        return (
            StopDaemon("interrupt", meanwhile=(sockets,)),
            _systemctl("stop", *_present(situation, (*_SOCKETS, units.SERVICE))),
        )

    def restart(self, situation: Situation) -> Plan:
        """The sockets stay: nobody is refused."""
        return (_systemctl("restart", units.SERVICE), AwaitAnswer())


def _texts(situation: Situation) -> dict[str, str]:
    texts = {
        units.SERVICE: units.service(situation.program, situation.variables),
        units.SOCKET: units.socket(situation.places.socket),
    }
    if situation.gateway_socket:
        gateway = situation.gateway
        texts[units.GATEWAY] = units.gateway(gateway.host, gateway.port)
    return texts


def _mode(name: str) -> int:
    return 0o600 if name == units.SERVICE else 0o644  # the service may hold keys


def _present(situation: Situation, names: tuple[str, ...]) -> tuple[str, ...]:
    directory = unit_directory(situation)
    return tuple(name for name in names if directory / name in situation.there)


def _sockets_first(names: dict[str, str]) -> list[str]:
    return sorted(names, key=lambda name: name == units.SERVICE)


def _systemctl(*words: str, tolerate: bool = False) -> Run:
    return Run(("systemctl", "--user", *words), tolerate)
