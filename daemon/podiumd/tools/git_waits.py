"""What git reads in a tree by itself, and would wait at for ever where it is no file.

A pipe by such a name can be made by any command.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

READ_BY_GIT: Final = frozenset((".gitattributes", ".gitignore", ".gitmodules"))
WAITS: Final = "git would wait for ever at '{}', which is no file but a pipe or the like: remove it"

_READ_NO_TREE: Final = frozenset(
    ("config", "for-each-ref", "ls-tree", "merge-base", "mktree", "rev-list", "rev-parse",
     "show-ref", "symbolic-ref", "update-ref", "var")
)  # fmt: skip


def reads_tree(command: str) -> bool:
    """Whether a command of git looks at what it reads in a tree by itself."""
    return command not in _READ_NO_TREE


def would_wait(path: str | os.PathLike[str]) -> bool:
    """Whether reading this does not end, or need not: a pipe, a device, a link to one."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def waiting_above(path: str) -> str | None:
    """What git would wait at from ``path`` up to the top of its working tree; the rest is found
    after each command, and by the time that git has."""
    for directory in (Path(path), *Path(path).parents):
        for name in sorted(READ_BY_GIT):
            if would_wait(directory / name):
                return f"{directory / name}"
        if os.path.lexists(directory / ".git"):
            return None
    return None
