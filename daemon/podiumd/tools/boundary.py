"""What a command in the sandbox may leave in a tree, and what is put right after it.

A boundary is written down before the command begins, so that what was missed in a crash is made up
for at the next start, before any git looks at the tree.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from podiumd.tools.nested_repositories import Repositories, RepositoryLook
from podiumd.tools.new_repository import is_plain
from podiumd.tools.repository_links import odd_entries
from podiumd.tools.sandbox_places import PLACED, Places, is_own_worktree, is_placed, modules_of

RECORD: Final = "boundary.json"
"""The file of a boundary in the directory of its turn."""


SET_ASIDE: Final = "git-set-aside"
"""How the names begin that a ``.git`` gets which may not stay."""


class Tidied(NamedTuple):
    """``removed`` is what may not stay. ``changed`` are settings and hooks of repositories beyond
    the bound of what the sandbox keeps: they stay as the command has left them."""

    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """A tree before a command. ``odd`` are the links and the like in the ``repositories``,
    ``known`` the repositories that there were, ``unkept`` those that are looked at alone, with
    what they are like; the rest as in ``Places``."""

    root: str
    unwanted: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    unkept: dict[str, str] = {}


def boundary_of(places: Places, nested: Repositories) -> Boundary:
    """The boundary of a tree that is as its ``places`` say. Blocks."""
    known = (*nested.gits, *nested.laid_out)
    return Boundary(
        root=places.root,
        unwanted=places.unwanted,
        placed=places.placed,
        repositories=places.repositories,
        odd=tuple(odd_entries(places.repositories)),
        known=(*(f"{one}" for one in known), *places.modules),
        unkept={path: _mark(Path(path)) for path in places.unkept},
    )


def tidy(boundary: Boundary, look: RepositoryLook) -> Tidied:
    """Remove what a command may not leave. Blocks; again is harmless.

    A repository that it made, other than a harmless one, is none any more: what is laid out as one
    loses its HEAD, a ``.git`` its name as well. All else in it stays.
    """
    made = [path for path in map(_made, boundary.unwanted) if path is not None]
    made += sorted(odd_entries(boundary.repositories) - set(boundary.odd))
    for path in made:
        _remove(path)
    known = set(boundary.known)
    common = [Path(path) for path in boundary.repositories]
    now = look.look()
    modules = [module for path in common for module in modules_of(path)]
    heads = [path / "HEAD" for path in (*now.laid_out, *modules) if f"{path}" not in known]
    gits = [path for path in now.gits if f"{path}" not in known and not _is_harmless(path, common)]
    for one in (*heads, *gits):
        _disarm(one)
    changed = (path for path, mark in boundary.unkept.items() if _mark(Path(path)) != mark)
    return Tidied((*made, *(f"{path}" for path in (*heads, *gits))), tuple(changed))


def _is_harmless(git: Path, repositories: list[Path]) -> bool:
    """Whether a new ``.git`` runs nothing, or has the settings of a repository that is kept."""
    return is_plain(git) or is_own_worktree(git, repositories)


def _disarm(path: Path) -> None:
    """Take from a repository what makes it one. A ``.git`` goes by another name then: git takes
    one that is none for a fault, of the tree around it too."""
    if path.name == "HEAD" or path.is_symlink() or not path.is_dir():
        _remove(f"{path}")
        return
    _remove(f"{path / 'HEAD'}")
    with suppress(OSError):
        path.rename(tempfile.mkdtemp(prefix=f"{SET_ASIDE}-", dir=path.parent))


class Placeholders:
    """The files that stand where others must not come into being, while commands need them: of
    several at work in one repository the last one takes them away. One for the daemon."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._needed: Counter[str] = Counter()

    def put(self, paths: Iterable[str]) -> None:
        """Put them there. Blocks. Raises ``OSError``; then none is there."""
        done: list[str] = []
        with self._lock:
            try:
                for path in paths:
                    with suppress(FileExistsError), open(path, "xb") as file:
                        file.write(PLACED[Path(path).name])
                    self._needed[path] += 1
                    done.append(path)
            except OSError:
                self._drop(done)
                raise

    def take_away(self, paths: Iterable[str]) -> None:
        """Remove those that no other command needs. Blocks."""
        with self._lock:
            self._drop(paths)

    def _drop(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._needed[path] -= 1
            if self._needed[path] <= 0:
                del self._needed[path]
                # Else git has put something in its place meanwhile: ``sparse-checkout`` does.
                if is_placed(Path(path)):
                    _remove(path)


def write_down(boundary: Boundary, record: Path) -> None:
    """Store a boundary. Blocks until it is on the disk. Raises ``OSError``."""
    draft = record.with_suffix(".draft")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(boundary))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(record)
    above = os.open(record.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(above)
    finally:
        os.close(above)


def make_up_for(record: Path) -> Tidied:
    """Tidy up after a command whose daemon was killed, by what it has written down. Blocks; a
    record that cannot be read is of a command that had not begun."""
    try:
        boundary = msgspec.json.decode(record.read_bytes(), type=Boundary)
    except (OSError, msgspec.DecodeError):
        return Tidied()
    placed = [path for path in boundary.placed if is_placed(Path(path))]
    for path in placed:
        _remove(path)
    tidied = tidy(boundary, RepositoryLook(Path(boundary.root)))
    record.unlink()
    return Tidied((*placed, *tidied.removed), tidied.changed)


def _mark(git: Path) -> str:
    """What git would run in a repository is the same as long as this is: the kernel's own times of
    change, which nothing in a sandbox can set."""
    hooks = sorted(_children(git / "hooks"))
    files = [git / name for name in ("commondir", "config", "config.worktree", "hooks")]
    alone = [] if git.is_dir() and not git.is_symlink() else [git]
    return " ".join(map(_status, (*alone, *files, *hooks)))


def _children(directory: Path) -> list[Path]:
    with suppress(OSError):
        return list(directory.iterdir())
    return []


def _status(path: Path) -> str:
    try:
        status = path.lstat()
    except OSError:
        return "-"
    return f"{status.st_ino}:{status.st_size}:{status.st_ctime_ns}"


def _made(path: str) -> str | None:
    """What was put at a path where nothing was, and may not stay.

    A link in the place of a directory above is what leads there: nothing behind it is touched.
    """
    for one in (*reversed(Path(path).parents), Path(path)):
        if one.is_symlink():
            return f"{one}"
    if not os.path.lexists(path) or (path.endswith("/.git") and is_plain(Path(path))):
        return None
    return path


def _remove(path: str) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            Path(path).unlink()
