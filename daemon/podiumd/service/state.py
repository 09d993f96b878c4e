"""The current state of the service, in the words of its service manager."""

from __future__ import annotations

import plistlib
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError

from podiumd.core.excerpt import beginning
from podiumd.service.kinds import ServiceManager
from podiumd.service.launchd import LABEL
from podiumd.service.situation import Situation
from podiumd.service.systemd import SERVICE
from podiumd.tools.files.plain_file import read_plain

UNREACHABLE: Final = "systemd does not answer"
_SECONDS: Final = 20.0
_LONGEST_MESSAGE: Final = 200
_LARGEST_UNIT: Final = 1024 * 1024
_ASKED: Final = "ActiveState,SubState,MainPID,NRestarts,UnitFileState,Result"


class DamagedFile(ValueError):
    """The file of the service is not what it is to be."""

    def __init__(self, file: Path, why: Exception) -> None:
        super().__init__(f"{file} cannot be read: {why}. 'podium service install' writes it anew.")
        self.why = why


@dataclass(frozen=True)
class State:
    """``state`` is the manager's own word. ``current``: the installed file is what this version
    of Podium would write, its environment aside. ``lingering`` is ``None`` where there is no such
    thing, or it is not known."""

    kind: str
    installed: bool
    file: str
    running: bool = False
    enabled: bool = False
    state: str = "not installed"
    pid: int | None = None
    restarts: int | None = None
    current: bool | None = None
    lingering: bool | None = None


def look(manager: ServiceManager, situation: Situation) -> State:
    """Ask the service manager; one that does not answer has a service that does not run.

    Raises ``DamagedFile`` and ``OSError``.
    """
    file = manager.files(situation)[0]
    if file not in situation.there:
        return State(manager.name, installed=False, file=str(file))
    asked = _systemd if manager.name == "systemd" else _launchd
    found = asked(situation)
    try:
        current = is_current(manager, situation, file)
    except (ValueError, plistlib.InvalidFileException, ExpatError) as error:
        raise DamagedFile(file, error) from None
    return State(manager.name, installed=True, file=str(file), current=current, **found)


def unit_text(file: Path) -> str:
    """Read the file of a service. Raises ``OSError``, ``UnicodeError``."""
    return read_plain(file, _LARGEST_UNIT, links=True).decode("utf-8")


def is_current(manager: ServiceManager, situation: Situation, file: Path) -> bool:
    """Return whether ``install`` would write the same file, its environment aside."""
    wanted = manager.texts(situation)[file]
    return _without_environment(unit_text(file)) == _without_environment(wanted)


def _without_environment(text: str) -> object:
    if not text.startswith("<?xml"):
        return [line for line in text.splitlines() if not line.startswith("Environment=")]
    listed: dict[str, Any] = plistlib.loads(text.encode())
    sockets = {"rpc": listed.get("Sockets", {}).get("rpc")}
    return listed | {"EnvironmentVariables": None, "Sockets": sockets}


def lingering(situation: Situation) -> bool | None:
    """Ask whether systemd keeps this person's services when they log out."""
    said = _ask(
        ("loginctl", "show-user", situation.user, "--property=Linger", "--value"),
        situation.environ,
    )
    return {"yes": True, "no": False}.get(said.strip())


def silence(manager: ServiceManager, situation: Situation) -> str:
    """Return the service manager's output in place of an answer; nothing where it answers."""
    argv = manager.question(situation)
    try:
        done = _run(argv, situation.environ)
    except FileNotFoundError:
        return f"'{argv[0]}' was not found: this system has no such service manager"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    said = beginning(" ".join((done.stderr or done.stdout).split()), _LONGEST_MESSAGE)
    return said or f"status {done.returncode}"


def _systemd(situation: Situation) -> dict[str, Any]:
    said = _ask(("systemctl", "--user", "show", SERVICE, f"--property={_ASKED}"), situation.environ)
    values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    active = values.get("ActiveState", "")
    result = values.get("Result", "success")
    state = f"{active} ({values.get('SubState', '')})" if active else UNREACHABLE
    return {
        "running": active == "active",
        "enabled": values.get("UnitFileState") == "enabled",
        "state": state if result == "success" else f"{state}, {result}",
        "pid": _number(values.get("MainPID")) or None,
        "restarts": _number(values.get("NRestarts")),
        "lingering": lingering(situation),
    }


def _launchd(situation: Situation) -> dict[str, Any]:
    service = f"gui/{situation.uid}/{LABEL}"
    said = _ask(("launchctl", "print", service), situation.environ)
    state = re.search(r"^\s*state = (.+)$", said, re.MULTILINE)
    pid = re.search(r"^\s*pid = (\d+)$", said, re.MULTILINE)
    runs = re.search(r"^\s*runs = (\d+)$", said, re.MULTILINE)
    return {
        "running": pid is not None,
        "enabled": bool(said),
        "state": state[1] if state else "not loaded",
        "pid": int(pid[1]) if pid else None,
        "restarts": max(0, int(runs[1]) - 1) if runs else None,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _ask(argv: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """Return a program's output; nothing where it fails or is not there."""
    try:
        done = _run(argv, environ)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _run(argv: tuple[str, ...], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
