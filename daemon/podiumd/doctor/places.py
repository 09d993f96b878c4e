"""The configuration, directories, the lock and the socket."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from podiumd import __version__
from podiumd.config.load import ConfigError, ignored_variables
from podiumd.config.paths import WORK
from podiumd.doctor.subject import PROC, Subject
from podiumd.observe.checks import Check, broken, ok, warn
from podiumd.tools.files.believed import fault_of

_SECRET_FILES: Final = ("facts.db", "facts.db-wal", "index.db", "podiumd.log", "tls/gateway.pem")
_LISTENING: Final = 0x10000  # __SO_ACCEPTCON of Linux's include/uapi/linux/net.h


def directories(subject: Subject) -> list[Check]:
    """Ours alone, and writable."""
    wanted = [*subject.places.private, *(subject.places.state / name for name in WORK)]
    if subject.places.socket.parent not in wanted:
        wanted.append(subject.places.socket.parent)
    found = [fault for path in wanted if (fault := _directory(subject, path)) is not None]
    found += [fault for name in _SECRET_FILES if (fault := _file(subject, name)) is not None]
    return found or [ok("directories", f"all are yours alone; STATE is {subject.places.state}")]


def _directory(subject: Subject, path: Path) -> Check | None:
    name = "directories"
    try:
        found = path.lstat()
    except FileNotFoundError:
        return _can_be_made(path)
    except OSError as error:
        return broken(name, f"{path}: {error.strerror}", "see that you may enter what is above it")
    mode = stat.S_IMODE(found.st_mode)
    shared = path not in subject.places.private and path == subject.places.socket.parent
    if stat.S_ISLNK(found.st_mode) and not shared:
        return broken(name, f"{path} is a symbolic link", "name the real directory instead")
    if not stat.S_ISDIR(path.stat().st_mode):
        return broken(name, f"{path} is not a directory", "move it away")
    if found.st_uid != subject.uid and not shared:
        return broken(name, f"{path} belongs to user {found.st_uid}", "use another place")
    if not os.access(path, os.W_OK | os.X_OK):
        return broken(
            name,
            f"you cannot write to {path}",
            f"chmod u+rwx '{path}', or free the disk it is on from being read-only",
        )
    fault = None if shared else fault_of(found, subject.uid)
    if fault is not None:
        return broken(name, f"{path} is not yours alone: {fault}", f"chmod 700 '{path}'")
    if mode & 0o077 and not shared:
        return warn(name, f"others may look into {path} (mode {mode:o})", f"chmod 700 '{path}'")
    return None


def _can_be_made(path: Path) -> Check | None:
    """Check that a start could make what is missing."""
    above = next(one for one in path.parents if one.exists())
    if os.access(above, os.W_OK | os.X_OK):
        return None
    return broken(
        "directories",
        f"{path} is missing and cannot be made: you cannot write to {above}",
        f"make it, or give yourself the right to: chmod u+rwx '{above}'",
    )


def _file(subject: Subject, name: str) -> Check | None:
    path = subject.places.state / name
    try:
        found = path.lstat()
    except OSError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid == subject.uid and not mode & 0o077:
        return None
    message = f"others may read {path} (mode {mode:o}, user {found.st_uid})"
    return warn("directories", message, f"chmod 600 '{path}'")


def lock(subject: Subject) -> list[Check]:
    """Check that one daemon has this STATE."""
    pid = subject.daemon.pid
    if pid is None:
        return [ok("lock", "free: no daemon has this STATE")]
    said = (subject.daemon.status or {}).get("pid", pid)
    if said != pid:
        return [
            broken(
                "lock",
                f"process {pid} has this STATE, and process {said} answers on its socket",
                "unset PODIUM_SOCKET, or stop one of the two with 'kill PID'",
            )
        ]
    return [ok("lock", f"held by the daemon, pid {pid}")]


def socket(subject: Subject) -> list[Check]:
    """Live, stale, not ours, or not there."""
    path, daemon = subject.places.socket, subject.daemon
    try:
        found = path.lstat()
    except OSError:
        if daemon.pid is None:
            return [ok("socket", f"no daemon is running ('podium up' starts it at {path})")]
        return [
            broken("socket", f"{path} is gone while the daemon runs", f"{subject.restart} makes it")
        ]
    if not stat.S_ISSOCK(found.st_mode):
        return [broken("socket", f"{path} exists and is not a socket", "move it away")]
    if found.st_uid != subject.uid:
        message = f"{path} belongs to user {found.st_uid}"
        return [broken("socket", message, "set PODIUM_SOCKET to a path of your own")]
    if daemon.pid is not None and daemon.status is None:
        message = f"the daemon (pid {daemon.pid}) does not answer at {path}: {daemon.silent}"
        fix = f"see its log {subject.places.log}; 'podium down' stops it"
        return [broken("socket", message, fix)]
    if daemon.pid is not None:
        return [_mode(path, found, f"answers at {path}")]
    if subject.linux and _listens(path):
        held = "held for the daemon by a service manager, or by a daemon with another STATE"
        return [ok("socket", f"{path} is {held}")]
    words = f"{path} was left by a daemon that is gone; the next start replaces it"
    return [ok("socket", words)]


def _mode(path: Path, found: os.stat_result, well: str) -> Check:
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        return warn("socket", f"{path} has mode {mode:o}", f"chmod 600 '{path}'")
    return ok("socket", well)


def _listens(path: Path, proc: Path = PROC) -> bool:
    """Return whether a process listens there.

    It is found without connecting: that could start a daemon.
    """
    try:
        rows = (proc / "net/unix").read_text(errors="replace").splitlines()[1:]
    except OSError:
        return False
    for row in rows:
        fields = row.split(None, 7)
        if len(fields) == 8 and fields[7] == str(path) and int(fields[3], 16) & _LISTENING:
            return True
    return False


def version(subject: Subject) -> list[Check]:
    """Check that the running daemon is of the release that is installed."""
    status = subject.daemon.status
    if status is None:
        return [ok("version", f"{__version__}; no daemon to compare it with")]
    running = status.get("version")
    if running == __version__:
        return [ok("version", f"{__version__}, and so is the running daemon")]
    message = f"the running daemon is {running}, installed is {__version__}"
    return [warn("version", message, f"{subject.restart} restarts it with the installed one")]


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
    file = _configuration_file(subject)
    return warnings if warnings and file.state == "ok" else [file, *warnings]


def _configuration_file(subject: Subject) -> Check:
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
