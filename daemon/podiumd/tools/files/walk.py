"""Walks through a tree that another party has made, however deep it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The processes that read transcripts walk by text alone, and start sooner without it.
    from pathlib import Path


def upwards(path: str) -> Iterator[str]:
    """Yield a path and those above it, as texts: they are asked for before each git."""
    directory = path.rstrip("/")
    while directory:
        yield directory
        directory = directory.rpartition("/")[0].rstrip("/")
    yield "/" if path.startswith("/") else "."


def children(directory: Path) -> list[Path]:
    """List what is in a directory, sorted; nothing where it cannot be read. Blocks."""
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def walk(top: str | os.PathLike[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each directory with the names of those below it and of all else in it, from the top.

    As ``os.walk`` has it, which before Python 3.12 goes as deep into the stack as into the tree:
    names taken out of the second list are not entered, links are not followed, and what cannot be
    read is passed over, also for a path that is too long. Blocks.
    """
    waiting = [os.fspath(top)]
    while waiting:
        directory = waiting.pop()
        below: list[str] = []
        names: list[str] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    (below if _is_directory(entry) else names).append(entry.name)
        except OSError:
            continue
        yield directory, below, names
        waiting += [os.path.join(directory, name) for name in reversed(below)]  # noqa: PTH118


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
