"""The service: installed, current, running, and up without a login."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from podiumd.doctor.subject import Subject
from podiumd.observe.checks import Check, broken, ok, warn
from podiumd.service.kinds import manager_for
from podiumd.service.situation import Situation
from podiumd.service.state import UNREACHABLE, DamagedFile, State, look, unit_text

_INSTALL: Final = "'podium service install' writes it anew"
LINGER: Final = Path("/var/lib/systemd/linger")


def service(subject: Subject) -> list[Check]:
    """Check that the service manager would start this Podium, and that it does start."""
    unit = unit_file(subject)
    if not unit.exists():
        return [ok("service", "not installed ('podium service install')")]
    try:
        text = unit_text(unit)
        own = subject.environ.get("PODIUM_HOME")
        if own and str(Path(own).absolute()) not in text:
            return [ok("service", "installed, for another daemon than this PODIUM_HOME")]
        state = look(manager_for(subject.platform), _situation(subject, unit))
    except DamagedFile as damaged:
        return [broken("service", f"{unit} cannot be read: {damaged.why}", _INSTALL)]
    except (OSError, ValueError) as error:
        return [broken("service", f"{unit} cannot be read: {error}", _INSTALL)]
    return [_judge(state)]


def _judge(state: State) -> Check:
    where = f"{state.file}: {state.state}"
    if not state.current:
        message = f"{state.file} is not what this version of Podium would install"
        return warn("service", message, _INSTALL)
    if not state.running and "failed" in state.state:
        return broken("service", where, "'podium service logs' says why; then install it anew")
    if not state.running and state.state == UNREACHABLE:
        fix = "'podium up' runs the daemon without it; 'podium service uninstall' takes it away"
        return warn("service", where, fix)
    if not state.running:
        return warn("service", f"installed and not running: {where}", "'podium up' starts it")
    if not state.enabled:
        return warn("service", f"not started at login: {where}", _INSTALL)
    restarts = f", restarted {state.restarts} times" if state.restarts else ""
    return ok("service", f"{where}{restarts}")


def unit_file(subject: Subject) -> Path:
    """Return the service's file, for this platform."""
    return manager_for(subject.platform).files(_situation(subject))[0]


def _situation(subject: Subject, *there: Path) -> Situation:
    return Situation(
        platform=subject.platform,
        home=subject.home,
        uid=subject.uid,
        user=subject.environ.get("USER") or subject.environ.get("LOGNAME") or "",
        environ=subject.environ,
        places=subject.places,
        gateway=subject.config.gateway,
        there=frozenset(there),
    )


def lingering(subject: Subject, flags: Path = LINGER) -> list[Check]:
    """Check whether the service goes on when its person logs out."""
    if subject.platform == "darwin":
        words = "launchd starts the agent at login; a sleeping Mac works on nothing"
        return [ok("lingering", words)]
    if not unit_file(subject).exists():
        return [ok("lingering", "not needed without a service")]
    user = subject.environ.get("USER") or subject.environ.get("LOGNAME") or ""
    if user and (flags / user).exists():
        return [ok("lingering", "the service runs without a login")]
    message = "the service stops when you log out, and is not up before you log in"
    return [warn("lingering", message, f"loginctl enable-linger {user}".rstrip())]
