"""Directories laid out as a git repository themselves, without a ``.git``.

Git takes such a directory for a repository, and runs the programs that it names.
"""

from __future__ import annotations

import os
from collections.abc import Set
from pathlib import Path


def is_layout(names: Set[str]) -> bool:
    """Return whether git would take a directory with these names for a repository.

    Objects and refs may lie where ``commondir`` points.
    """
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)


def is_laid_out(directory: str | Path) -> bool:
    """Return whether git would take the directory itself for a repository. Blocks for some names.

    Objects and refs may lie where ``commondir`` points.
    """
    if not os.path.lexists(f"{directory}/HEAD"):
        return False
    if os.path.lexists(f"{directory}/commondir"):
        return True
    return os.path.lexists(f"{directory}/objects") and os.path.lexists(f"{directory}/refs")


def laid_out_by(root: Path, path: str) -> str | None:
    """Find the directory that a file at ``path`` would complete to a repository.

    ``path`` is from ``root``, and so is the result. A directory that is a repository already counts
    too; ``None`` where there is none.
    """
    *above, name = path.split("/")
    for count in range(len(above) + 1):
        directory = root.joinpath(*above[:count])
        new = (above[count] if count < len(above) else name).casefold()

        def has(known: str, there: Path = directory, new: str = new) -> bool:
            return new == known.casefold() or os.path.lexists(there / known)

        if has("HEAD") and (has("commondir") or (has("objects") and has("refs"))):
            return "/".join(above[:count]) or "."
    return None
