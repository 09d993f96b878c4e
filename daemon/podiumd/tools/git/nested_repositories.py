"""Repositories that lie within a working tree: submodules, projects side by side in a folder, what
tools have fetched, and directories that are laid out as one without a ``.git``."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

from podiumd.tools.files.bare_layout import is_layout
from podiumd.tools.files.owner_rights import entries_of, status_of
from podiumd.tools.git.waits import READ_BY_GIT, would_wait

MOST_DIRECTORIES: Final = 100_000
"""Directories that are looked into; the nearer ones first."""
_SETTLED_NS: Final = 2_000_000_000


class Repositories(NamedTuple):
    """``gits`` are their ``.git``, a directory, a file or a link; ``laid_out`` the directories
    that are one themselves; the nearer ones first. ``whole``: the tree has no more directories
    than are looked into. ``shut`` are those that cannot be. ``waiting`` are what git would wait at
    for ever."""

    gits: tuple[Path, ...] = ()
    laid_out: tuple[Path, ...] = ()
    whole: bool = True
    shut: tuple[Path, ...] = ()
    waiting: tuple[Path, ...] = ()


class _Directory(NamedTuple):
    changed: int
    below: tuple[str, ...]
    has_git: bool
    laid_out: bool
    unusual: tuple[str, ...]
    """Entries that git reads there and that are no files: a pipe, or a link to what may become
    one."""


class RepositoryLook:
    """Looks through one tree, again and again: into directories that have changed since alone.

    The time of a change is the kernel's, which nothing in a sandbox can set.
    """

    def __init__(self, root: Path, most: int = MOST_DIRECTORIES) -> None:
        self._root = f"{root}"
        self.most = most
        self._known: dict[str, _Directory] = {}
        self._looked = 0

    def look(self) -> Repositories:
        """Find them. Blocks. Links are not followed; the root's own ``.git`` is none of them."""
        began, seen = time.time_ns(), dict[str, _Directory]()
        gits: list[Path] = []
        laid_out: list[Path] = []
        shut: list[Path] = []
        waiting: list[Path] = []
        left = deque([self._root])
        while left and len(seen) < self.most:
            path = left.popleft()
            try:
                found = self._directory(path)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone meanwhile
            except OSError:
                shut.append(Path(path))
                continue
            seen[path] = found
            if found.has_git and path != self._root:
                gits.append(Path(path, ".git"))
            if found.laid_out:
                laid_out.append(Path(path))
            waiting.extend(one for name in found.unusual if would_wait(one := Path(path, name)))
            left.extend(f"{path}/{name}" for name in found.below)
        self._known, self._looked = seen, began
        return Repositories(tuple(gits), tuple(laid_out), not left, tuple(shut), tuple(waiting))

    def _directory(self, path: str) -> _Directory:
        changed = status_of(path).st_ctime_ns
        known = self._known.get(path)
        # A directory that changed just before the look may have changed after it within one tick.
        if known is not None and changed == known.changed < self._looked - _SETTLED_NS:
            return known
        names, below, unusual = set[str](), [], []
        for entry in entries_of(path):
            names.add(entry.name)
            if entry.name in READ_BY_GIT and not entry.is_file(follow_symlinks=False):
                unusual.append(entry.name)
            if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
        has_git, laid_out = ".git" in names, is_layout(names)
        return _Directory(changed, tuple(below), has_git, laid_out, tuple(sorted(unusual)))
