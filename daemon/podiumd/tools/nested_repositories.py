"""Repositories that lie within a working tree: submodules, or projects side by side in a folder."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

DEEPEST = 4
MOST = 200
_MOST_LOOKED_INTO = 2000
# What tools fetch, and remove and fetch anew as they like.
_HEAPS = frozenset(
    ("node_modules", "vendor", "target", "build", "dist", "site-packages", "venv", "_deps", "Pods")
)


def nested_repositories(root: Path) -> list[Path]:
    """The ``.git`` of each, a directory or a file, the nearer ones first. Blocks.

    Bounded in depth and number; links, hidden directories and heaps of others' code are not
    looked into.
    """
    found: list[Path] = []
    left = deque([(f"{root}", 0)])
    for _ in range(_MOST_LOOKED_INTO):
        if not left:
            break
        directory, depth = left.popleft()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.name == ".git":
                        if depth and not entry.is_symlink():
                            found.append(Path(entry.path))
                    elif (
                        depth < DEEPEST
                        and entry.name[0] != "."
                        and entry.name not in _HEAPS
                        and entry.is_dir(follow_symlinks=False)
                    ):
                        left.append((entry.path, depth + 1))
        except OSError:
            continue
    return found[:MOST]
