"""Reads the file of an index, for the part in which git believes whoever has written it. Pure.

Git keeps there, by directory, which tree it has last written (the extension ``TREE``). Where that
is the tree of the commit it takes the directory for unchanged, and never looks at what is staged in
it. The format is in gitformat-index(5).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

SHA1_BYTES: Final = 20
SHA256_BYTES: Final = 32
TREES: Final = b"TREE"
_SPLIT: Final = b"link"
_OFFSETS: Final = frozenset((b"EOIE", b"IEOT"))
"""They lead git to other places of the file than where it comes by reading on."""
_NUMBERS: Final = re.compile(rb"(-1|\d{1,9}) (\d{1,9})")
_HEAD: Final = 12
_STAT: Final = 40
_MODE: Final = 24
_EXTENDED, _STAGE, _LENGTH = 0x4000, 0x3000, 0x0FFF
_INTENDED: Final = 0x2000
_DIRECTORY: Final = 0o40000
"""The mode of a directory that a sparse index has in place of its files."""


class _Staged(NamedTuple):
    """A file in the index, or a whole directory, whose path ends with ``/``. ``in_tree``: git can
    write it into one, which it cannot where there is a conflict, or no more than the intent to add
    it."""

    path: bytes
    mode: int
    oid: bytes
    in_tree: bool


class _Index(NamedTuple):
    """The files of an index, where in it these ``end``, and its extensions in their order."""

    staged: list[_Staged]
    end: int
    extensions: list[tuple[bytes, bytes]]


class _Tree(NamedTuple):
    """A directory as git would write it: of how many files, and under which id; ``None`` where it
    cannot."""

    files: int
    oid: bytes | None


def trees_hold(data: bytes, oid_bytes: int) -> bool:
    """Whether what an index says of trees is true: each is that of the files which it has there.

    Also ``False`` where that cannot be told from this file alone.
    """
    if TREES not in data:  # looked for in the whole: the files before it take long
        return True
    try:
        index = _read(data, oid_bytes)
        said = [body for name, body in index.extensions if name == TREES]
        if not said:
            return True
        if any(name == _SPLIT for name, _ in index.extensions):
            return False  # the other files are in another
        true = _trees(index.staged, oid_bytes)
        [one] = said
        told = _told(one, oid_bytes)
    except (ValueError, IndexError):
        return False
    return all(tree == true.get(path) for path, tree in told.items())


def without_trees(data: bytes, oid_bytes: int) -> bytes:
    """An index without what it says of trees. Raises ``ValueError`` where it cannot be read."""
    try:
        index = _read(data, oid_bytes)
    except IndexError as error:
        raise ValueError("it ends too early") from error
    kept = b"".join(
        name + len(body).to_bytes(4, "big") + body
        for name, body in index.extensions
        if name != TREES
    )
    whole = data[: index.end] + kept
    return whole + _digest(whole, oid_bytes)


def _read(data: bytes, oid_bytes: int) -> _Index:
    """Raises ``ValueError`` and ``IndexError``."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("it is none of a version that is known")
    staged, place = _files(data, oid_bytes, version)
    end, extensions = place, []
    while place < len(data) - oid_bytes:
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "big")
        extensions.append((name, data[place + 8 : place + 8 + size]))
        place += 8 + size
    if place != len(data) - oid_bytes:
        raise ValueError("it does not end where it says")
    if not _OFFSETS.isdisjoint(name for name, _ in extensions):
        raise ValueError("it is not to be read from its beginning to its end")
    return _Index(staged, end, extensions)


def _files(data: bytes, oid_bytes: int, version: int) -> tuple[list[_Staged], int]:
    place, path, staged = _HEAD, b"", []
    for _ in range(int.from_bytes(data[8:12], "big")):
        at = place + _STAT + oid_bytes
        flags = data[at] << 8 | data[at + 1]
        start = at + 2
        more = 0
        if flags & _EXTENDED:
            more = data[start] << 8
            start += 2
        if version == 4:  # of the path before so many letters fall away
            gone, start = _number(data, start)
            end = data.index(0, start)
            path = path[: len(path) - gone] + data[start:end]
            after = end + 1
        else:
            length = flags & _LENGTH
            end = start + length if length < _LENGTH else data.index(0, start)
            path = data[start:end]
            after = place + ((end - place + 8) & ~7)
        mode = int.from_bytes(data[place + _MODE : place + _MODE + 4], "big")
        in_tree = not (flags & _STAGE or more & _INTENDED)
        staged.append(_Staged(path, mode, data[place + _STAT : at], in_tree))
        place = after
    return staged, place


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, and what follows it."""
    value = data[place] & 0x7F
    while data[place] & 0x80:
        place += 1
        value = (value + 1) << 7 | data[place] & 0x7F
    return value, place + 1


def _trees(staged: Iterable[_Staged], oid_bytes: int) -> dict[bytes, _Tree]:
    """Each directory as git would write it, by its path with ``/`` at its end. Raises
    ``ValueError`` where files are not in their order."""
    found: dict[bytes, _Tree] = {}
    root = _Directory(b"")
    open_ones = [root]

    def close() -> None:
        done = open_ones.pop()
        if done.path in found:
            raise ValueError("a directory comes twice")
        found[done.path] = tree = done.written(oid_bytes)
        if open_ones:
            open_ones[-1].take(done.path, tree)

    for path, mode, oid, in_tree in staged:
        while not path.startswith(open_ones[-1].path):
            close()
        whole = mode == _DIRECTORY
        last = len(path) - whole  # up to here it names directories that others may share
        below = path.find(b"/", len(open_ones[-1].path), last)
        while below >= 0:
            open_ones.append(_Directory(path[: below + 1]))
            below = path.find(b"/", below + 1, last)
        directory = open_ones[-1]
        if whole:
            if path in found:
                raise ValueError("a directory comes twice")
            found[path] = tree = _Tree(1, oid if in_tree else None)
            directory.take(path, tree)
            continue
        directory.files += 1
        directory.whole = directory.whole and in_tree
        directory.lines.append(b"%o %b\0%b" % (mode, path[len(directory.path) :], oid))
    while open_ones:
        close()
    return found


class _Directory:
    """A directory of which the files are being gathered."""

    def __init__(self, path: bytes) -> None:
        self.path = path
        self.files = 0
        self.whole = True
        self.lines: list[bytes] = []

    def take(self, path: bytes, tree: _Tree) -> None:
        """Take up one that is in it."""
        self.files += tree.files
        self.whole = self.whole and tree.oid is not None
        self.lines.append(b"40000 %b\0%b" % (path[len(self.path) : -1], tree.oid or b""))

    def written(self, oid_bytes: int) -> _Tree:
        """What git would write."""
        body = b"".join(self.lines)
        oid = _digest(b"tree %d\0%b" % (len(body), body), oid_bytes) if self.whole else None
        return _Tree(self.files, oid)


def _told(said: bytes, oid_bytes: int) -> dict[bytes, _Tree]:
    """The trees that an extension tells of, by path; what it does not know it does not tell.
    Raises ``ValueError`` and ``IndexError``."""
    found: dict[bytes, _Tree] = {}
    above: list[tuple[bytes, int]] = []  # how many are still to come of what is below each
    place = 0
    while True:
        end = said.index(0, place)
        name = said[place:end]
        line = said.index(b"\n", end)
        numbers = _NUMBERS.fullmatch(said, end + 1, line)
        if numbers is None:
            raise ValueError("it tells of trees in other words than git does")
        files, below = int(numbers[1]), int(numbers[2])
        place = line + 1
        path = above[-1][0] + name + b"/" if above else name
        if path in found or bool(name) != bool(above):
            raise ValueError("it tells of trees where there are none")
        if files >= 0:
            found[path] = _Tree(files, said[place : place + oid_bytes])
            place += oid_bytes
        above.append((path, below))
        while above and not above[-1][1]:
            above.pop()
        if not above:
            break
        above[-1] = (above[-1][0], above[-1][1] - 1)
    if place != len(said):
        raise ValueError("it goes on after its last tree")
    return found


def _digest(data: bytes, oid_bytes: int) -> bytes:
    if oid_bytes == SHA256_BYTES:
        return hashlib.sha256(data).digest()
    return hashlib.sha1(data, usedforsecurity=False).digest()
