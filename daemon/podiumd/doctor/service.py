"""The service: installed, of this installation, and up without a login."""

from __future__ import annotations

import plistlib
import shlex
import sys
from pathlib import Path
from typing import Final
from xml.parsers.expat import ExpatError

from podiumd.doctor.report import Check, broken, ok, warn
from podiumd.doctor.subject import Subject

_INSTALL: Final = "'podium service install' writes it anew"
LINGER: Final = Path("/var/lib/systemd/linger")


def service(subject: Subject) -> list[Check]:
    """What the service manager would start is there, and is this Podium."""
    if subject.environ.get("PODIUM_HOME"):
        return [ok("service", "a private daemon (PODIUM_HOME) has none")]
    unit = unit_file(subject)
    if not unit.exists():
        return [ok("service", "not installed ('podium service install')")]
    try:
        words = _command(unit)
    except (OSError, ValueError, ExpatError) as error:
        return [broken("service", f"{unit} cannot be read: {error}", _INSTALL)]
    if not words:
        return [broken("service", f"{unit} says nothing to start", _INSTALL)]
    program = Path(words[0])
    if not program.exists():
        return [broken("service", f"{unit} starts {program}, which is gone", _INSTALL)]
    here = Path(sys.executable).parent
    if program.parent != here and program.resolve().parent != here.resolve():
        message = f"{unit} starts {program}, and this Podium is at {here}"
        return [warn("service", message, _INSTALL)]
    return [ok("service", f"installed: {unit}")]


def unit_file(subject: Subject) -> Path:
    """Where the service's file is, of this platform."""
    if subject.platform == "darwin":
        return subject.home / "Library/LaunchAgents/podiumd.plist"
    chosen = subject.environ.get("XDG_CONFIG_HOME", "")
    base = Path(chosen) if chosen.startswith("/") else subject.home / ".config"
    return base / "systemd/user/podiumd.service"


def _command(unit: Path) -> list[str]:
    """The command line of the service, without what only wraps it. Raises what reading raises."""
    if unit.suffix == ".plist":
        found = plistlib.loads(unit.read_bytes())
        return [str(word) for word in found.get("ProgramArguments", [])]
    for line in unit.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "ExecStart":
            return shlex.split(value.strip().lstrip("-@:+!"))
    return []


def lingering(subject: Subject, flags: Path = LINGER) -> list[Check]:
    """Whether the service goes on when its person logs out."""
    if subject.platform == "darwin":
        return [
            ok("lingering", "launchd starts the agent at login; a sleeping Mac works on nothing")
        ]
    if subject.environ.get("PODIUM_HOME") or not unit_file(subject).exists():
        return [ok("lingering", "not needed without a service")]
    user = subject.environ.get("USER") or subject.environ.get("LOGNAME") or ""
    if user and (flags / user).exists():
        return [ok("lingering", "the service runs without a login")]
    message = "the service stops when you log out, and is not up before you log in"
    return [warn("lingering", message, f"loginctl enable-linger {user}".rstrip())]
