"""Repositories that lie within a working tree: submodules, projects side by side in a folder, what
tools have fetched, and directories that are laid out as one without a ``.git``."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

MOST_DIRECTORIES: Final = 100_000
"""Directories that are looked into; the nearer ones first."""
_SETTLED_NS: Final = 2_000_000_000


class Repositories(NamedTuple):
    """``gits`` are their ``.git``, a directory, a file or a link; ``laid_out`` the directories
    that are one themselves; the nearer ones first. ``whole``: the tree has no more directories
    than are looked into."""

    gits: tuple[Path, ...] = ()
    laid_out: tuple[Path, ...] = ()
    whole: bool = True


class _Directory(NamedTuple):
    changed: int
    below: tuple[str, ...]
    has_git: bool
    laid_out: bool


class RepositoryLook:
    """Looks through one tree, again and again: into directories that have changed since alone.

    The time of a change is the kernel's, which nothing in a sandbox can set.
    """

    def __init__(self, root: Path, most: int = MOST_DIRECTORIES) -> None:
        self._root = f"{root}"
        self._most = most
        self._known: dict[str, _Directory] = {}
        self._looked = 0

    def look(self) -> Repositories:
        """Find them. Blocks. Links are not followed; the root's own ``.git`` is none of them."""
        began, seen = time.time_ns(), dict[str, _Directory]()
        gits: list[Path] = []
        laid_out: list[Path] = []
        left = deque([self._root])
        while left and len(seen) < self._most:
            path = left.popleft()
            try:
                found = self._directory(path)
            except OSError:
                continue
            seen[path] = found
            if found.has_git and path != self._root:
                gits.append(Path(path, ".git"))
            if found.laid_out:
                laid_out.append(Path(path))
            left.extend(f"{path}/{name}" for name in found.below)
        self._known, self._looked = seen, began
        return Repositories(tuple(gits), tuple(laid_out), not left)

    def _directory(self, path: str) -> _Directory:
        changed = os.lstat(path).st_ctime_ns
        known = self._known.get(path)
        # What changed just before it was looked into may have changed after it within one tick.
        if known is not None and changed == known.changed < self._looked - _SETTLED_NS:
            return known
        names, below = set[str](), []
        with os.scandir(path) as entries:
            for entry in entries:
                names.add(entry.name)
                if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
        has = names.issuperset
        laid_out = has(("HEAD", "commondir")) or has(("HEAD", "objects", "refs"))
        return _Directory(changed, tuple(below), ".git" in names, laid_out)
