"""The paths in a working tree that git does not look at: ignored files, and repositories in it.

Such a file is no new one because the rules change that kept git from it: a file that existed before
a command, a turn or a run was not made by it. A directory stands for all below it and has a ``/``
at its end; a lone ``/`` is the whole tree. Paths are from the tree's top.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

LISTED: Final = "--ignored=matching"
"""Has ``git status`` list what is ignored, without a walk of directories that are so as a whole."""
IGNORED: Final = b"! "
MOST_KEPT: Final = 1000
"""Paths that a run remembers one by one as passed over when it began."""


def path_passed_over(entry: bytes) -> bytes:
    """Parse the path in an entry of ``status --porcelain=v2`` that git passes over.

    These are ignored paths, and repositories of their own; empty for another entry.
    """
    told = entry.startswith(IGNORED) or (entry.startswith(b"? ") and entry.endswith(b"/"))
    return entry[2:] if told else b""


def covers(there: Collection[str], path: str) -> bool:
    """Return whether the path is one of those, or below one."""
    if not there:
        return False
    parts = path.split("/")
    above = ("/".join(parts[:count]) + "/" for count in range(len(parts)))
    return path in there or any(directory in there for directory in above)


def bounded(there: Iterable[str], most: int = MOST_KEPT) -> list[str]:
    """Return the paths, or where they are more than ``most``, directories that cover them.

    Directories higher up stand for what is below them: rather too much counts as another's than too
    little.
    """
    kept = set(there)
    depth = max((path.count("/") for path in kept), default=0)
    while len(kept) > most:
        kept = {_up_to(path, depth) for path in kept}
        depth -= 1
    return sorted(kept)


def _up_to(path: str, depth: int) -> str:
    parts = path.split("/")
    return path if len(parts) <= depth else "/".join(parts[:depth]) + "/"
