"""The places of everything of one user's Podium, and directories that are this user's alone.

Resolving is pure: it looks at the environment it is given and touches nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from podiumd.tools.files.believed import fault_of

SOCKET_NAME: Final = "podium.sock"
WORK: Final = ("turns", "checks", "worktrees")  # in STATE: what runs leave while they work
_SOCKET_PATH_BYTES: Final = {"linux": 107, "darwin": 103}  # sun_path less its closing NUL


class PlaceError(Exception):
    """A place cannot be used. The text says which one, why, and what to do."""


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The files and directories of one daemon, all absolute.

    ``config_required`` is true where the person named the file, so that it must exist.
    ``private`` are directories that are ours alone (mode 0700), outermost first.
    """

    config: Path
    config_required: bool
    recipes: Path
    state: Path
    socket: Path
    locks: Path
    private: tuple[Path, ...]

    @property
    def instance_lock(self) -> Path:
        """Return the file whose lock makes one daemon the only one on its STATE."""
        return self.state / "podiumd.lock"

    @property
    def log(self) -> Path:
        """Return the log of a detached daemon."""
        return self.state / "podiumd.log"


def resolve(
    environ: Mapping[str, str], platform: str, home: Path, config_flag: str | None = None
) -> Places:
    """Find the places from the environment.

    ``platform`` is ``sys.platform``; ``home`` the person's home directory; ``config_flag`` the
    value of ``--config``. XDG variables that are not absolute are ignored, as their specification
    demands. Raises ``PlaceError`` for a socket path that is too long for the platform, and for a
    HOME that is no absolute path: STATE would depend on the directory that a daemon is started in.
    """
    named_home = environ.get("HOME")
    if named_home is not None and not named_home.startswith("/"):
        raise PlaceError(f"HOME is '{named_home}': set it to the absolute path of your home.")
    support, mac = home / "Library" / "Application Support", platform == "darwin"
    locks = (support if mac else home / ".local" / "state") / "podium-locks"
    if own := environ.get("PODIUM_HOME"):
        configuration = runtime = _absolute(own, home)
        state = configuration / "state"
    elif mac:
        configuration = state = runtime = support / "podium"
    else:
        configuration = _xdg(environ, "XDG_CONFIG_HOME", home / ".config")
        state = _xdg(environ, "XDG_STATE_HOME", home / ".local" / "state")
        runtime = _xdg(environ, "XDG_RUNTIME_DIR", state.parent)
    chosen = environ.get("PODIUM_SOCKET")
    socket = _absolute(chosen, home) if chosen else runtime / SOCKET_NAME
    _check_socket_length(socket, platform)
    named = config_flag or environ.get("PODIUM_CONFIG") or None
    return Places(
        config=_absolute(named, home) if named else configuration / "config.toml",
        config_required=named is not None,
        recipes=configuration / "recipes",
        state=state,
        socket=socket,
        locks=locks,
        private=tuple(dict.fromkeys([state, locks] if chosen else [runtime, state, locks])),
    )


def _xdg(environ: Mapping[str, str], name: str, default: Path) -> Path:
    value = environ.get(name, "")
    return (Path(value) if value.startswith("/") else default) / "podium"


def _absolute(path: str, home: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else Path(path).absolute()


def _check_socket_length(path: Path, platform: str) -> None:
    longest = _SOCKET_PATH_BYTES["darwin" if platform == "darwin" else "linux"]
    length = len(os.fsencode(path))
    if length > longest:
        raise PlaceError(
            f"The socket path {path} is {length} bytes long; this system allows {longest}. "
            "Set PODIUM_SOCKET (or PODIUM_HOME) to a shorter path."
        )


def make_private(path: Path, uid: int) -> None:
    """Make ``path`` a directory of ``uid`` alone (0700), creating it and its parents if needed.

    An existing directory of our own that others may look into is closed to them. A link, a file, a
    directory of another user, one that others can write to or one shared by design (sticky) is
    refused with ``PlaceError``: files in it may be theirs.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise PlaceError(f"Cannot create {path}: {error.strerror}.") from None
    if stat.S_ISLNK(found.st_mode):
        raise PlaceError(f"{path} is a symbolic link; name the real directory instead.")
    if not stat.S_ISDIR(found.st_mode):
        raise PlaceError(f"{path} is not a directory; move it away.")
    if found.st_uid != uid:
        raise PlaceError(f"{path} belongs to user {found.st_uid}, not to you; use another place.")
    if found.st_mode & stat.S_ISVTX:
        raise PlaceError(f"{path} is a shared directory; choose one of your own.")
    fault = fault_of(found, uid)
    if fault is not None:
        raise PlaceError(f"{path} is not yours alone: {fault}, or choose another place.")
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)


def check_socket_directory(path: Path, uid: int) -> None:
    """Refuse a directory for the socket in which others could put their own in its place.

    This is for a directory that the person chose (``PODIUM_SOCKET``): it is created when missing
    and otherwise left as it is. Raises ``PlaceError``.
    """
    if not path.exists():
        make_private(path, uid)
    found = path.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise PlaceError(f"{path} is not a directory; set PODIUM_SOCKET to a path in one.")
    fault = fault_of(found, uid)
    if fault is not None:
        raise PlaceError(
            f"Others could put a socket of theirs into {path}: {fault}; or set PODIUM_SOCKET to a "
            "path in a directory of your own."
        )


def prepare(places: Places, uid: int) -> None:
    """Make every private directory, and check the one of the socket. Raises ``PlaceError``."""
    for directory in (*places.private, *(places.state / name for name in WORK)):
        make_private(directory, uid)
    if places.socket.parent not in places.private:
        check_socket_directory(places.socket.parent, uid)
