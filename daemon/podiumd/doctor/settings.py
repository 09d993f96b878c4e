"""The configuration: can it be read, and is it the one that is in force."""

from __future__ import annotations

from podiumd.config.load import ConfigError, ignored_variables
from podiumd.doctor.subject import Subject
from podiumd.observe.checks import Check, broken, ok, warn


def unusable(error: ConfigError) -> Check:
    """Report a file that would stop a start."""
    more = f" (and {len(error.faults) - 1} more)" if len(error.faults) > 1 else ""
    return broken(
        "configuration",
        f"{error.faults[0]}{more}",
        "mend it: 'podium config show' says when it can be read; the other checks use the defaults",
    )


def configuration(subject: Subject) -> list[Check]:
    """Check that the file and the environment are what the daemon does."""
    ignored = ignored_variables(subject.daemon_environ)
    fix = f"correct it, or unset it, where the daemon gets it, then {subject.restart}"
    warnings = [warn("configuration", words, fix) for words in ignored]
    file = _file(subject)
    return warnings if warnings and file.state == "ok" else [file, *warnings]


def _file(subject: Subject) -> Check:
    path = subject.places.config
    state = (subject.daemon.status or {}).get("configuration") or {}
    if state.get("problem"):
        message = f"the daemon keeps its old settings: {state['problem']}"
        return warn("configuration", message, "mend the file, then 'podium config reload'")
    waiting = [one["key"] for one in state.get("pending") or []]
    if waiting:
        message = f"not in force before a restart: {', '.join(waiting)}"
        return warn("configuration", message, subject.restart)
    there = f"{path} can be used" if path.exists() else f"there is no {path}: all defaults hold"
    return ok("configuration", there)
