"""Write files for the user's own eyes, under any umask."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` anew, with mode 0600 from its first moment.

    What stood there goes first: a file of another mode would keep it, and a link would lead
    elsewhere. Raises ``OSError``.
    """
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "replace"))
