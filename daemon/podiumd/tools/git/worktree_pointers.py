"""Corrects what a command has written where a repository keeps a worktree made while it ran.

The records of existing worktrees it cannot write. In a new one ``commondir`` names where all
worktrees keep their settings and hooks, and ``config.worktree`` holds settings for it alone: git
runs what these lead to.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from podiumd.tools.files.owner_rights import entries_of, held, is_removed
from podiumd.tools.git.new_repository import is_harmless_file
from podiumd.tools.git.repository_links import leads_home

_HOME: Final = b"../..\n"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def kept_trees(repositories: Iterable[str]) -> Iterator[str]:
    """Yield the directories where repositories keep their records of worktrees. Blocks."""
    for repository in repositories:
        with suppress(OSError):
            for entry in entries_of(f"{repository}/worktrees"):
                if entry.is_dir(follow_symlinks=False):
                    yield entry.path


def set_right(trees: Iterable[str]) -> dict[str, bool]:
    """Have these belong to the repository that they lie in, with no settings of their own but
    harmless ones. Blocks. Returns what was changed or removed, and whether that is so now."""
    done = dict[str, bool]()
    for tree in trees:
        if not leads_home(tree) and os.path.lexists(f"{tree}/HEAD"):
            done[f"{tree}/commondir"] = _is_led_home(f"{tree}/commondir")
        own = f"{tree}/config.worktree"
        if os.path.lexists(own) and not is_harmless_file(Path(own)):
            done[own] = is_removed(own)
    return done


def _is_led_home(path: str) -> bool:
    with suppress(OSError), held(path) as there:
        if is_removed(path):
            with open(os.open(there, _NEW, 0o644), "wb") as file:
                file.write(_HOME)
            return True
    return False
