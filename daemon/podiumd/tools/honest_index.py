"""An index that hides nothing: git looks at a file also where the index says that it need not.

``git update-index --skip-worktree`` and ``--assume-unchanged`` have git take a file for unchanged,
whatever is in it. Who claims that all is committed may have set them, so no look of ours goes by
them; the repository's own index keeps them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import trio

from podiumd.tools.git_plumbing import GitCall
from podiumd.tools.git_process import GitError
from podiumd.tools.pinned_settings import FileStamp, is_settled, repository_at, stamp_of
from podiumd.tools.plain_file import read_plain

MOST_BYTES: Final = 256 * 1024 * 1024
"""Of an index that is copied: some million files."""
MOST_KNOWN: Final = 64
MOST_LINKS: Final = 200
"""Submodules that are told of."""
_SKIPPED: Final = b"S"
_LINK: Final = b"160000 "


class Listed(NamedTuple):
    """What an index has below a directory: the entries at which git does not look, as ``ls-files
    -v --stage`` has them, and the names of the first submodules."""

    passed_over: list[bytes]
    links: list[bytes]


_known: dict[tuple[str, str], tuple[FileStamp, Listed]] = {}


async def listed(git: GitCall) -> Listed:
    """List the index of a repository, below the directory of ``git``. Raises ``GitError``.

    One that passes nothing over is not listed again before its file changes.
    """
    repository = repository_at(git.top) if git.own_index else None
    index = f"{repository.directory}/index" if repository is not None else ""
    stamp, known = stamp_of(index), _known.get((index, git.top))
    if known is not None and known[0] == stamp:
        return known[1]
    listing = (await git.out("ls-files", "-z", "-v", "--stage", "--full-name")).split(b"\0")
    links = [entry.partition(b"\t")[2] for entry in listing if entry.startswith(_LINK, 2)]
    found = Listed([entry for entry in listing if _passed_over(entry)], links[:MOST_LINKS])
    _known.pop((index, git.top), None)
    if repository is not None and not found.passed_over and is_settled([stamp]):
        if len(_known) >= MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[index, git.top] = stamp, found
    return found


@asynccontextmanager
async def honest_index(git: GitCall) -> AsyncIterator[GitCall]:
    """Yield a git that sees every file below its directory as it is. Raises ``GitError``.

    Costs one listing; where files are passed over also a copy of the index. What a sparse checkout
    has not checked out stays passed over.
    """
    entries = (await listed(git)).passed_over
    if any(entry.startswith(_SKIPPED) for entry in entries) and await _is_sparse(git):
        # Git itself looks at the files that such a checkout has although it need not.
        entries = [entry for entry in entries if not entry.startswith(_SKIPPED)]
    if not entries:
        yield git
        return
    where = Path(git.top, await git.line("rev-parse", "--git-path", "index"))
    with tempfile.TemporaryDirectory(prefix="podium-index-") as scratch:
        copy = Path(scratch, "index")
        await trio.to_thread.run_sync(_copied, where, copy)
        own = git.with_environment(GIT_INDEX_FILE=os.fspath(copy))
        # An entry that is put in anew has no such mark, nor a time by which it need not be read.
        anew = b"".join(entry[2:] + b"\0" for entry in entries)
        await own.out("update-index", "-z", "--index-info", stdin=anew)
        yield own


def _passed_over(entry: bytes) -> bool:
    """Whether an entry of ``ls-files -v --stage`` is one at which git does not look: a small letter
    is for what is assumed unchanged, an S for what is skipped."""
    return entry[:1].islower() or entry.startswith(_SKIPPED)


async def _is_sparse(git: GitCall) -> bool:
    told = await git.run("config", "--type=bool", "--get", "core.sparseCheckout")
    return told.stdout.strip() == b"true"


def _copied(index: Path, copy: Path) -> None:
    try:
        copy.write_bytes(read_plain(index, MOST_BYTES, links=True))
    except OSError as error:
        raise GitError(f"the index '{index}' cannot be read: {error}") from error
