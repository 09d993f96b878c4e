"""An index that is written by hand: it says of a file what that is like now, and nobody looks."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from pathlib import Path

_HEAD = 12
_FIXED = 62


def forge(repo: Path, *names: str, index: Path | None = None) -> None:
    """Have the index of a repository claim that these files are as they were when they were added:
    times, size and number are those that they have now.

    ``index``: the file of a split one that holds them. Its name is its digest, which stays: git
    does not look.
    """
    split, index = index, index or repo / ".git/index"
    whole = index.read_bytes()
    data, digest = bytearray(whole[:-20]), whole[-20:]
    assert data[:8] == b"DIRC\0\0\0\2"
    place, left = _HEAD, {os.fsencode(name) for name in names}
    for _ in range(struct.unpack(">I", data[8:12])[0]):
        length = struct.unpack(">H", data[place + 60 : place + _FIXED])[0] & 0xFFF
        name = bytes(data[place + _FIXED : place + _FIXED + length])
        if name in left:
            left.discard(name)
            data[place : place + 40] = _as_it_is(repo / os.fsdecode(name), data[place + 24 :])
        place += (_FIXED + length + 8) // 8 * 8
    assert not left
    if split is None:
        digest = hashlib.sha1(data, usedforsecurity=False).digest()
    draft = index.with_name("forged")
    draft.write_bytes(bytes(data) + digest)
    draft.replace(index)


def stat_of(path: Path) -> bytes:
    """What git's cache of untracked files keeps of a directory, as that is now."""
    return _as_it_is(path, bytearray())


def forge_untracked(repo: Path, was: bytes, path: Path) -> None:
    """Have the cache of untracked files of a repository claim that a directory is as it ``was``."""
    index = repo / ".git/index"
    data = index.read_bytes()[:-20]
    assert b"UNTR" in data and was in data
    data = data.replace(was, stat_of(path))
    index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def forge_trees(repo: Path, *paths: str) -> None:
    """Stage these files as they are now, and have the index of a repository claim the trees of
    before: git then never looks at what is staged."""
    index = repo / ".git/index"
    said = trees_in(index)
    subprocess.run(["git", "-C", repo, "add", "--", *paths], check=True)
    now = trees_in(index)
    data = index.read_bytes()[:-20].replace(now, said)
    index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def trees_in(index: Path) -> bytes:
    """The extension in which an index, with no file of that name, tells of trees."""
    data = index.read_bytes()
    place = data.rindex(b"TREE")
    return data[place : place + 8 + int.from_bytes(data[place + 4 : place + 8], "big")]


def _as_it_is(path: Path, mode: bytearray) -> bytes:
    status = path.lstat()
    numbers = (
        *divmod(status.st_ctime_ns, 10**9),
        *divmod(status.st_mtime_ns, 10**9),
        *(status.st_dev & 0xFFFFFFFF, status.st_ino & 0xFFFFFFFF),
    )
    rest = (status.st_uid, status.st_gid, status.st_size)
    return struct.pack(">6I", *numbers) + bytes(mode[:4]) + struct.pack(">3I", *rest)
