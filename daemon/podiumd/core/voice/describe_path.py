"""Paths in the words of a command: whether one leads out of a working tree, by its text alone.

Links are not followed: nothing here looks at a disk.
"""

from __future__ import annotations

from typing import Final

_HARMLESS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_KEPT: Final = (".git", ".podium")
"""Directories at a tree's top that are not the project's own files."""


def outside(word: str, tree: str) -> bool:
    """Return whether a word names a place outside of the ``tree`` (an absolute path).

    Git's own or Podium's own files in it count as outside. A word that is no path names nothing
    outside.
    """
    word = word.strip()
    if word in _HARMLESS:
        return False
    if word.startswith("~") or word.casefold().startswith("file:"):
        return True
    inner = inside(word, tree)
    return inner is None or inner[:1] in [(name,) for name in _KEPT]


def inside(path: str, tree: str) -> tuple[str, ...] | None:
    """Return a path's segments below the tree; ``None``: it is not in there."""
    top = _segments(tree)
    base: list[str] = [] if path.startswith("/") else list(top)
    for segment in path.split("/"):
        if segment == "..":
            base = base[:-1]
        elif segment not in ("", "."):
            base.append(segment)
    return tuple(base[len(top) :]) if tuple(base[: len(top)]) == top else None


def _segments(path: str) -> tuple[str, ...]:
    return tuple(segment for segment in path.split("/") if segment not in ("", "."))
