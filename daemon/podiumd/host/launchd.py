"""Sockets held by launchd, asked for by the name that they have in the agent's property list."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, Final, Protocol

from podiumd.config.paths import PlaceError

_NOT_OURS: Final = (errno.ESRCH, errno.ENOENT, errno.EALREADY)
"""Not started by launchd; no socket of that name; taken already."""


class Library(Protocol):
    """The part of libSystem that is used."""

    def launch_activate_socket(self, name: bytes, fds: Any, count: Any) -> int:
        """launch(3): 0, or an errno; the list it made is the caller's to free."""

    def free(self, pointer: Any) -> None:
        """free(3)."""


def libsystem() -> Library:
    """Load the system's own library, its two functions declared."""
    library: Any = ctypes.CDLL(None)
    library.launch_activate_socket.argtypes = [
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.POINTER(ctypes.c_int)),
        ctypes.POINTER(ctypes.c_size_t),
    ]
    library.launch_activate_socket.restype = ctypes.c_int
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    made: Library = library
    return made


def activate(name: str, library: Library | None = None) -> list[int]:
    """Return the descriptors of one socket; none where launchd holds none for us.

    Raises ``PlaceError`` with launchd's reason.
    """
    calls = library or libsystem()
    numbers = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t(0)
    status = calls.launch_activate_socket(name.encode(), ctypes.byref(numbers), ctypes.byref(count))
    if status in _NOT_OURS:
        return []
    if status:
        raise PlaceError(f"launchd does not hand over the socket '{name}': {os.strerror(status)}.")
    try:
        return [numbers[index] for index in range(count.value)]
    finally:
        calls.free(numbers)
