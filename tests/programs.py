"""What tests need of a system beside Python, make and git.

``python -m tests.programs`` prints the Debian packages of what is absent here, for .ci/run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

# What pip brings stands beside the Python that runs the tests.
BROUGHT = Path(sys.executable).parent


class Program(NamedTuple):
    """A program's Debian package; ``probe``: arguments with which it succeeds where it works."""

    package: str
    probe: tuple[str, ...] = ()


PROGRAMS = {
    "WebKitWebDriver": Program("webkit2gtk-driver"),
    "Xvfb": Program("xvfb"),
    # Present is not enough: a container may forbid namespaces.
    "bwrap": Program("bubblewrap", ("--ro-bind", "/", "/", "--unshare-all", "true")),
    "cc": Program("gcc"),
    "chromium": Program("chromium"),
    "espeak-ng": Program("espeak-ng"),
    "firefox-esr": Program("firefox-esr"),
    "flite": Program("flite"),
    "ssh-agent": Program("openssh-client"),
    "systemd-analyze": Program("systemd"),
    "systemd-socket-activate": Program("systemd"),
}


@cache
def works(name: str) -> bool:
    """Say whether a program of the table is here and does what it is for."""
    path = shutil.which(name)
    if path is None:
        return False
    probe = PROGRAMS[name].probe
    return (
        not probe
        or subprocess.run([path, *probe], capture_output=True, check=False).returncode == 0
    )


def brought(name: str) -> str:
    """The path of a program that pip has brought, unless the system has one of its own."""
    path = shutil.which(name) or shutil.which(name, path=str(BROUGHT))
    assert path is not None, f"{name} is in none of the dev dependencies: run 'make environment'"
    return path


if __name__ == "__main__":
    print(*sorted({PROGRAMS[name].package for name in PROGRAMS if shutil.which(name) is None}))
