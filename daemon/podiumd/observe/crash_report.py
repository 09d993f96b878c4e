"""The reason why the last daemon ended, when it could not log it itself.

While a daemon runs, STATE has a file with its pid. One that stops in order removes it; one that
crashes in C code, is aborted by a watchdog or is killed leaves it, in the first two cases with the
stacks of its threads in it. The next daemon logs what it finds.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from podiumd.observe.logs import log
from podiumd.observe.redaction import redact

NAME: Final = "podiumd.running"
_MOST_BYTES: Final = 64 * 1024


@contextmanager
def keep_crash_report(state: Path, told: type[Exception]) -> Iterator[None]:
    """Log the end of the daemon before if it did not, and keep a file for our own end.

    To be entered while the lock of STATE is held. ``told`` are ends that the caller reports.
    """
    path = state / NAME
    _log_crash_before(path)
    descriptor: int | None = None
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        os.write(descriptor, f"pid {os.getpid()}\n".encode())
        faulthandler.enable(descriptor, all_threads=True)
    except OSError as error:  # a full disk is no reason not to start
        log("Last words cannot be kept", "warning", file=str(path), reason=error.strerror)
    try:
        yield
    except told:
        raise
    except BaseException as error:
        log("Daemon crashed", "error", exception=error, pid=os.getpid())
        raise
    finally:
        if faulthandler.is_enabled():
            faulthandler.disable()
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _log_crash_before(path: Path) -> None:
    try:
        with path.open("rb") as file:
            left = file.read(_MOST_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        log("Last words cannot be read", "warning", file=str(path), reason=error.strerror)
        return
    first, _, stacks = left.partition("\n")
    pid = first.removeprefix("pid ")
    said = next((line for line in stacks.splitlines() if line.startswith("Fatal")), "")
    if stacks:
        log("The daemon before was aborted", "error", pid=pid, reason=said, stacks=redact(stacks))
    else:
        reason = "killed, or the machine went down: it had no time to say so"
        log("The daemon before ended without a word", "warning", pid=pid, reason=reason)
