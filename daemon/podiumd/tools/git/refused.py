"""The places where no git of ours is run, and the files at which one waits. All functions block."""

from __future__ import annotations

import os
from typing import Final

from podiumd.tools.files.bare_layout import is_laid_out
from podiumd.tools.files.walk import upwards
from podiumd.tools.git.included_files import waiting_settings
from podiumd.tools.git.pinned_settings import Repository, repository_at
from podiumd.tools.git.waits import (
    WAITS,
    reads_tree,
    waiting_above,
    waiting_below,
    waiting_within,
)

BARE: Final = "cannot use bare repository"
"""Git's words, and ours, where a directory is itself laid out as a repository."""


def fault_at(path: str, command: str, repository: Repository | None) -> str:
    """Return why git may not be run there, in the ``repository`` around it; else nothing."""
    bare = bare_above(path)
    if bare is not None:
        return f"{BARE} '{bare}': it holds HEAD, objects and refs without a '.git'"
    waiting = waiting_above(path) if reads_tree(command) else None
    if waiting is None and repository is not None:
        waiting = waiting_settings(repository)
    return WAITS.format(waiting) if waiting else ""


def waits_at(path: str, command: str) -> str | None:
    """Find the file at which a git that does not end waits."""
    found = waiting_below(path) if reads_tree(command) else None
    repository = None if found else repository_at(path)
    if repository is None:
        return found
    return waiting_settings(repository) or waiting_within((repository.directory, repository.common))


def bare_above(path: str) -> str | None:
    """Find the directory that git would take for a repository itself, going up from ``path``.

    Git from 2.38 on refuses it by ``safe.bareRepository``; older ones do not know that.
    """
    for directory in upwards(path):
        if os.path.lexists(f"{directory}/.git"):
            return None
        if is_laid_out(directory):
            return None if directory.endswith("/.git") else directory
    return None
