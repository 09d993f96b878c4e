"""History of a person's messages in chats, for the arrow keys: a JSON text a line, mode 0600."""

from __future__ import annotations

import os

from podium import atomic, paths, wire
from podium.plain_file import open_plain

KEPT = 1000
"""Messages that are offered again."""

LONGEST_BYTES = 4 * 1024 * 1024
"""A file beyond it is cut to the last ``KEPT`` messages."""


def path() -> str:
    """Return the path of the history."""
    return os.path.join(paths.state_directory(), "chat_history")


def read() -> list[str]:
    """Read the last messages, the oldest first. A damaged line is passed over."""
    try:
        with open_plain(path()) as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    kept = []
    for line in lines[-KEPT:]:
        try:
            message = wire.decode(line)
        except ValueError:
            continue
        if isinstance(message, str):
            kept.append(message)
    return kept


def add(message: str) -> None:
    """Keep a message. Raises ``OSError``."""
    line = wire.encode(message).encode() + b"\n"
    os.makedirs(paths.state_directory(), mode=0o700, exist_ok=True)
    descriptor = os.open(path(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, line)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if size > LONGEST_BYTES:
        atomic.write(path(), b"".join(wire.encode(one).encode() + b"\n" for one in read()))
