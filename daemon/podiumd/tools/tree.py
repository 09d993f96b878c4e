"""A digest of files by their content, cheap and bounded."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

MAX_FILES = 20_000
"""Files that are looked at; the names of the others are the caller's to count in."""
MAX_CONTENT_BYTES = 64 * 1024 * 1024
"""Content that is read in total; of files beyond it size and modification time count."""
MAX_DIRECTORIES = 16
_PIECE = 1024 * 1024


def digest(top: str, known: bytes, names: Iterable[bytes]) -> tuple[str, list[str]]:
    """The digest of ``known`` and of the files ``names`` under ``top``, and which of the names
    are directories (at most 16). Blocking: for a thread. Links are not followed; a file that is
    missing or cannot be read counts as that."""
    total = hashlib.sha256(known)
    room = MAX_CONTENT_BYTES
    directories: list[str] = []
    for name, _ in zip(names, range(MAX_FILES), strict=False):
        path = Path(top, os.fsdecode(name))
        try:
            found = path.lstat()
            entry = _metadata(path, found)
            if stat.S_ISREG(found.st_mode) and found.st_size <= room:
                room -= found.st_size
                entry = _content(path)
        except OSError as error:
            entry = f"error {error.errno}".encode()
        else:
            if stat.S_ISDIR(found.st_mode) and len(directories) < MAX_DIRECTORIES:
                directories.append(str(path))
        total.update(b"%d:%b%d:%b" % (len(name), name, len(entry), entry))
    return total.hexdigest(), directories


def digests(top: str, names: Iterable[bytes]) -> dict[bytes, str]:
    """A digest of each file below ``top``, as ``digest`` takes its share of them."""
    return {name: digest(top, b"", [name])[0][:16] for name in names}


def combine(first: str, second: str) -> str:
    """One digest of two."""
    return hashlib.sha256(f"{first} {second}".encode()).hexdigest()


def _metadata(path: Path, found: os.stat_result) -> bytes:
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFLNK:
        return b"link " + os.fsencode(path.readlink())
    if kind == stat.S_IFREG:
        return f"large {found.st_size} {found.st_mtime_ns}".encode()
    return f"kind {kind}".encode()


def _content(path: Path) -> bytes:
    # Not blocking, not following: the file may have become a pipe or a link since it was seen.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        mode = os.fstat(fd).st_mode & 0o111
        content = hashlib.sha256(str(mode).encode())
        left = MAX_CONTENT_BYTES
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            content.update(piece)
            left -= len(piece)
    return content.digest()
