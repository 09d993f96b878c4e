"""Paths of the daemon's socket, state and log, by the environment alone.

``PODIUM_HOME`` makes a second, private daemon; ``PODIUM_SOCKET`` wins over it.
"""

from __future__ import annotations

import os
import sys


def _xdg(name: str) -> str | None:
    """Return an XDG base directory; a relative one does not count, as that standard demands."""
    value = os.environ.get(name, "")
    return value if value.startswith("/") else None


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def state_directory() -> str:
    """Return the daemon's STATE directory."""
    home = os.environ.get("PODIUM_HOME")
    if home:
        return os.path.join(_absolute(home), "state")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/podium")
    return os.path.join(_xdg("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "podium")


def user_recipes() -> str:
    """Return the directory of the person's own recipes."""
    home = os.environ.get("PODIUM_HOME")
    if home:
        return os.path.join(_absolute(home), "recipes")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/podium/recipes")
    configuration = _xdg("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(configuration, "podium", "recipes")


def log_file() -> str:
    """Return the path of a detached daemon's log."""
    return os.path.join(state_directory(), "podiumd.log")


def lock_file() -> str:
    """Return the path of the file with the pid of the daemon that owns STATE."""
    return os.path.join(state_directory(), "podiumd.lock")


def for_child() -> dict[str, str]:
    """Our environment for a daemon that starts in another directory: its places made absolute."""
    environment = dict(os.environ)
    for name in ("PODIUM_HOME", "PODIUM_SOCKET", "PODIUM_CONFIG"):
        if environment.get(name):
            environment[name] = _absolute(environment[name])
    return environment


def socket_path() -> str:
    """Return the path of the daemon's Unix socket."""
    named = os.environ.get("PODIUM_SOCKET")
    if named:
        return _absolute(named)
    home = os.environ.get("PODIUM_HOME")
    if home:
        return os.path.join(_absolute(home), "podium.sock")
    runtime = None if sys.platform == "darwin" else _xdg("XDG_RUNTIME_DIR")
    if runtime:
        return os.path.join(runtime, "podium", "podium.sock")
    return os.path.join(state_directory(), "podium.sock")
