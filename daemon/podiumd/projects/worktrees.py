"""Makes the worktree that a new session works in, beside the project it comes from."""

from __future__ import annotations

import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

import msgspec
import trio

from podiumd.projects.errors import BadPlace, WorktreeRefused
from podiumd.projects.places import existing_directory
from podiumd.tools.git import queries as git

LONGEST_NAME = 60
LIMIT_SECONDS = 120.0
_UNDOING_SECONDS = 20.0
_NOT_WORD = re.compile(r"[^a-z0-9_]+")


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree: its directory, its branch, the project's own directory and its first commit."""

    path: str
    branch: str
    project: str
    commit: str


def branch_name(session_name: str) -> str:
    """Derive the branch for a session's name; maybe empty.

    It consists of small letters, digits, ``_`` and single ``-``. Letters with marks lose them;
    characters without such a letter are left out. At most 60 characters.
    """
    plain = unicodedata.normalize("NFKD", session_name.casefold())
    kept = "".join(one for one in plain if not unicodedata.combining(one))
    return _NOT_WORD.sub("-", kept.replace("'", "")).lstrip("-_")[:LONGEST_NAME].rstrip("-_")


class Worktrees:
    """Makes worktrees, one after the other. ``home`` is what ``~`` stands for in a path."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._making = trio.Lock()

    async def create(self, session_name: str, parent_directory: str) -> Worktree:
        """Make a worktree of the project at ``parent_directory`` for a session of that name.

        It gets a new branch of the name, from ``HEAD``, in ``PROJECT-NAME`` beside the project.
        Raises ``WorktreeRefused``; nothing is left then, or when this is cancelled. The project's
        own hooks run, as they do for every checkout.
        """
        name = branch_name(session_name)
        if not name:
            raise WorktreeRefused(
                "invalid_session_name",
                f"The session name '{session_name[:60]}' holds no letter or digit of a-z, 0-9 "
                "that a branch could be called by; choose another.",
            )
        try:
            directory = await existing_directory(parent_directory, self._home)
        except BadPlace as error:
            raise WorktreeRefused("directory_not_found", str(error)) from None
        async with self._making:
            try:
                with trio.fail_after(LIMIT_SECONDS):
                    return await self._make(name, directory)
            except git.GitError as error:
                raise WorktreeRefused("git_failed", str(error)) from error
            except trio.TooSlowError:
                raise WorktreeRefused(
                    "git_failed", f"Git did not make the worktree in {LIMIT_SECONDS:g} s."
                ) from None

    async def discard(self, worktree: Worktree) -> None:
        """Remove a worktree without work, and its branch while it has no commit.

        A worktree with work in it is kept: git refuses to remove it. Raises ``GitError``.
        """
        await _remove(worktree, force=False)

    async def _make(self, name: str, directory: Path) -> Worktree:
        project = await git.top_level(directory)
        if project is None:
            raise WorktreeRefused(
                "not_a_git_repository", f"The directory '{directory}' is in no git repository."
            )
        path = f"{project}-{name}"
        if await trio.to_thread.run_sync(os.path.lexists, path):
            raise WorktreeRefused(
                "worktree_path_exists", f"'{path}' is there already; choose another name."
            )
        if await git.branch_exists(project, name):
            raise WorktreeRefused(
                "branch_exists", f"The project has a branch '{name}' already; choose another name."
            )
        commit = await git.head(project)
        if commit is None:
            raise WorktreeRefused(
                "no_commit", f"'{project}' has no commit yet to start from; commit first."
            )
        made = Worktree(path=path, branch=name, project=project, commit=commit)
        try:
            await git.add_worktree(project, path, name)
        except BaseException:
            with (
                trio.CancelScope(shield=True, deadline=trio.current_time() + _UNDOING_SECONDS),
                suppress(git.GitError),  # a second failure must not hide the first
            ):
                await _remove(made, force=True)
            raise
        return made


async def _remove(made: Worktree, *, force: bool) -> None:
    await git.remove_worktree(made.project, made.path, made.branch, made.commit, force=force)
