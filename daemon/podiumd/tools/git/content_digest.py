"""A digest of files by their content, cheap and bounded.

All of it is for a thread that can be ended: ``go_on`` is called before every piece that is read,
and ends it by what it raises (``trio.from_thread.check_cancelled``).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

MAX_FILES = 20_000
"""Files that are looked at; the names of the others are the caller's to count in."""
MAX_CONTENT_BYTES = 64 * 1024 * 1024
"""Content that is read in total; of files beyond it size and modification time count."""
MAX_DIRECTORIES = 16
_PIECE = 1024 * 1024
_LENGTH = 16


def _always() -> None:
    """Go on, always: nothing ends it."""


class _Look:
    """Looks at files below ``top`` while there is room for their content, which all share."""

    def __init__(self, top: str, go_on: Callable[[], None]) -> None:
        self._top = top
        self._go_on = go_on
        self._room = MAX_CONTENT_BYTES
        self.directories: list[str] = []

    def at(self, name: bytes) -> tuple[bytes, bytes | None]:
        """Read the metadata of a file, and digest its content (``None``: not read)."""
        self._go_on()
        path = Path(self._top, os.fsdecode(name))
        content = None
        try:
            found = path.lstat()
            metadata = _metadata(path, found)
            if stat.S_ISREG(found.st_mode) and found.st_size <= self._room:
                self._room -= found.st_size
                content = _content(path, found.st_size, self._go_on)
        except OSError as error:
            return f"error {error.errno}".encode(), None
        if stat.S_ISDIR(found.st_mode) and len(self.directories) < MAX_DIRECTORIES:
            self.directories.append(str(path))
        return metadata, content


def digest(
    top: str, known: bytes, names: Iterable[bytes], go_on: Callable[[], None] = _always
) -> tuple[str, list[str]]:
    """Compute the digest of ``known`` and of the files ``names`` under ``top``. Blocks.

    Returns with it the names that are directories (at most 16). Links are not followed; a file that
    is missing or cannot be read counts as that.
    """
    total = hashlib.sha256(known)
    look = _Look(top, go_on)
    for name, _ in zip(names, range(MAX_FILES), strict=False):
        metadata, content = look.at(name)
        total.update(_entry(name, metadata if content is None else content))
    return total.hexdigest(), look.directories


def digests(
    top: str, names: Iterable[bytes], go_on: Callable[[], None] = _always
) -> dict[bytes, str]:
    """Compute a digest of each file below ``top``. Blocks.

    It consists of the digest of its content, a blank, and that of its size and time; the first is
    missing where there was no room left for all contents together.
    ``podiumd.core.decide.claims.same_content`` compares two of them.
    """
    look = _Look(top, go_on)
    return {name: _two(name, *look.at(name)) for name in names}


def _two(name: bytes, metadata: bytes, content: bytes | None) -> str:
    known = "" if content is None else _short(_entry(name, content))
    return f"{known} {_short(_entry(name, metadata))}"


def _short(entry: bytes) -> str:
    return hashlib.sha256(entry).hexdigest()[:_LENGTH]


def _entry(name: bytes, said: bytes) -> bytes:
    return b"%d:%b%d:%b" % (len(name), name, len(said), said)


def combine(first: str, second: str) -> str:
    """Combine two digests into one."""
    return hashlib.sha256(f"{first} {second}".encode()).hexdigest()


def _metadata(path: Path, found: os.stat_result) -> bytes:
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFLNK:
        return b"link " + os.fsencode(path.readlink())
    if kind == stat.S_IFREG:
        return f"large {found.st_size} {found.st_mtime_ns}".encode()
    return f"kind {kind}".encode()


def _content(path: Path, size: int, go_on: Callable[[], None]) -> bytes:
    # Not blocking, not following: the file may have become a pipe or a link since it was seen.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        mode = os.fstat(fd).st_mode & 0o111
        content = hashlib.sha256(str(mode).encode())
        left = size  # what it has grown by since has no room
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            content.update(piece)
            left -= len(piece)
            go_on()
    return content.digest()
