"""The machine around Podium: Python, the clock, the kernel's limits on watches."""

from __future__ import annotations

import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from podiumd.core.times import wire_time
from podiumd.doctor.disk import reading
from podiumd.doctor.subject import PROC, Subject
from podiumd.observe.checks import Check, broken, ok, warn
from podiumd.sessions.roots import roots_of
from podiumd.store.connection import FACTS_NAME
from podiumd.tools.files.walk import walk
from podiumd.tools.sandbox.sandbox import AS_ROOT

OLDEST_PYTHON: Final = (3, 11)
_RELEASED: Final = datetime(2026, 1, 1, tzinfo=UTC)  # no honest clock stands before this
_SKEW: Final = timedelta(minutes=5)
_MOST_DIRECTORIES: Final = 500_000
_FEW_INSTANCES: Final = 16  # the daemon has two, and a desktop some tens


def python(subject: Subject) -> list[Check]:
    """Check the version of Python."""
    words = f"{sys.version.partition(' ')[0]} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return [broken("python", words, "install Podium with Python 3.11 or newer")]
    return [ok("python", words)]


def user(subject: Subject) -> list[Check]:
    """Check the daemon's user: as root it works, and so does all that an agent runs."""
    if subject.uid != 0:
        return [ok("user", f"not root (uid {subject.uid})")]
    return [warn("user", AS_ROOT, "run it as a user of its own, where the machine has others")]


def clock(subject: Subject) -> list[Check]:
    """Check that the clock is not behind the newest stored fact."""
    if subject.now < _RELEASED:
        message = f"the clock stands at {subject.now:%F}"
        return [broken("clock", message, "set it: certificates and times would be wrong")]
    newest = _newest_fact(subject)
    if newest is not None and newest - subject.now > _SKEW:
        message = f"the newest record is {newest - subject.now} ahead of the clock"
        return [
            warn(
                "clock",
                message.partition(".")[0],
                "set the clock (timedatectl, or System Settings): times of runs would go back",
            )
        ]
    return [ok("clock", wire_time(subject.now))]


def _newest_fact(subject: Subject) -> datetime | None:
    """Return when the newest fact was stored; ``None`` where that is unknown."""
    try:
        with reading(subject.places.state / FACTS_NAME, subject.daemon.pid is not None) as facts:
            row = facts.execute("SELECT at FROM facts ORDER BY pos DESC LIMIT 1").fetchone()
        return datetime.fromisoformat(row[0]) if row else None
    except (OSError, sqlite3.Error, ValueError, TypeError):
        return None  # the line about facts.db says why


def inotify(subject: Subject, proc: Path = PROC) -> list[Check]:
    """Watches for every directory in which an agent keeps sessions."""
    if not subject.linux:
        return [ok("watches", "this system has no limit on watched directories")]
    limits = proc / "sys/fs/inotify"
    try:
        watches = int((limits / "max_user_watches").read_text())
        instances = int((limits / "max_user_instances").read_text())
    except (OSError, ValueError):
        return [ok("watches", "this system does not tell its limits")]
    needed = sum(map(_directories, roots(subject)))
    words = f"{needed} directories of sessions, {watches} watches allowed"
    effect = "changes are found by sweeps every few seconds"
    if needed > watches:
        fix = f"sudo sysctl fs.inotify.max_user_watches={2 * needed}"
        return [warn("watches", f"{words}: {effect}", f"{fix}, and put it into /etc/sysctl.d")]
    if instances < _FEW_INSTANCES:
        message = f"{instances} inotify instances allowed, which programs share: {effect}"
        return [warn("watches", message, "sudo sysctl fs.inotify.max_user_instances=128")]
    return [ok("watches", words)]


def roots(subject: Subject) -> list[Path]:
    """List where the agents keep their sessions."""
    found = roots_of(subject.config.agents, subject.environ, subject.places.state)
    return [root.directory for root in found]


def _directories(root: Path) -> int:
    count = 0
    for _ in walk(root):
        count += 1
        if count >= _MOST_DIRECTORIES:
            break
    return count
