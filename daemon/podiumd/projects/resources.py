"""Files that a person sends from a phone: kept in ``.untethered/resources`` of a directory.

A directory below the home that is not there is made: the apps send to ``~/Downloads`` by default,
which servers do not have.

Every step below the directory that was named goes through the descriptor of the directory above and
follows no link, so that nothing which is put there between a look and an act leads elsewhere. A
file is there whole or not at all. All functions but ``Resources`` block.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import trio

from podiumd.projects.errors import (
    BadContent,
    BadName,
    BadPlace,
    NoSuchFile,
    StorageFailed,
    TooLarge,
)
from podiumd.projects.filenames import checked_name, numbered
from podiumd.projects.places import (
    below,
    existing_directory,
    is_there,
    look,
    named_directory,
    not_there,
)

MOST_BYTES = 100 * 1024 * 1024
MOST_LISTED = 1000
FOLDER = (".untethered", "resources")
_IGNORED = (".gitignore", b"*\n")
"""Stands beside the folder where it was made in a repository: a file sent from a phone is not the
repository's, and no ``git status`` should list it. A person may remove it."""
_PIECE = 1024 * 1024  # of base64, a multiple of four characters
_DRAFT = ".upload-"
_DRAFT_SECONDS = 60 * 60.0
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A stored file. ``path`` is absolute, ``relative_path`` from the storage location.

    ``size`` is in bytes; ``timestamp`` is when it was stored, RFC 3339 in UTC without a fraction
    (the apps read no other).
    """

    filename: str
    path: str
    relative_path: str
    size: int
    timestamp: str


class Resources:
    """Uploads, for tasks: each call works in a thread.

    ``home`` is what ``~`` stands for in a storage location. Every method raises ``BadPlace`` for
    one that is no absolute path of a directory or that a link leads out of, and
    ``StorageFailed`` where the disk refuses. Only ``put`` makes one that is not there, and only
    below the home.
    """

    def __init__(
        self, home: Path, wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._home = home
        self._wall = wall

    async def put(self, storage_location: str, filename: str, content: bytes) -> Resource:
        """Store a file; one whose name is taken gets the time added to it.

        Raises ``BadName`` and ``TooLarge`` (over 100 MB) too.
        """
        _check_size(len(content))
        return await self._put(storage_location, filename, (content,))

    async def put_base64(self, storage_location: str, filename: str, content: str) -> Resource:
        """Store a file that comes in base64. Raises ``BadContent`` too."""
        checked_name(filename)
        await trio.to_thread.run_sync(check_base64, content)
        return await self._put(storage_location, filename, decoded(content))

    async def _put(
        self, storage_location: str, filename: str, content: Iterable[bytes]
    ) -> Resource:
        place = named_directory(storage_location, self._home)
        names: tuple[str, ...] | None = None
        if not await is_there(place):
            names = below(place, self._home)
            if names is None:
                raise not_there(storage_location)
        return await trio.to_thread.run_sync(store, place, filename, content, self._wall(), names)

    async def list(self, storage_location: str) -> list[Resource]:
        """List the stored files, newest first, at most 1000; a missing place has none."""
        place = named_directory(storage_location, self._home)
        if await is_there(place):
            return await trio.to_thread.run_sync(listed, place)
        if await look(place, lambda: os.path.lexists(place)):
            raise not_there(storage_location)
        return []

    async def delete(self, storage_location: str, filename: str) -> Resource:
        """Delete a stored file and return what it was. Raises ``BadName``, ``NoSuchFile``."""
        place = await existing_directory(storage_location, self._home)
        return await trio.to_thread.run_sync(delete, place, filename)


def check_base64(content: str) -> None:
    """Check that ``decoded`` accepts the text. Raises ``BadContent``, ``TooLarge``."""
    _check_size(len(content) // 4 * 3 - content.count("=", -2))
    if len(content) % 4:
        raise _no_base64()
    for _ in decoded(content):
        pass


def decoded(content: str) -> Iterator[bytes]:
    """Decode a base64 text piece by piece. Raises ``BadContent``.

    As a whole the bytes and the copies on the way would take several times the memory of the text.
    """
    for at in range(0, len(content), _PIECE):
        text = content[at : at + _PIECE]
        try:
            piece = base64.b64decode(text.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            raise _no_base64() from None
        if len(piece) < _PIECE // 4 * 3 and at + _PIECE < len(content):  # it has an end within
            raise _no_base64()
        yield piece


def _no_base64() -> BadContent:
    return BadContent("The content of the file is no valid base64.")


def store(
    place: Path,
    filename: str,
    content: Iterable[bytes],
    now: datetime,
    names: tuple[str, ...] | None = None,
) -> Resource:
    """Store a file in ``place``; with ``names``, which are its last ones, those are made.

    Raises ``BadName``, ``BadPlace``, ``StorageFailed``, and what comes out of ``content``; then
    nothing is stored.
    """
    name = checked_name(filename)
    stamp = f"{now.astimezone(UTC):%Y%m%d%H%M%S}"
    with _folder(place, make=True, names=names) as folder:
        _remove_old_drafts(folder)
        draft = f"{_DRAFT}{secrets.token_hex(16)}"
        try:
            _write(folder, draft, content)
            taken = 0
            final = name
            while not _publish(folder, draft, final):
                taken += 1
                final = numbered(name, stamp, taken)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
        os.fsync(folder)
        return _resource(place, final, os.stat(final, dir_fd=folder, follow_symlinks=False))


def listed(place: Path) -> list[Resource]:
    """List the files in ``place``, newest first, without links, directories and odd names."""
    found = []
    try:
        with _folder(place, make=False) as folder, os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError, BadName):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and checked_name(entry.name) == entry.name:
                        found.append((status.st_mtime_ns, entry.name, status))
    except NoSuchFile:
        return []
    found.sort(key=lambda one: one[:2], reverse=True)
    return [_resource(place, name, status) for _, name, status in found[:MOST_LISTED]]


def delete(place: Path, filename: str) -> Resource:
    """Delete a file stored in ``place``. Raises as ``Resources.delete`` does."""
    name = checked_name(filename)
    with _folder(place, make=False) as folder:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise BadName(f"'{name}' is no file that was stored, so it is not deleted.")
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            raise NoSuchFile(f"There is no file '{name}' in '{place}'.") from None
        os.fsync(folder)
        return _resource(place, name, status)


@contextmanager
def _folder(place: Path, *, make: bool, names: tuple[str, ...] | None = None) -> Iterator[int]:
    """Open the folder for files in ``place``, whose last ``names`` are to be made.

    Raises ``NoSuchFile`` where it is not there and not to be made. An ``OSError`` in the block
    becomes ``StorageFailed``.
    """
    opened: list[int] = []
    last = (place.name or ".",) if names is None else names
    above = place.parents[len(last) - 1] if place.name else place
    try:
        opened.append(os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for name in last:
            opened.append(_enter(name, opened[-1], make=names is not None))
        opened.append(_enter(FOLDER[0], opened[-1], make=make))
        # What a person has there already is theirs to ignore or not.
        first = _IGNORED if make and _is_empty(opened[-1]) else None
        opened.append(_enter(FOLDER[1], opened[-1], make=make, first=first))
        yield opened[-1]
    except OSError as error:
        raise StorageFailed(f"The files of '{place}': {error.strerror}.") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _enter(name: str, above: int, *, make: bool, first: tuple[str, bytes] | None = None) -> int:
    """Open a directory; with ``make`` it is made where it is not there, with a file ``first``
    beside it."""
    if make:
        with suppress(FileExistsError):
            if first is not None and not _is_there(name, above):
                with suppress(FileExistsError):
                    _write(above, first[0], [first[1]])
            os.mkdir(name, 0o700, dir_fd=above)
            os.fsync(above)
    try:
        return os.open(name, _DIRECTORY, dir_fd=above)
    except FileNotFoundError:
        raise NoSuchFile(f"There are no files: '{name}' is not there.") from None
    except OSError as error:
        # ENOTDIR or ELOOP, as the system likes.
        status = os.stat(name, dir_fd=above, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise BadPlace(f"'{name}' is a link; name the real directory.") from error
        if not stat.S_ISDIR(status.st_mode):
            raise BadPlace(f"'{name}' is no directory.") from error
        raise


def _is_empty(folder: int) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def _is_there(name: str, above: int) -> bool:
    try:
        os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write(folder: int, name: str, content: Iterable[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        file.writelines(content)
        file.flush()
        os.fsync(file.fileno())


def _publish(folder: int, draft: str, name: str) -> bool:
    """Give the draft its name; return ``False`` where that is taken by anything."""
    try:
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    return True


def _remove_old_drafts(folder: int) -> None:
    """Remove what a daemon that was killed in the middle of an upload left."""
    oldest = time.time() - _DRAFT_SECONDS
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_DRAFT):
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(entry.name, dir_fd=folder)


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise TooLarge(f"The file is larger than {MOST_BYTES // 1024 // 1024} MB.")


def _resource(place: Path, name: str, status: os.stat_result) -> Resource:
    relative = "/".join([*FOLDER, name])
    stored = datetime.fromtimestamp(int(status.st_mtime), UTC)
    return Resource(
        filename=name,
        path=f"{place}/{relative}",
        relative_path=relative,
        size=status.st_size,
        timestamp=stored.isoformat().replace("+00:00", "Z"),
    )
