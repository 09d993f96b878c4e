"""Check for an installed service, and whether it is the one of our socket.

Its files show it: a private daemon (``PODIUM_HOME``) has another socket than the service of the
same person.
"""

from __future__ import annotations

import os
import sys

from podium.plain_file import open_plain

# -P: a folder 'podiumd' in the current directory must not be run in the daemon's place.
DAEMON = (sys.executable, "-P", "-m", "podiumd")

ASK_SECONDS = 10.0


def daemon_command(config: str | None, *words: str, **flags: bool) -> list[str]:
    """Build a command of the daemon's own module, with its configuration file and the flags that
    are set."""
    chosen = [] if config is None else ["--config", os.path.abspath(config)]
    named = [f"--{name.replace('_', '-')}" for name, given in flags.items() if given]
    return [*DAEMON, *chosen, *words, *named]


def serves(socket_path: str) -> bool:
    """Return whether the service of this person holds this socket."""
    found = _launchd_socket() if sys.platform == "darwin" else _systemd_socket()
    return found is not None and os.path.realpath(found) == os.path.realpath(socket_path)


def manager_answers() -> bool:
    """Return whether its service manager can be reached: it cannot after ``su``, nor in a
    container."""
    import subprocess

    mac = ("launchctl", "print", f"gui/{os.getuid()}")
    other = ("systemctl", "--user", "show", "--property=Version")
    try:
        asked = subprocess.run(
            mac if sys.platform == "darwin" else other,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def _systemd_socket() -> str | None:
    chosen = os.environ.get("XDG_CONFIG_HOME", "")
    base = chosen if chosen.startswith("/") else os.path.expanduser("~/.config")
    directory = os.path.join(base, "systemd", "user")
    if not os.path.exists(os.path.join(directory, "podiumd.service")):
        return None
    try:
        with open_plain(os.path.join(directory, "podiumd.socket")) as file:
            lines = file.read().decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    listens = [line for line in lines if line.startswith("ListenStream=/")]
    return listens[0].partition("=")[2].replace("%%", "%") if listens else None


def _launchd_socket() -> str | None:
    import plistlib

    try:
        with open_plain(os.path.expanduser("~/Library/LaunchAgents/podiumd.plist")) as file:
            return str(plistlib.load(file)["Sockets"]["rpc"]["SockPathName"])
    except (OSError, KeyError, TypeError, ValueError, plistlib.InvalidFileException):
        return None
