"""Whether a directory is laid out as a git repository itself, without a ``.git``, or would be.

Git takes such a directory for a repository, and what it names would run.
"""

from __future__ import annotations

import os
from pathlib import Path


def is_laid_out(directory: str | Path) -> bool:
    """Whether git would take the directory itself for a repository. Blocks for some names.

    Objects and refs may lie where ``commondir`` says.
    """
    if not os.path.lexists(f"{directory}/HEAD"):
        return False
    if os.path.lexists(f"{directory}/commondir"):
        return True
    return os.path.lexists(f"{directory}/objects") and os.path.lexists(f"{directory}/refs")


def laid_out_by(root: Path, path: str) -> str | None:
    """The directory that a file at ``path``, from ``root``, would complete to a repository, or that
    is one already; as a path from there, ``None`` where there is none."""
    *above, name = path.split("/")
    for count in range(len(above) + 1):
        directory = root.joinpath(*above[:count])
        new = (above[count] if count < len(above) else name).casefold()

        def has(known: str, there: Path = directory, new: str = new) -> bool:
            return new == known.casefold() or os.path.lexists(there / known)

        if has("HEAD") and (has("commondir") or (has("objects") and has("refs"))):
            return "/".join(above[:count]) or "."
    return None
