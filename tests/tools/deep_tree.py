"""A tree as deep as a command can make one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def deep_tree(top: Path, depth: int) -> Iterator[Path]:
    """Make ``depth`` directories one in the other, each with a file, the deepest closed; what is
    left of them at the end goes, since Python's own ``rmtree`` gets stuck in it."""
    top.mkdir()
    place = os.open(top, os.O_RDONLY)
    try:
        for number in range(depth):
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o400, dir_fd=place))
            os.mkdir("d", 0o500 if number == depth - 1 else 0o700, dir_fd=place)
            below = os.open("d", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
        yield top
    finally:
        os.close(place)
        subprocess.run(["rm", "-rf", "--", top], check=True)
