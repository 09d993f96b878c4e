"""Run a program as the unit confines it: ``python confined.py ARGUMENT...`` runs this Python so.

Every setting of ``podiumd.service`` is either applied to this process or known to change nothing
for what runs inside. Another one fails: hardening that nobody has tried must not be shipped.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

UNIT = Path(__file__).resolve().parents[2] / "systemd" / "podiumd.service"
PR_SET_NO_NEW_PRIVS = 38

ABOUT_THE_SERVICE = frozenset(
    (
        *("Type", "NotifyAccess", "ExecStart", "ExecReload", "Environment", "Sockets"),
        *("Restart", "RestartSec", "WatchdogSec", "TimeoutStopSec", "KillMode", "Delegate"),
        "OOMPolicy",
    )
)
"""What the service manager does, and nothing that a process inside could feel."""


def _no_new_privileges(value: str) -> None:
    assert value == "yes"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _limit(which: int) -> Callable[[str], None]:
    def apply(value: str) -> None:
        soft, _, hard = value.partition(":")
        highest = resource.getrlimit(which)[1]
        wanted = _number(hard)
        if highest != resource.RLIM_INFINITY and (wanted < 0 or wanted > highest):
            wanted = highest  # systemd gives what its own limit allows
        resource.setrlimit(which, (_number(soft), wanted))

    return apply


def _number(text: str) -> int:
    return resource.RLIM_INFINITY if text == "infinity" else int(text)


APPLIED: dict[str, Callable[[str], None]] = {
    "NoNewPrivileges": _no_new_privileges,
    "LimitNOFILE": _limit(resource.RLIMIT_NOFILE),
    "LimitCORE": _limit(resource.RLIMIT_CORE),
}


def service_settings() -> list[tuple[str, str]]:
    """The settings of the ``[Service]`` section, in order."""
    section = UNIT.read_text(encoding="utf-8").partition("[Service]\n")[2].partition("\n[")[0]
    lines = [line for line in section.splitlines() if line and not line.startswith("#")]
    return [(line.partition("=")[0], line.partition("=")[2]) for line in lines]


def confine() -> None:
    """Put this process, and all that it starts, under the unit's settings."""
    for name, value in service_settings():
        if name not in ABOUT_THE_SERVICE:
            APPLIED[name](value)


if __name__ == "__main__":
    confine()
    os.execv(sys.executable, [sys.executable, "-P", *sys.argv[1:]])
