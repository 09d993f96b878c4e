"""The boundary of a command in the sandbox: what it may leave in a tree, and what is put right
after it.

A boundary is written down before the command begins, so that what was missed in a crash is made up
for at the next start, before any git looks at the tree.
"""

from __future__ import annotations

import stat
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Set
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from podiumd.tools.confine.places import (
    MOST_MODULES,
    PLACED,
    Places,
    is_own_worktree,
    is_placed,
    modules_of,
)
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.durable_file import store_file
from podiumd.tools.files.owner_rights import held, is_gone, is_removed, make_writable, status_of
from podiumd.tools.files.plain_file import is_directory
from podiumd.tools.files.walk import children
from podiumd.tools.git.nested_repositories import Repositories, RepositoryLook
from podiumd.tools.git.repository_remains import (
    all_within,
    is_plain,
    kept_trees,
    leads_home,
    odd_entries,
    set_right,
)

RECORD: Final = "boundary.json"
"""The file of a boundary in the directory of its turn."""


LEFT: Final = (
    "a command has left what may lead git astray, so no further command and no commit of this turn "
    "is made: {}; put it right yourself, then go on with a new prompt"
)
"""Message to people and the model; what was left stands in it."""

_TOLD = 10
_TREES: Final = "worktrees"

SET_ASIDE: Final = "git-set-aside"
"""How the names begin that a ``.git`` gets which may not stay."""
HEAD_ASIDE: Final = "HEAD.set-aside"
"""The name that its ``HEAD`` gets: a person who made it meanwhile can take both back."""


class Tidied(NamedTuple):
    """``removed`` is what may not stay. ``changed`` are settings and hooks of repositories beyond
    the bound of what the sandbox keeps: they stay as the command has left them. ``left`` says, in
    words, what could not be put right or looked at: no git may run there."""

    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """A tree before a command. ``odd`` are the links and the like in the ``repositories``,
    ``known`` the repositories that there were, and what git would wait at, ``unkept`` those that
    are looked at alone, with what they are like; ``shut`` what could not be looked into, ``whole``
    whether the look came to its end, ``began`` when, in nanoseconds; ``trees`` is what
    the repositories kept of worktrees; the rest as in ``Places``."""

    root: str
    unwanted: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    unkept: dict[str, str] = {}
    shut: tuple[str, ...] = ()
    whole: bool = True
    began: int = 0
    trees: tuple[str, ...] | None = None


def boundary_of(places: Places, nested: Repositories) -> Boundary:
    """Build the boundary of a tree that is as its ``places`` describe. Blocks."""
    known = (*nested.gits, *nested.laid_out, *nested.waiting)
    began, odd = time.time_ns(), odd_entries(places.repositories)
    kept = {*map(str, (*nested.gits, *nested.laid_out)), *places.modules}
    inner = [one for one in sorted(odd.inner - kept) if Path(one).parent.name != _TREES]
    return Boundary(
        root=places.root,
        unwanted=places.unwanted,
        placed=places.placed,
        repositories=places.repositories,
        odd=tuple(odd.entries),
        known=(*(f"{one}" for one in known), *places.modules, *odd.inner),
        unkept={path: _mark(Path(path)) for path in (*places.unkept, *inner)},
        shut=(*map(str, nested.shut), *odd.shut),
        whole=nested.whole and not _are_too_many(places.repositories),
        began=began,
        trees=tuple(kept_trees(places.repositories)),
    )


def tidy(boundary: Boundary, look: RepositoryLook) -> Tidied:
    """Remove what a command may not leave. Blocks; again is harmless.

    A repository that it made, other than a harmless one, is none any more: what is laid out as one
    loses its HEAD, a ``.git`` its name as well. All else in it stays. A pipe in the place of a file
    that git reads by itself goes, too. Nothing counts as removed that is not gone.
    """
    try:
        return _tidied(boundary, look)
    except OSError as error:  # any other fault there: git may not run by chance
        return Tidied(left=(f"{error}",))


def _tidied(boundary: Boundary, look: RepositoryLook) -> Tidied:
    now = look.look()  # first: it gives back the rights that all the rest needs
    odd = odd_entries(boundary.repositories, boundary.began)
    made = [path for path in map(_made, boundary.unwanted) if path is not None]
    made += sorted(odd.entries - set(boundary.odd))
    known = set(boundary.known)
    made += [f"{path}" for path in now.waiting if f"{path}" not in known]
    removed = {path: is_removed(path) for path in made}
    if boundary.trees is not None:
        removed |= set_right(set(kept_trees(boundary.repositories)) - set(boundary.trees))
    common = [Path(path) for path in boundary.repositories]
    crowded = boundary.whole and _are_too_many(boundary.repositories)
    modules = [module for path in common for module in modules_of(path)]
    owners = {*common, *(path for path in modules if f"{path}" in known)}
    inner = [Path(one) for one in sorted(odd.inner) if not _is_worktree(one, owners)]
    laid_out = [*now.laid_out, *modules, *(path for path in inner if path.name != ".git")]
    all_gits = [*now.gits, *(path for path in inner if path.name == ".git")]
    heads = [path / "HEAD" for path in laid_out if f"{path}" not in known]
    gits = [path for path in all_gits if f"{path}" not in known and not _is_harmless(path, common)]
    within = [_disarmed_by(one) for git in gits for one in sorted(all_within(f"{git}").inner)[::-1]]
    removed |= {
        f"{one}": _is_disarmed(one) for one in (*within, *heads, *gits) if not is_gone(f"{one}")
    }
    changed = (path for path, mark in boundary.unkept.items() if _mark(Path(path)) != mark)
    left = [f"'{path}' could not be removed" for path, gone in removed.items() if not gone]
    shut = sorted({*map(str, now.shut), *odd.shut} - set(boundary.shut))
    left += [f"'{path}' could not be looked into" for path in shut]
    if boundary.whole and not now.whole:
        left.append(f"the tree has more than {look.most} directories now, and no more are searched")
    if crowded:
        left.append(f"a repository has {MOST_MODULES} submodules now, and no more are searched")
    gone = (path for path, is_gone in removed.items() if is_gone)
    if len(left) > _TOLD:
        left[_TOLD:] = [f"and {len(left) - _TOLD} more of that kind"]
    return Tidied(tuple(gone), tuple(changed), tuple(left))


def _are_too_many(repositories: Iterable[str]) -> bool:
    """Return whether one has more submodules than are looked for."""
    return any(len(modules_of(Path(path))) >= MOST_MODULES for path in repositories)


def _is_worktree(path: str, repositories: Set[Path]) -> bool:
    """Return whether the path is one of these repositories' records of its own worktrees."""
    tree = Path(path)
    return tree.parent.name == _TREES and tree.parents[1] in repositories and leads_home(path)


def _is_harmless(git: Path, repositories: list[Path]) -> bool:
    """Return whether a new ``.git`` runs nothing, or has the settings of a kept repository."""
    return is_plain(git) or is_own_worktree(git, repositories)


def _disarmed_by(repository: str) -> Path:
    """Return what to remove from a repository in a ``.git`` that is set aside.

    Else its new name would lead git to it.
    """
    path = Path(repository)
    return path if path.name == ".git" else path / "HEAD"


def _is_disarmed(path: Path) -> bool:
    """Take from a repository what makes it one; whether that is gone. A ``.git`` goes by another
    name then: git takes one that is none for a fault, of the tree around it too."""
    if path.name == "HEAD":
        return _is_headless(path)
    if not stat.S_ISDIR(status_of(f"{path}").st_mode):
        return is_removed(f"{path}")
    without_head = _is_headless(path / "HEAD")
    with suppress(OSError), held(f"{path}") as there:
        above = Path(there).parent
        make_writable(f"{above}")
        Path(there).rename(tempfile.mkdtemp(prefix=f"{SET_ASIDE}-", dir=above))
    return without_head and is_gone(f"{path}")


def _is_headless(head: Path) -> bool:
    """Take a ``HEAD`` from its name: a file gets another, all else goes; return whether it went."""
    with suppress(OSError), held(f"{head}") as there:
        if stat.S_ISREG(status_of(there).st_mode):
            make_writable(f"{Path(there).parent}")
            Path(there).rename(Path(there).with_name(HEAD_ASIDE))
    return is_removed(f"{head}")


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
                    with suppress(FileExistsError), held(path) as there, open(there, "xb") as file:
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
                if _is_placed(path):
                    is_removed(path)


def _is_placed(path: str) -> bool:
    """Return whether a placeholder stands there, in a directory that a command has shut as well."""
    with suppress(OSError):
        status_of(path)
    return is_placed(Path(path))


def write_down(boundary: Boundary, record: Path) -> None:
    """Store a boundary. Blocks until it is on the disk. Raises ``OSError``."""
    store_file(record, msgspec.json.encode(boundary))


def close_record(record: Path, left: tuple[str, ...]) -> None:
    """Remove the boundary of a command that is over. Blocks. Raises ``OSError``.

    The list of what was ``left`` is kept for as long as the turn lasts.
    """
    if left:
        store_file(_left_beside(record), msgspec.json.encode(left))
        failpoint("sandbox.left-stored")
    record.unlink(missing_ok=True)


def left_before(record: Path) -> tuple[str, ...]:
    """Read what earlier commands of the turn have left, under a daemon before too. Blocks."""
    try:
        return msgspec.json.decode(_left_beside(record).read_bytes(), type=tuple[str, ...])
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.DecodeError) as error:
        return (f"what it was cannot be read: {error}",)


def _left_beside(record: Path) -> Path:
    return record.with_suffix(".left")


def make_up_for(record: Path) -> Tidied:
    """Tidy up after a command whose daemon was killed, by what it has written down. Blocks.

    A record that cannot be read is of a command that may have left anything: no further one of the
    turn begins, and nothing of it is committed. Raises ``OSError``.
    """
    try:
        boundary = msgspec.json.decode(record.read_bytes(), type=Boundary)
    except FileNotFoundError:  # it had not begun, or is tidied up after
        return Tidied()
    except (OSError, msgspec.DecodeError) as error:
        unknown = (f"what is to be put right after a command cannot be read: {error}",)
        close_record(record, unknown)
        return Tidied(left=unknown)
    placed = [path for path in boundary.placed if _is_placed(path) and is_removed(path)]
    tidied = tidy(boundary, RepositoryLook(Path(boundary.root)))
    close_record(record, tidied.left)
    return tidied._replace(removed=(*placed, *tidied.removed))


def _mark(git: Path) -> str:
    """Build a mark that changes with what git would run in a repository.

    It consists of the kernel's own times of change, which nothing in a sandbox can set.
    """
    hooks = children(git / "hooks")
    files = [git / name for name in ("commondir", "config", "config.worktree", "hooks")]
    alone = [] if is_directory(git) and not git.is_symlink() else [git]
    return " ".join(map(_status, (*alone, *files, *hooks)))


def _status(path: Path) -> str:
    try:
        status = path.lstat()
    except OSError:
        return "-"
    return f"{status.st_ino}:{status.st_size}:{status.st_ctime_ns}"


def _made(path: str) -> str | None:
    """Find what was put at a path where nothing was, and may not stay.

    A link in the place of a directory above is what leads there: nothing behind it is touched.
    """
    for one in (*reversed(Path(path).parents), Path(path)):
        try:
            if stat.S_ISLNK(status_of(f"{one}").st_mode):
                return f"{one}"
        except (FileNotFoundError, NotADirectoryError):
            return None
    return None if path.endswith("/.git") and is_plain(Path(path)) else path
