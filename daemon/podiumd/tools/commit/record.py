"""The record of a turn's own commit: stored before the branch moves to it.

A commit's own statements prove nothing, for any committer can write the turn's trailer. The record
lies where no command in the sandbox can write.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import trio

from podiumd.tools.files.durable_file import store_file
from podiumd.tools.git.process import GitCall

RECORD: Final = "commit"
"""The file's name in the directory of its turn."""

_ID: Final = re.compile(r"[0-9a-f]{40,64}")


class CommitRecord:
    """The id of the commit that a turn makes, in the file ``path``."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    async def store(self, sha: str) -> None:
        """Store the id, durably. Raises ``OSError``."""
        await trio.to_thread.run_sync(store_file, self._path, sha.encode())

    def forget(self) -> None:
        """Delete the record: the branch did not move to it. Raises ``OSError``."""
        self._path.unlink(missing_ok=True)

    async def made(self, git: GitCall) -> str | None:
        """Return the turn's commit, where the branch has it. Raises ``GitError``, ``OSError``."""
        try:
            sha = await trio.to_thread.run_sync(self._path.read_text)
        except FileNotFoundError:
            return None
        if not _ID.fullmatch(sha):
            return None
        known = await git.run("merge-base", "--is-ancestor", sha, "HEAD")
        return sha if known.returncode == 0 else None
