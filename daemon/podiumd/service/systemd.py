"""Plans for systemd's user manager."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from podiumd.service import units
from podiumd.service.situation import Situation
from podiumd.service.steps import (
    AwaitAnswer,
    MakeDirectory,
    Plan,
    PutBack,
    RemoveEmpty,
    RemoveFile,
    Run,
    Step,
    StopDaemon,
    WriteFile,
)

_SOCKETS: Final = (units.SOCKET, units.GATEWAY)
_WANTED: Final = {
    "default.target.wants": (units.SERVICE,),
    "sockets.target.wants": _SOCKETS,
}
"""The links that ``enable`` makes, by directory."""


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

    def question(self, situation: Situation) -> tuple[str, ...]:
        """Without a bus of its own a user manager cannot be told anything."""
        return ("systemctl", "--user", "show", "--property=Version")

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
            *drop,
            MakeDirectory(directory),
            *(WriteFile(directory / name, text, _mode(name)) for name, text in texts.items()),
            _systemctl("daemon-reload"),
            _systemctl("enable", *texts),
            StopDaemon("leave", only_stray=True),
            _systemctl("stop", *texts),
            _systemctl("start", *_sockets_first(texts)),
            AwaitAnswer(),
        )

    def undo(self, situation: Situation) -> Plan:
        """What was there before runs again; what was not is neither enabled nor running."""
        names = list(_texts(situation))
        present = _present(situation, (*_SOCKETS, units.SERVICE))
        new = [name for name in names if name not in present]
        return (
            *_each("stop", new, tolerate=True),
            *_each("disable", new, tolerate=True),
            PutBack(),
            _systemctl("daemon-reload", tolerate=True),
            *_each("enable", present, tolerate=True),
            *_each("start", present, tolerate=True),
        )

    def uninstall(self, situation: Situation) -> Plan:
        """Nothing of it stays; what the daemon knows (STATE) does."""
        directory = unit_directory(situation)
        present = _present(situation, (units.SERVICE, *_SOCKETS))
        files = (*(RemoveFile(directory / name) for name in present),)
        empty = (RemoveEmpty(directory), RemoveEmpty(directory.parent))
        if situation.silent:
            return (*self.stop(situation), *_unlinked(directory), *files, *empty)
        return (
            StopDaemon(
                "interrupt",
                meanwhile=_each("stop", _present(situation, _SOCKETS), tolerate=True),
            ),
            *_each("stop", _present(situation, (*_SOCKETS, units.SERVICE)), tolerate=True),
            *_each("disable", present, tolerate=True),
            *_unlinked(directory),
            *files,
            *empty,
            _systemctl("daemon-reload", tolerate=True),
            _systemctl("reset-failed", units.SERVICE, tolerate=True),
        )

    def start(self, situation: Situation) -> Plan:
        """Sockets, then the daemon."""
        present = _present(situation, (*_SOCKETS, units.SERVICE))
        return (_systemctl("start", *present), AwaitAnswer())

    def stop(self, situation: Situation) -> Plan:
        """The sockets first, so that no client starts the next daemon."""
        if situation.silent:
            return (StopDaemon("interrupt"),)
        sockets = _each("stop", _present(situation, _SOCKETS))
        return (
            StopDaemon("interrupt", meanwhile=sockets),
            *_each("stop", _present(situation, (*_SOCKETS, units.SERVICE))),
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


def _unlinked(directory: Path) -> Plan:
    """What 'disable' does, for links that nobody else takes away."""
    steps: list[Step] = []
    for wants, names in _WANTED.items():
        steps += [RemoveFile(directory / wants / name) for name in names]
        steps.append(RemoveEmpty(directory / wants))
    return tuple(steps)


def _each(verb: str, names: Sequence[str], *, tolerate: bool = False) -> tuple[Run, ...]:
    """One command for all of these units; none where there are none."""
    return (_systemctl(verb, *names, tolerate=tolerate),) if names else ()


def _systemctl(*words: str, tolerate: bool = False) -> Run:
    return Run(("systemctl", "--user", *words), tolerate)
