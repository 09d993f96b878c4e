"""Files that are on the disk, whole, before anything is done because of them."""

from __future__ import annotations

import os
from pathlib import Path


def store_file(path: Path, data: bytes) -> None:
    """Write a file, mode 0600, in place of an earlier one: there is always a whole one. Blocks
    until it is on the disk. Raises ``OSError``."""
    draft = path.with_name(f"{path.name}.draft")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Block until the names in a directory are on the disk. Raises ``OSError``."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
