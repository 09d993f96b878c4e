"""The remains of a worktree that git was stopped at while it made it: removed, never with work.

Git that is asked to stop cleans up after itself, but for the branch. Git that was killed, or that
was killed while it cleaned up, leaves files: whole ones of the commit, and an empty one where it
was when it was killed. Any other file was put there by another party, and then all of it stays.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from podiumd.tools.files.delete import delete_tree
from podiumd.tools.files.plain_file import is_directory, is_link, named_in
from podiumd.tools.git.beside import INDEX_PLACE
from podiumd.tools.git.process import GitCall

BEING_MADE: Final = "initializing"
"""Why a worktree is locked that is being made, in git's own word."""
_NAMED = 3


def is_being_made(record: str | Path) -> bool:
    """Return whether git makes the worktree of this record, or was killed at it. Blocks."""
    with suppress(OSError, ValueError):
        return named_in(Path(record, "locked")).strip() == BEING_MADE
    return False


def is_unfinished(directory: str) -> bool:
    """Return whether git has not finished a directory that was to be a worktree.

    While git makes one it holds a lock with that reason; a git that was killed at it leaves that
    lock. The link to git's own record of the worktree is gone, or leads nowhere, where git was
    killed as it cleaned up. Looks at three files at most.
    """
    link = Path(directory, ".git")
    if not is_directory(link.parent) or is_link(link.parent):
        return False
    if not os.path.lexists(link):
        return True
    try:
        target = named_in(link)
    except ValueError:
        return True  # it leads nowhere
    except OSError:
        return False
    record = Path(directory, target)
    return not target or not is_directory(record) or is_being_made(record)


async def clear(repository: str, directory: str, branch: str) -> str:
    """Remove an unfinished worktree of ``repository``; anything else is not touched.

    ``branch`` is the one that it was made for. Returns what keeps the directory there, in words;
    empty where nothing does. Again is harmless. Raises ``GitError``, ``OSError``.
    """
    if not await trio.to_thread.run_sync(is_unfinished, directory):
        return ""
    git = GitCall(repository)
    commit = await git.commit_of(f"refs/heads/{branch}") or await git.commit_of("HEAD")
    if commit is None:
        return f"'{repository}' does not tell what was to be in it"
    added = await _added(git, directory, commit)
    if added:
        more = f" and {len(added) - _NAMED} more" if len(added) > _NAMED else ""
        return f"it holds what git did not put there: {', '.join(added[:_NAMED])}{more}"
    await git.run("worktree", "remove", "--force", "--force", "--", directory)
    # Where git's record of it is gone, git does not know it.
    await trio.to_thread.run_sync(delete_tree, directory, trio.from_thread.check_cancelled)
    return ""


async def forget_branch(repository: str, branch: str) -> None:
    """Delete a branch, unless it is checked out or has commits that ``HEAD`` lacks.

    Raises ``GitError`` where there is no git.
    """
    await GitCall(repository).run("branch", "--delete", "--quiet", "--", branch)


async def _added(git: GitCall, directory: str, commit: str) -> list[str]:
    """List the files in ``directory`` that differ from what git writes for ``commit``.

    Files that git did not come to do not matter.
    """
    with tempfile.TemporaryDirectory(prefix=INDEX_PLACE) as scratch:
        # With its own index: a git that was killed leaves a locked one, or none.
        index = str(Path(scratch, "index"))
        # Not by GIT_DIR, with which git takes any directory for a repository.
        there = git.with_environment(GIT_WORK_TREE=directory, GIT_INDEX_FILE=index)
        await there.out("read-tree", commit)
        untracked = await there.out("ls-files", "-z", "--others")
        changed = await there.out("ls-files", "-z", "--modified")
    begun = [one for one in changed.split(b"\0") if one and _has_content(directory, one)]
    names = [one for one in untracked.split(b"\0") if one] + begun
    return [one.decode("utf-8", "backslashreplace") for one in names]


def _has_content(directory: str, name: bytes) -> bool:
    try:
        return Path(directory, os.fsdecode(name)).lstat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False
