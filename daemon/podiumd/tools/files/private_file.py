"""Make files that were not there, and files for the user's own eyes, under any umask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO


def new_file(path: str | Path, mode: int = 0o600) -> BinaryIO:
    """Open a file for writing that is not there yet; a link in its place is there.

    Raises ``OSError``.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, mode), "wb")


def write_private(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` anew, with mode 0600 from its first moment.

    What stood there goes first: a file of another mode would keep it, and a link would lead
    elsewhere. Raises ``OSError``.
    """
    path.unlink(missing_ok=True)
    with new_file(path) as file:
        file.write(text.encode("utf-8", "replace"))
