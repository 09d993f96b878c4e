"""The working directory of an agent: nothing outside of it is read or written.

A path is walked from the root one name at a time, each directory opened through the descriptor of
the one above and never through a link, so that nothing which is put there between a look and an
act leads elsewhere. A link is read and its target walked in its place: one that stays inside is
followed, one that leaves is refused. Closed are what git keeps (``.git`` in every spelling that
some file system takes for it), the places named as ``closed``, and all that is no plain file.

Writing is atomic: a draft beside the file, flushed, then given its name. All functions block.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from podiumd.tools.agent.workspace_names import checked_path, is_git, shown
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.bare_layout import laid_out_by

__all__ = ["Changed", "FileContent", "Found", "Missing", "Refused", "Workspace"]

MOST_BYTES = 16 * 1024 * 1024
"""The largest file that is read or written."""
_BLOCK_BYTES = 256 * 1024
_MOST_LINKS = 40  # what Linux allows in one path
# Errors of file systems that have no hard links (exFAT, some in user space).
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}

Found = Literal["planned", "before", "neither"]


class Refused(Exception):
    """Signal that a request is refused; the message gives the reason to the requester."""


class Missing(Refused):
    """There is no such file."""


class Changed(Refused):
    """The file is not what it was when the change was planned."""


class Spot(NamedTuple):
    """The place that a path leads to: a name in an open directory, below ``new`` directories to
    create."""

    above: int
    new: tuple[str, ...]
    name: str
    status: os.stat_result | None
    path: str


class FileContent(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read: ``path`` from the root with links resolved, ``digest`` its SHA-256,
    ``mode`` its permission bits."""

    path: str
    data: bytes
    digest: str
    mode: int


class _Seen(NamedTuple):
    """A file's SHA-256 and permission bits."""

    digest: str
    mode: int


class Workspace:
    """The files below ``root``; see the module.

    Parameters: ``closed`` are directories or files that stay shut wherever they are found;
    ``most_bytes`` is the largest file that is read or written.
    Raises ``Refused`` where the root is no directory, or is closed itself.
    """

    def __init__(
        self, root: str | Path, *, closed: Iterable[Path] = (), most_bytes: int = MOST_BYTES
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.closed = tuple(Path(os.path.realpath(path)) for path in closed)
        self._spellings = tuple(
            {f"{self.root}".rstrip("/"), f"{Path(root).absolute()}".rstrip("/")}
        )
        self._most_bytes = most_bytes
        if not self.root.is_dir():
            raise Refused(f"the working directory {shown(str(root))} is not there")
        if self.root in self.closed or any(is_git(part) for part in self.root.parts):
            raise Refused(f"no agent works in {shown(str(root))}: it is git's or Podium's own")

    def locate(self, path: str) -> str:
        """Return the path from the root with its links resolved, ``/`` between its names.

        The file need not exist. Raises ``Refused`` for a path that may not be opened.
        """
        with self._spot(path) as spot:
            if spot.status is not None:
                _check_plain(spot.status, spot.path)
            return spot.path

    def read(self, path: str) -> FileContent:
        """Read the file at ``path``. Raises ``Missing``, ``Refused``."""
        found = self.find(path)
        if found is None:
            raise Missing(f"there is no file {shown(path)}")
        return found

    def find(self, path: str) -> FileContent | None:
        """Read the file at ``path``; ``None`` where there is none yet. Raises ``Refused``."""
        with self._spot(path) as spot:
            return self._content(spot)

    def digest(self, path: str) -> str | None:
        """SHA-256 of the file at ``path``; ``None`` where there is none. Raises ``Refused``."""
        found = self.find(path)
        return None if found is None else found.digest

    def write(
        self, path: str, data: bytes, *, before: str | None, digest: str | None = None
    ) -> None:
        """Give the file this content, if it is what it was: of the digest ``before``, or absent.

        ``digest`` is that of ``data``, where it is known. Missing directories are made; the mode
        stays. Durable on return. Raises ``Changed`` where
        the file is another by now, ``Refused`` for a path not to be opened or a failing disk; the
        file then is as it was.
        """
        self._check_size(len(data), path)
        with self._spot(path) as spot, on_disk(path):
            self.check_layout(spot.path)
            found = self._seen(spot)
            if (found.digest if found else None) != before:
                raise Changed(f"{shown(path)} was changed since it was read; read it again")
            if found and not found.mode & 0o222:
                raise Refused(f"{shown(path)} is write-protected")
            with _made(spot) as above:
                draft = _draft(spot.name, digest or hashlib.sha256(data).hexdigest())
                self._put(above, spot, data, found, draft)

    def check_layout(self, path: str) -> None:
        """Refuse a ``path`` that would make a directory a git repository.

        Raises ``Refused`` where a file there, with links resolved, would lie in a directory that
        git takes for a repository: git would run what is named there.
        """
        directory = laid_out_by(self.root, path)
        if directory is not None:
            raise Refused(
                f"{shown(path)}: with it {shown(directory)} is laid out as a git repository (HEAD, "
                "objects and refs together), where git would run what it names; use another name"
            )

    def look(self, path: str, *, before: str | None, planned: str | None) -> Found:
        """After a crash: whether the file is as planned, as before, or something else.

        Removes what the crash may have left of the write. Raises ``Refused``.
        """
        with self._spot(path) as spot:
            if not spot.new and planned is not None:
                with suppress(OSError):
                    os.unlink(_draft(spot.name, planned), dir_fd=spot.above)
            found = self._seen(spot)
        now = found.digest if found else None
        if now == planned:
            return "planned"
        return "before" if now == before else "neither"

    def _put(self, above: int, spot: Spot, data: bytes, found: _Seen | None, draft: str) -> None:
        with suppress(FileNotFoundError):  # of an earlier attempt that was killed
            os.unlink(draft, dir_fd=above)
        try:
            with os.fdopen(os.open(draft, _NEW, 0o666, dir_fd=above), "wb") as file:
                file.write(data)
                if found:
                    os.fchmod(file.fileno(), found.mode)
                file.flush()
                os.fsync(file.fileno())
            failpoint("write.before-rename")
            self._publish(above, draft, spot, found)
            failpoint("write.after-rename")
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=above)
        os.fsync(above)

    def _publish(self, above: int, draft: str, spot: Spot, found: _Seen | None) -> None:
        """Give the draft its name, over the very file that was read or over none."""
        changed = Changed(f"{shown(spot.path)} was changed while it was written; read it again")
        if found is None:
            try:
                os.link(draft, spot.name, src_dir_fd=above, dst_dir_fd=above, follow_symlinks=False)
                return
            except FileExistsError:
                raise changed from None
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
        # Between this look and the rename are microseconds: no system call does both.
        now = status_of(spot.name, above)
        if _version(now) != _version(spot.status):
            raise changed
        os.rename(draft, spot.name, src_dir_fd=above, dst_dir_fd=above)

    def _content(self, spot: Spot) -> FileContent | None:
        if spot.status is None:
            return None
        with self._plain(spot, spot.status) as (file, status):
            # A byte more than it has shows that it grew meanwhile.
            size = min(status.st_size, self._most_bytes)
            data = file.read(size + 1)
            if len(data) > size:
                data += file.read(self._most_bytes + 1 - len(data))
        self._check_size(len(data), spot.path)
        digest = hashlib.sha256(data).hexdigest()
        return FileContent(path=spot.path, data=data, digest=digest, mode=_mode(status))

    def _seen(self, spot: Spot) -> _Seen | None:
        """Read what ``_content`` does, without the content: a large file is not held in memory."""
        if spot.status is None:
            return None
        with self._plain(spot, spot.status) as (file, status):
            hashed, size = hashlib.sha256(), 0
            block = memoryview(bytearray(_BLOCK_BYTES))
            while count := file.readinto(block):
                hashed.update(block[:count])
                size += count
                self._check_size(size, spot.path)
        return _Seen(hashed.hexdigest(), _mode(status))

    @contextmanager
    def _plain(
        self, spot: Spot, status: os.stat_result
    ) -> Iterator[tuple[BufferedReader, os.stat_result]]:
        """Open for reading the plain file at a spot that was found to have this status."""
        _check_plain(status, spot.path)
        self._check_size(status.st_size, spot.path)
        with on_disk(spot.path), _opened(spot) as file:
            status = os.fstat(file.fileno())
            _check_plain(status, spot.path)
            if (status.st_dev, status.st_ino) in self._shut():
                raise closed_place(spot.path)
            yield file, status

    def _check_size(self, size: int, path: str) -> None:
        if size > self._most_bytes:
            raise Refused(
                f"{shown(path)} has {size} bytes; files of more than {self._most_bytes} bytes are "
                "neither read nor written"
            )

    @contextmanager
    def _spot(self, path: str) -> Iterator[Spot]:
        """Walk to where ``path`` leads, keeping the directories open for the block."""
        fault = checked_path(path)
        if fault:
            raise Refused(f"the path {shown(path)} {fault}")
        with on_disk(path):
            walk = Walk(os.open(self.root, _DIRECTORY), self._shut())
        try:
            with on_disk(path):
                spot = self._walked(walk, path)
            yield spot
        finally:
            walk.close()

    def _walked(self, walk: Walk, path: str) -> Spot:
        names = deque(self._inside(path, path))
        if path.endswith("/"):
            names.clear()
        links = 0
        while names:
            name = names.popleft()
            if name == "..":
                walk.up(path)
                continue
            status = walk.look(name, path)
            if status is not None and stat.S_ISLNK(status.st_mode):
                links += 1
                if links > _MOST_LINKS:
                    raise Refused(f"{shown(path)} goes through too many links")
                target = os.readlink(name, dir_fd=walk.here)
                if target.encode("utf-8", "replace").decode() != target:
                    raise Refused(f"{shown(path)} leads to a name that is not valid Unicode")
                if target.startswith("/"):
                    walk.to_root()
                names.extendleft(reversed(self._inside(target, path)))
            elif names or name == ".":
                walk.enter(name, status, path)
            else:
                below = walk.below_root()
                self._check_named(below, name, path)
                return Spot(walk.here, tuple(walk.new), name, status, "/".join([*below, name]))
        raise Refused(f"{shown(path)} is a directory; name a file")

    def _inside(self, path: str, asked: str) -> list[str]:
        """Split a path or link into names from the root, or from its own place if relative."""
        if path.startswith("/"):
            for root in self._spellings:
                if path == root or path.startswith(f"{root}/"):
                    path = path[len(root) :]
                    break
            else:
                raise Refused(f"{shown(asked)} leads out of the working directory")
        return [name for name in path.split("/") if name not in ("", ".")]

    def _check_named(self, below: list[str], name: str, path: str) -> None:
        target = self.root.joinpath(*below, name)
        if any(target == shut or target.is_relative_to(shut) for shut in self._shut_inside()):
            raise closed_place(path)

    def _shut_inside(self) -> list[Path]:
        return [path for path in self.closed if path.is_relative_to(self.root)]

    def _shut(self) -> frozenset[tuple[int, int]]:
        """Return the device and inode of each closed place, however it is spelled."""
        found = []
        for path in (*self.closed, self.root / ".git"):
            with suppress(OSError):
                status = path.stat()
                found.append((status.st_dev, status.st_ino))
        return frozenset(found)


def _mode(status: os.stat_result) -> int:
    return stat.S_IMODE(status.st_mode) & 0o777


def _opened(spot: Spot) -> BufferedReader:
    return os.fdopen(os.open(spot.name, _READ, dir_fd=spot.above), "rb")


def _version(status: os.stat_result | None) -> tuple[int, int, int, int] | None:
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_plain(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise Refused(f"{shown(path)} is {kind}, not a file")


def _draft(name: str, digest: str) -> str:
    # The same for the same write: what a killed attempt left is found by the next.
    key = hashlib.sha256(os.fsencode(name) + digest.encode()).hexdigest()
    return f".podium-{key[:20]}.draft"


@contextmanager
def _made(spot: Spot) -> Iterator[int]:
    """Open the directory that the file goes to, and create it where it is missing."""
    opened: list[int] = []
    try:
        for name in spot.new:
            above = opened[-1] if opened else spot.above
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=above)
                os.fsync(above)
            opened.append(os.open(name, _DIRECTORY, dir_fd=above))
        yield opened[-1] if opened else spot.above
    finally:
        for descriptor in opened:
            os.close(descriptor)


class Walk:
    """The directories from the root to where a path has led so far, all open."""

    def __init__(self, root: int, shut: frozenset[tuple[int, int]]) -> None:
        self._open = [root]
        self._names: list[str] = []
        self._shut = shut
        self.new: list[str] = []

    @property
    def here(self) -> int:
        return self._open[-1]

    def below_root(self) -> list[str]:
        return [*self._names, *self.new]

    def up(self, path: str) -> None:
        """Go back to the directory above. Raises ``Refused`` at the root."""
        if self.new:
            raise Missing(f"{shown(path)} goes through a directory that is not there")
        if not self._names:
            raise Refused(f"{shown(path)} leads out of the working directory")
        os.close(self._open.pop())
        self._names.pop()

    def to_root(self) -> None:
        """Go back to the root, as a link with an absolute target does."""
        for descriptor in self._open[1:]:
            os.close(descriptor)
        del self._open[1:], self._names[:]

    def look(self, name: str, path: str) -> os.stat_result | None:
        if is_git(name):
            raise Refused(f"{shown(path)} is git's own; '.git' is neither read nor written")
        if self.new:
            return None
        status = status_of(name, self.here)
        if status is not None and (status.st_dev, status.st_ino) in self._shut:
            raise closed_place(path)
        return status

    def enter(self, name: str, status: os.stat_result | None, path: str) -> None:
        if status is None:
            self.new.append(name)
            return
        if not stat.S_ISDIR(status.st_mode):
            raise Refused(f"{shown(name)} in {shown(path)} is not a directory")
        descriptor = os.open(name, _DIRECTORY, dir_fd=self.here)
        self._open.append(descriptor)
        self._names.append(name)
        opened = os.fstat(descriptor)
        if (opened.st_dev, opened.st_ino) in self._shut:
            raise closed_place(path)

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)


def closed_place(path: str) -> Refused:
    return Refused(f"{shown(path)} is closed: it is Podium's own")


def status_of(name: str, above: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def on_disk(path: str) -> Iterator[None]:
    """Put what the system says in words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused(f"{shown(path)} changed while it was opened; try again") from error
        raise Refused(f"{shown(path)}: {error.strerror}") from error
