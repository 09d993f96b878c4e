"""The contents of files that a turn has changed, from before and after, by their digests.

Facts hold digests alone. To commit the turn's own change and nothing else, the bytes themselves
are needed: a person may have had changes of their own in a file, before or since.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path


class Originals:
    """Contents below ``directory``, which is made when needed. All functions block.

    Not flushed to the disk: a content lost in a power cut is one that ``get`` does not know, and
    the file is then left out of the commit.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, data: bytes, digest: str | None = None) -> str:
        """Keep a content and return its SHA-256, ``digest`` where that is known. Raises
        ``OSError``."""
        digest = digest or hashlib.sha256(data).hexdigest()
        path = self._directory / digest
        if not path.exists():
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}")
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
            draft.rename(path)
        return digest

    def path(self, digest: str) -> str:
        """Return where the content of a digest is kept."""
        return str(Path(self._directory, digest).absolute())

    def get(self, digest: str) -> bytes | None:
        """Read the content of a digest; ``None`` where it is missing or not whole."""
        data = None
        with suppress(OSError):
            data = (self._directory / digest).read_bytes()
        return data if data is not None and hashlib.sha256(data).hexdigest() == digest else None
