"""Pins the settings of a repository for one git: it reads what was looked at before.

An agent may write the files that a repository's settings are read from, and exchange them at any
moment. So a git that might run a program gets not only the repository's place, but also a directory
of ours as the one that worktrees share (``GIT_COMMON_DIR``): settings as they were looked at,
without those that name a program, and links to all else. Only the daemon writes there.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from podiumd.tools.files.plain_file import is_directory, named_in
from podiumd.tools.files.walk import upwards
from podiumd.tools.git.settings import names_program

MOST_ENTRIES: Final = 1000
"""Entries of the directory that worktrees share; git itself makes a few dozen."""
_NEEDED: Final = (
    "HEAD", "index", "info", "logs", "modules", "objects", "packed-refs", "refs", "shallow",
    "worktrees",
)  # fmt: skip
"""Names that git reads there, and would miss among more entries than those."""

MOST_LISTINGS: Final = 64
MOST_SHARED: Final = 16
_SETTLED_NS: Final = 2_000_000_000
_INCLUDES: Final = re.compile(r"include(if)?\.")
FileStamp = tuple[int, int, int] | None
"""Stamp that changes with a file: its time, inode and size; ``None`` where there is no file."""
Stamp = tuple[FileStamp, ...]

# They lead git to other settings, or are kept apart from them.
_LEFT_OUT: Final = re.compile(
    r"include\..*|includeif\..*|hook\..*|extensions\.worktreeconfig|core\.(worktree|hookspath)",
    re.DOTALL,
)
_OWN: Final = frozenset(("config", "config.worktree", "commondir", "gitdir", "hooks"))
_ESCAPED: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"}
_TRUE: Final = frozenset(("true", "yes", "on", "1"))


class Repository(NamedTuple):
    """The place of a repository: its own directory, the one that its worktrees share, and the
    working tree around it."""

    directory: str
    common: str
    top: str


def repository_at(path: str) -> Repository | None:
    """Find the repository that ``path`` lies in, as git does; ``None`` outside of any.

    Blocks for some names.
    """
    for top in upwards(f"{Path(path).absolute()}"):
        link = os.path.join(top, ".git")  # noqa: PTH118 - often
        if not os.path.lexists(link):
            continue
        inside = is_directory(link)
        directory = link if inside else _named_by(top, link)
        if directory is None:
            return None
        common = _common(directory)
        if all(map(os.path.lexists, (f"{directory}/HEAD", f"{common}/objects"))):
            return Repository(directory, common, top)
        if not inside:
            return None
    return None


def _named_by(top: str, link: str) -> str | None:
    try:
        return f"{Path(top, named_in(link))}"
    except (OSError, ValueError):
        return None


def _common(directory: str) -> str:
    try:
        named = named_in(f"{directory}/commondir")
    except (OSError, ValueError):
        return directory
    return os.path.realpath(os.path.join(directory, named))  # noqa: PTH118 - often


def settings_text(listing: bytes) -> bytes:
    """Build a settings file from ``config -z --list``, without programs and further files."""
    lines = []
    for key, value in settings_in(listing):
        if _LEFT_OUT.fullmatch(key) or names_program(key):
            continue
        section, _, rest = key.partition(".")
        inner, _, name = rest.rpartition(".")
        inner = re.sub(r'[\\"]', lambda found: f"\\{found[0]}", inner)
        lines.append(f'[{section} "{inner}"]' if "." in rest else f"[{section}]")
        lines.append(f"\t{name}" if value is None else f'\t{name} = "{_escaped(value)}"')
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def settings_in(listing: bytes) -> Iterator[tuple[str, str | None]]:
    """Parse the settings of a listing; one without a value, which means true, has ``None``."""
    for entry in listing.split(b"\0"):
        key, separator, value = entry.decode("utf-8", "surrogateescape").partition("\n")
        if key:
            yield key, value if separator else None


def _escaped(value: str) -> str:
    return "".join(_ESCAPED.get(letter, letter) for letter in value)


class Listings:
    """Remembers what git has listed, for as long as no file that it is read from has changed.

    What includes further files is asked anew each time. The time of a change is the kernel's.
    """

    def __init__(self) -> None:
        self._known: dict[Repository, tuple[Stamp, bytes]] = {}

    @staticmethod
    def stamp(repository: Repository) -> Stamp:
        """Return the stamps of the files of its settings. Blocks for two names."""
        names = (f"{repository.common}/config", f"{repository.directory}/config.worktree")
        return tuple(map(stamp_of, names))

    def get(self, repository: Repository, now: Stamp) -> bytes | None:
        """Return the listing, where it still holds: the files have the stamp ``now``."""
        stamp, listing = self._known.get(repository, ((), b""))
        return listing if stamp and stamp == now else None

    def keep(self, repository: Repository, stamp: Stamp, listing: bytes) -> None:
        """Remember a listing that was begun after files were like ``stamp``."""
        if is_settled(stamp) and not any(_INCLUDES.match(key) for key, _ in settings_in(listing)):
            if len(self._known) >= MOST_LISTINGS:
                del self._known[next(iter(self._known))]
            self._known[repository] = stamp, listing


def stamp_of(path: str) -> FileStamp:
    """Return a file's stamp. The time of a change is the kernel's. Blocks."""
    try:
        found = os.stat(path)  # noqa: PTH116 - often
    except OSError:
        return None
    return found.st_ctime_ns, found.st_ino, found.st_size


def is_settled(stamps: Iterable[FileStamp]) -> bool:
    """Return whether files of these stamps are settled.

    A file that changed just before may have changed again within one tick.
    """
    return all(one is None or one[0] < time.time_ns() - _SETTLED_NS for one in stamps)


class Pins:
    """Makes what git is given in the place of what worktrees share.

    They lie below ``place``, where no agent writes; by default in a temporary directory. Those that
    only look share one of a repository, which is kept for the next.
    """

    def __init__(self) -> None:
        self._place: Path | None = None
        self._left: list[Path] = []
        self._shared: dict[tuple[Repository, bytes], Pinned] = {}

    def keep_in(self, place: Path) -> None:
        """Make them there from now on. Blocks."""
        self._place = place
        self._shared = {}
        self._left = list(place.iterdir()) if place.is_dir() else []

    def clear(self) -> None:
        """Remove what a killed process has left there, once its gits are over too. Blocks."""
        while self._left:
            shutil.rmtree(self._left.pop(), ignore_errors=True)

    def shared(self, repository: Repository, listing: bytes) -> Pinned | None:
        """Return the directory for a look, where one exists and is as it would be made now.

        Blocks for what is in two directories.
        """
        kept = self._shared.get((repository, listing))
        if kept is None or not kept.is_as_made():
            return None
        kept.users += 1
        return kept

    def make(self, repository: Repository, listing: bytes) -> Pinned:
        """Pin the settings of a repository to those of a listing. Blocks. Raises ``OSError``."""
        if self._place is not None:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix="git-", dir=self._place))
        try:
            (directory / "config").write_bytes(settings_text(listing))
            names = _entries(repository.common)
            for name in names:
                os.symlink(f"{repository.common}/{name}", f"{directory}/{name}")  # noqa: PTH211 - often
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return Pinned(repository, directory, listing, names)

    def let_go(self, pinned: Pinned, *, wrote: bool) -> list[Pinned]:
        """Have one user less of it; returns those that are to be removed then. It is kept for the
        next look where none ``wrote`` there. Blocks for what is in two directories."""
        pinned.users -= 1
        if pinned.users:
            return []
        if self._place is None or wrote or not pinned.is_as_made():
            if self._shared.get(pinned.key) is pinned:
                del self._shared[pinned.key]
            return [pinned]
        before = self._shared.get(pinned.key, pinned)
        if before is not pinned:
            if before.is_as_made():
                return [pinned]
            self._shared[pinned.key] = pinned
            return [] if before.users else [before]
        self._shared[pinned.key] = pinned
        idle = [key for key, one in self._shared.items() if not one.users]
        return [self._shared.pop(key) for key in idle[: max(0, len(self._shared) - MOST_SHARED)]]


class Pinned:
    """The settings of a repository, pinned: ``variables`` are those of a git that reads them, of
    which ``users`` are at work."""

    def __init__(
        self, repository: Repository, directory: Path, listing: bytes, names: frozenset[str]
    ) -> None:
        self.key = repository, listing
        self.users = 1
        self._repository = repository
        self._directory = directory
        self._names = names
        self._whole: Stamp = ()
        """State of both directories when they were last read and all was there."""
        self.variables = {
            "GIT_DIR": repository.directory,
            "GIT_COMMON_DIR": f"{directory}",
            "GIT_WORK_TREE": working_tree(repository, listing),
        }

    def is_as_made(self) -> bool:
        """Return whether it links all that worktrees share now, and nothing else is there."""
        places = self._repository.common, f"{self._directory}"
        stamps = tuple(map(stamp_of, places))
        if stamps == self._whole:
            return True
        try:
            as_made = all(_entries(place) == self._names for place in places)
        except OSError:
            return False
        self._whole = stamps if as_made and is_settled(stamps) else ()
        return as_made

    def remove(self, *, wrote: bool) -> None:
        """Remove it. What a git that ``wrote`` has newly made there goes where it belongs. Blocks.
        Raises ``OSError``."""
        try:
            with os.scandir(self._directory) as entries:
                made = [(one.path, one.name) for one in entries if wrote and not one.is_symlink()]
            for path, name in made:
                target = f"{self._repository.common}/{name}"
                if name not in _OWN and not os.path.lexists(target):
                    shutil.move(path, target)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)


def _entries(directory: str) -> frozenset[str]:
    """List the names in a directory that worktrees share which are linked."""
    with os.scandir(directory) as entries:
        names = {one.name for one in islice(entries, MOST_ENTRIES)}
    if len(names) == MOST_ENTRIES:
        names.update(name for name in _NEEDED if os.path.lexists(f"{directory}/{name}"))
    return frozenset(name for name in names - _OWN if not name.endswith(".lock"))


def is_bare(repository: Repository, listing: bytes) -> bool:
    """Return whether there is no working tree, by the settings of a listing."""
    said = dict(settings_in(listing)).get("core.bare", "false")
    bare = said is None or said.lower() in _TRUE
    return bare and repository.directory == repository.common


def working_tree(repository: Repository, listing: bytes) -> str:
    """Return the working tree by the settings of a listing, for git to use.

    By ``GIT_DIR`` alone git takes the current directory. The settings of a repository with several
    do not name it.
    """
    elsewhere = dict(settings_in(listing)).get("core.worktree")
    if not elsewhere or repository.directory != repository.common:
        return repository.top
    return os.path.normpath(Path(repository.directory, elsewhere))


def tree_apart(repository: Repository, listing: bytes) -> str | None:
    """Return the listing's working tree, where the repository lies in another. Blocks for two
    names."""
    said = working_tree(repository, listing)
    if said == repository.top:
        return None
    return None if os.path.realpath(said) == os.path.realpath(repository.top) else said
