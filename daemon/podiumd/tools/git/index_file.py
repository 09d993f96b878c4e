"""Reads the file of an index, for the part in which git believes its writer. Pure.

Git keeps there, by directory, which tree it has last written (the extension ``TREE``). Where that
is the tree of the commit it takes the directory for unchanged, and never looks at what is staged in
it. The format is in gitformat-index(5).

The writer may have made it so that a few bytes stand for many (a name may be given by the one
before it), or so that git reads other names than it seems to have. So decoding is bounded, work and
memory grow with the file alone, and data that git never writes is not read at all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

SHA1_BYTES: Final = 20
SHA256_BYTES: Final = 32
TREES: Final = b"TREE"
MOST_NAME: Final = 4096
"""Bytes of one path: no system that git runs on opens a longer one."""
MOST_NAMES: Final = 256 * 1024 * 1024
"""Bytes of all paths together, of which an index of version 4 may hold few itself."""
MOST_TREES: Final = 200_000
"""Directories that an index may list; the largest trees that we know have half as many."""
_MOST_EXTENSIONS: Final = 32
_PREFIXED: Final = 4
"""The version in which a path is written relative to the one before it."""
SPLIT: Final = b"link"
_OFFSETS: Final = frozenset((b"EOIE", b"IEOT"))
"""They lead git to other places of the file than where it comes by reading on."""
_NUMBERS: Final = re.compile(rb"(-1|\d{1,9}) (\d{1,9})")
_HEAD: Final = 12
_STAT: Final = 40
_MODE: Final = 24
_EXTENDED, _STAGE, _LENGTH = 0x4000, 0x3000, 0x0FFF
_INTENDED: Final = 0x2000
_KIND: Final = 0o170000
_DIRECTORY: Final = 0o040000
"""The mode of a directory that a sparse index has in place of its files."""
_KINDS: Final = frozenset((0o100000, 0o120000, 0o160000))


class _Staged(NamedTuple):
    """A file in the index, or a whole directory, whose path ends with ``/``. ``in_tree``: git can
    write it into one, which it cannot where there is a conflict, or no more than the intent to add
    it. ``after`` is where the next begins."""

    path: bytes
    mode: int
    oid: bytes
    in_tree: bool
    after: int


class _Index(NamedTuple):
    """The end of an index's files, and its extensions in their order."""

    end: int
    extensions: list[tuple[bytes, bytes]]


class _Told:
    """A directory as the index records it: its number of files, and its id."""

    def __init__(self, files: int, oid: bytes, length: int) -> None:
        self.files = files
        self.oid = oid
        self.length = length
        self.below: dict[bytes, _Told] = {}


def trees_hold(data: bytes, oid_bytes: int) -> bool:
    """Return whether an index's record of trees is true: each is that of its files there.

    Also ``False`` where that cannot be decided from this file alone.
    """
    if TREES not in data:  # looked for in the whole: the files before it take long
        return True
    try:
        index = _read(data, oid_bytes)
        said = [body for name, body in index.extensions if name == TREES]
        if not said:
            return True
        if any(name == SPLIT for name, _ in index.extensions):
            return False  # the other files are in another
        [one] = said
        told, count = _told(one, oid_bytes)
        return _held(data, oid_bytes, told) == count
    except (ValueError, IndexError, MemoryError):
        return False


def without_trees(data: bytes, oid_bytes: int) -> bytes:
    """Remove the record of trees from an index. Raises ``ValueError`` where it cannot be read."""
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


def unfit(data: bytes, oid_bytes: int) -> str:
    """Return why git must not read an index; else nothing.

    Its few bytes stand for more than there is room for, or git has never written it. Git itself
    reports what is wrong with others.
    """
    if data[:8] != b"DIRC" + _PREFIXED.to_bytes(4, "big"):
        return ""
    try:
        for _ in _files(data, oid_bytes):
            pass
    except ValueError as error:
        return f"{error}"
    except IndexError:
        return "it ends too early"
    return ""


def _version(data: bytes) -> int:
    """Read the version. Raises ``ValueError``."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, _PREFIXED):
        raise ValueError("it is none of a version that is known")
    return version


def _read(data: bytes, oid_bytes: int) -> _Index:
    """Parse the index. Raises ``ValueError`` and ``IndexError``."""
    place = _HEAD
    for file in _files(data, oid_bytes):
        place = file.after
    end, extensions = place, list[tuple[bytes, bytes]]()
    while place < len(data) - oid_bytes:
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "big")
        extensions.append((name, data[place + 8 : place + 8 + size]))
        place += 8 + size
        if len(extensions) > _MOST_EXTENSIONS:
            raise ValueError("it has more extensions than there are")
    if place != len(data) - oid_bytes:
        raise ValueError("it does not end where it says")
    if not _OFFSETS.isdisjoint(name for name, _ in extensions):
        raise ValueError("it is not to be read from its beginning to its end")
    return _Index(end, extensions)


def _files(data: bytes, oid_bytes: int) -> Iterator[_Staged]:
    """Read the files one by one, as git does and as it writes them. Raises ``ValueError`` and
    ``IndexError``."""
    version, place, path, stage, total = _version(data), _HEAD, b"", -1, 0
    for _ in range(int.from_bytes(data[8:12], "big")):
        at = place + _STAT + oid_bytes
        flags = data[at] << 8 | data[at + 1]
        start = at + 2
        more = 0
        if flags & _EXTENDED:
            more = data[start] << 8
            start += 2
        before, last, stage = path, stage, flags & _STAGE
        length = flags & _LENGTH
        shared = 0
        if version == _PREFIXED:  # of the path before so many letters fall away
            gone, start = _number(data, start)
            shared = len(before) - gone
            if shared < 0:
                raise ValueError("a name goes on from more than the one before it has")
        end = start + length - shared if length < _LENGTH else data.index(0, start)
        path = _path(before[:shared], data, start, end, length)
        # The files of a split index that stand for others have no names, and come first.
        if (path or before) and (path, stage) <= (before, last):
            raise ValueError("its files are not in their order")
        total += len(path)
        if total > MOST_NAMES:
            raise ValueError(f"its names have more than {MOST_NAMES} bytes together")
        after = end + 1 if version == _PREFIXED else place + ((end - place + 8) & ~7)
        mode = int.from_bytes(data[place + _MODE : place + _MODE + 4], "big")
        in_tree = not (stage or more & _INTENDED)
        yield _Staged(path, mode, data[place + _STAT : at], in_tree, after)
        place = after


def _path(shared: bytes, data: bytes, start: int, end: int, length: int) -> bytes:
    """Read the path of a file that claims to have ``length`` bytes. Raises ``ValueError``.

    Git goes by that number where it is below the greatest, else by the first NUL: both must agree.
    """
    if not start <= end <= start + MOST_NAME - len(shared):
        raise ValueError(f"it has a name of more than {MOST_NAME} bytes, or of less than none")
    if data[end] or data.find(0, start, end) >= 0:
        raise ValueError("a name has another length than it says")
    path = shared + data[start:end]
    if min(len(path), _LENGTH) != length:
        raise ValueError("a name has another length than it says")
    return path


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Read a number of as many bytes as it needs, and return where it ends.

    Raises ``ValueError`` where it is more than a name can have.
    """
    value = data[place] & 0x7F
    while data[place] & 0x80:
        place += 1
        value = (value + 1) << 7 | data[place] & 0x7F
        if value > MOST_NAME:
            raise ValueError("a name goes on from more than the one before it has")
    return value, place + 1


def _held(data: bytes, oid_bytes: int, told: _Told) -> int:
    """Count the recorded directories with an id that git would write like that.

    Raises ``ValueError``, also for the first that git would write otherwise, and ``IndexError``.
    """
    walk = _Walk(told, oid_bytes)
    for file in _files(data, oid_bytes):
        walk.take(file)
    return walk.end()


class _Directory:
    """A directory whose files are being gathered: the part of a path from ``start`` to ``end`` is
    its name, with ``/``; ``told`` is the index's record of it."""

    def __init__(self, start: int, end: int, told: _Told | None) -> None:
        self.start = start
        self.end = end
        self.told = told
        self.files = 0
        self.whole = True
        self.body = bytearray()


class _Walk:
    """Goes through files in their order, and compares each directory that it leaves. It holds those
    alone in which it is."""

    def __init__(self, told: _Told, oid_bytes: int) -> None:
        self._oid_bytes = oid_bytes
        self._open = [_Directory(0, 0, told)]
        self._path = self._within = self._passed = b""
        self._same = 0

    def take(self, file: _Staged) -> None:
        """Go on to a file, or to a directory that stands for its files. Raises ``ValueError``."""
        path, whole = file.path, file.mode == _DIRECTORY
        if (
            not path
            or whole != path.endswith(b"/")
            or (not whole and file.mode & _KIND not in _KINDS)
        ):
            raise ValueError("it holds what is neither a file nor a directory")
        if self._passed and path.startswith(self._passed):
            raise ValueError("a directory comes twice")
        if not path.startswith(self._within) or path.find(b"/", len(self._within)) >= 0:
            self._go_to(path)
        self._path = path
        directory = self._open[-1]
        if whole:
            self._passed = path
            told = _below(directory, path[directory.end : -1])
            one = _Directory(directory.end, len(path), told)
            one.files = 1
            self._leave(one, file.oid if file.in_tree else None)
            return
        directory.files += 1
        directory.whole = directory.whole and file.in_tree
        directory.body += b"%o %b\0%b" % (file.mode, path[directory.end :], file.oid)

    def _go_to(self, path: bytes) -> None:
        shared = _shared(self._path, path)
        while self._open[-1].end > shared:
            self._close()
        start = self._open[-1].end
        last = len(path) - 1  # what ends with it has no file in it
        while (slash := path.find(b"/", start, last)) >= 0:
            told = _below(self._open[-1], path[start:slash])
            self._open.append(_Directory(start, slash + 1, told))
            start = slash + 1
        self._within = path[:start]

    def _close(self) -> None:
        done = self._open.pop()
        oid = None
        if done.whole:
            body = bytes(done.body)
            oid = _digest(b"tree %d\0%b" % (len(body), body), self._oid_bytes)
        self._leave(done, oid)

    def _leave(self, done: _Directory, oid: bytes | None) -> None:
        if done.told is not None and done.told.files >= 0:
            if (done.told.files, done.told.oid) != (done.files, oid):
                raise ValueError("it tells of another tree")
            self._same += 1
        if self._open:
            above = self._open[-1]
            above.files += done.files
            above.whole = above.whole and oid is not None
            name = self._path[done.start : done.end - 1]
            above.body += b"40000 %b\0%b" % (name, oid or b"")

    def end(self) -> int:
        """Leave what is still open; return how many recorded directories match their record."""
        while self._open:
            self._close()
        return self._same


def _below(directory: _Directory, name: bytes) -> _Told | None:
    return None if directory.told is None else directory.told.below.get(name)


def _shared(one: bytes, other: bytes) -> int:
    """Count the bytes that both begin with. Compares each byte a few times at most."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _told(said: bytes, oid_bytes: int) -> tuple[_Told, int]:
    """Parse the trees that an extension records, and count those that have an id.

    A tree that it does not know it does not record. Raises ``ValueError`` and ``IndexError``.
    """
    holder = _Told(-1, b"", 0)
    above = [(holder, 1)]  # how many are still to come of what is below each
    place = known = 0
    for _ in range(MOST_TREES):
        parent, left = above.pop()
        if left > 1:
            above.append((parent, left - 1))
        end = said.index(0, place)
        line = said.index(b"\n", end)
        name, numbers = said[place:end], _NUMBERS.fullmatch(said, end + 1, line)
        place = line + 1
        if numbers is None:
            raise ValueError("it tells of trees in other words than git does")
        if name in parent.below or b"/" in name or bool(name) == (parent is holder):
            raise ValueError("it tells of trees where there are none")
        told = _Told(int(numbers[1]), b"", parent.length + len(name) + 1)
        if told.length > MOST_NAME:
            raise ValueError(f"it tells of a tree below more than {MOST_NAME} bytes of names")
        parent.below[name] = told
        if told.files >= 0:
            told.oid = said[place : place + oid_bytes]
            place += oid_bytes
            known += 1
        if int(numbers[2]):
            above.append((told, int(numbers[2])))
        if not above:
            break
    if above or place != len(said):
        raise ValueError("it goes on after its last tree, or without end")
    return holder.below[b""], known


def _digest(data: bytes, oid_bytes: int) -> bytes:
    if oid_bytes == SHA256_BYTES:
        return hashlib.sha256(data).digest()
    return hashlib.sha1(data, usedforsecurity=False).digest()
