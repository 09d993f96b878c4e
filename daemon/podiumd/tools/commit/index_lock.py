"""Moves the user's index together with the branch: under git's own lock, and through a crash.

As ``git commit`` does it: while ``index.lock`` is held the branch moves, and then what was prepared
becomes the index. The lock names its owner and its commit. So after a crash in between it is known
whether the index is to follow (``settle_index``), and until then git itself keeps all others from
committing by an index that lags behind.
"""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import trio

from podiumd.tools.files.private_file import new_file
from podiumd.tools.git import queries as looking
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError

LOCK_SECONDS: Final = 20.0
"""How long another git is waited for: an editor's refresh takes a moment, ``git commit -a`` as long
as its author writes."""

_LOOK_SECONDS: Final = 0.1
_MOST_WORDS: Final = 256
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS: Final = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK))

HELD: Final = (
    "another git has held '{}' for more than {:g} s. Wait for it to end; if no git runs there, "
    "remove that file. What was changed is in the working tree as it is: commit it yourself"
)


class HeldIndex:
    """The user's index while its lock is ours. ``draft`` is a copy of it, which git may change and
    ``finish`` makes the index."""

    def __init__(self, directory: str, turn_id: str) -> None:
        self._index = Path(directory, "index")
        self._lock = Path(directory, "index.lock")
        self._words = Path(directory, f"podium-lock-{turn_id}")
        self._mark = f"podium {turn_id} "
        self.draft = Path(directory, f"podium-staged-{turn_id}")

    async def take(self, commit: str) -> None:
        """Lock the index for a ``commit``. Raises ``GitError`` where another git does not let go
        of it in time."""
        deadline = trio.current_time() + LOCK_SECONDS
        self.tidy()
        _write(self._words, f"{self._mark}{commit}\n".encode())
        try:
            while not self._taken():
                if trio.current_time() >= deadline:
                    raise GitError(HELD.format(self._lock, LOCK_SECONDS))
                # Git does not notify when it lets go of a lock.
                await trio.sleep(_LOOK_SECONDS)
        finally:
            self._words.unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # nothing was ever staged
            await trio.to_thread.run_sync(lambda: _write(self.draft, _read(self._index)))

    def _taken(self) -> bool:
        """Make the lock with its words in it, at once."""
        try:
            os.link(self._words, self._lock)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            try:
                _write(self._lock, _read(self._words))
            except FileExistsError:
                return False
        return True

    def finish(self) -> None:
        """Make the draft the index, and let go of the lock."""
        self.draft.replace(self._index)
        self._lock.unlink()

    def let_go(self) -> None:
        """Leave the index as it is, and let go of the lock where it is ours."""
        self.tidy()
        if self.commit is not None:
            self._lock.unlink()

    def tidy(self) -> None:
        """Remove what was prepared."""
        self.draft.unlink(missing_ok=True)
        self._words.unlink(missing_ok=True)

    @property
    def commit(self) -> str | None:
        """Read the commit that the lock names; ``None`` where the lock is not ours."""
        try:
            words = _read(self._lock, _MOST_WORDS).decode("utf-8", "replace")
        except OSError:
            return None
        return words.removeprefix(self._mark).strip() if words.startswith(self._mark) else None


@asynccontextmanager
async def held_index(directory: str, turn_id: str, commit: str) -> AsyncIterator[HeldIndex]:
    """Lock the index of the git directory ``directory`` for a ``commit`` of a turn.

    The index stays as it was unless the commit was finished. Raises ``GitError`` where another git
    holds it.
    """
    index = HeldIndex(directory, turn_id)
    try:
        await index.take(commit)
        yield index
    finally:
        index.let_go()


async def settle_index(working_directory: str, turn_id: str) -> None:
    """Finish or undo what a turn has left between its commit and the index when its daemon ended.

    The index follows where the branch has moved. An objection of git is no fault here: the lock
    then stays, and the next committer gets the error.
    """
    with suppress(GitError, OSError):
        top = await looking.top_level(working_directory)
        if top is None:
            return
        directory = await GitCall(top).line("rev-parse", "--absolute-git-dir")
        index = HeldIndex(directory, turn_id)
        commit = index.commit
        if commit is not None and index.draft.exists() and await looking.head(top) == commit:
            index.finish()
        index.let_go()
        await trio.to_thread.run_sync(_sweep, directory, turn_id)


def _sweep(directory: str, turn_id: str) -> None:
    for left in Path(directory).glob(f"podium-*-{turn_id}*"):
        left.unlink()


def _write(path: Path, data: bytes) -> None:
    """Make a new file. A command may have put a link there."""
    with new_file(path, 0o666) as file:
        file.write(data)


def _read(path: Path, most: int = -1) -> bytes:
    with open(os.open(path, _READ), "rb") as file:
        return file.read(most)
