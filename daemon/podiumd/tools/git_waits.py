"""What git reads in a tree by itself, and would wait at for ever where it is no file.

A pipe by such a name can be made by any command.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from podiumd.tools.walk import walk

READ_BY_GIT: Final = frozenset((".gitattributes", ".gitignore", ".gitmodules", ".mailmap"))
MOST_DIRECTORIES: Final = 100_000
"""Directories that are looked into for what a git waits at that does not end."""
WAITS: Final = "git would wait for ever at '{}', which is no file but a pipe or the like: remove it"

_READ_NO_TREE: Final = frozenset(
    ("commit-tree", "config", "for-each-ref", "ls-tree", "merge-base", "mktree", "rev-list",
     "rev-parse", "show-ref", "symbolic-ref", "update-ref", "var")
)  # fmt: skip


def reads_tree(command: str) -> bool:
    """Whether a command of git looks at what it reads in a tree by itself."""
    return command not in _READ_NO_TREE


def would_wait(path: str | os.PathLike[str]) -> bool:
    """Whether reading this does not end, or need not: a pipe, a device, a link to one. The null
    device ends at once: a link to it is how one is kept empty."""
    try:
        status = Path(path).stat()
        mode = status.st_mode
        if stat.S_ISCHR(mode):
            return status.st_rdev != Path(os.devnull).stat().st_rdev
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def waiting_above(path: str) -> str | None:
    """What git would wait at from ``path`` up to the top of its working tree; what a command leaves
    deeper is found after it, all else where a git does not end: see ``waiting_below``."""
    for directory in (Path(path), *Path(path).parents):
        for name in sorted(READ_BY_GIT):
            if would_wait(directory / name):
                return f"{directory / name}"
        if _has_git(directory):
            return None
    return None


def waiting_below(path: str) -> str | None:
    """What a git in ``path`` waits at, anywhere in its working tree. Blocks; changes no rights."""
    top = next((one for one in (Path(path), *Path(path).parents) if _has_git(one)), Path(path))
    for looked, (directory, below, names) in enumerate(walk(top)):
        if looked == MOST_DIRECTORIES:
            return None
        if ".git" in below:
            below.remove(".git")
        for name in sorted(READ_BY_GIT.intersection(names)):
            if would_wait(Path(directory, name)):
                return f"{Path(directory, name)}"
    return None


def waiting_within(repositories: Iterable[str]) -> str | None:
    """What a git waits at of what it keeps itself, in directories of repositories: objects above
    all, where nobody else looks. Blocks; changes no rights."""
    looked = 0
    for repository in repositories:
        for directory, _, names in walk(repository):
            looked += 1
            if looked > MOST_DIRECTORIES:
                return None
            for name in sorted(names):
                if would_wait(f"{directory}/{name}"):
                    return f"{directory}/{name}"
    return None


def _has_git(directory: Path) -> bool:
    return os.path.lexists(directory / ".git")
