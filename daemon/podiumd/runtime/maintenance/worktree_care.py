"""Takes the work out of a run's worktree, and takes the worktree away: both when a person orders
it.

The intention is stored first. The next start finds out how work that a crash cut off went: a merge
is done, or not begun, or stands there unfinished, and then that is reported; a worktree that has
its new name is removed to the end, one that has not is as it was.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import trio

from podiumd.core.run.facts import Worktree
from podiumd.runtime.context import Context
from podiumd.runtime.errors import NotFound, PodiumError, Refused
from podiumd.runtime.locks.holder import busy
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.recipes.catalogue import shown
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.run_rows import run_of
from podiumd.runtime.worktrees.listing import (
    LOOK_SECONDS,
    MOST_NAMED,
    REMOVED,
    Inside,
    listed,
    look_inside,
)
from podiumd.tools.commit.worktree_merge import NotMerged, merge, prepare, unfinished
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.delete import delete_tree
from podiumd.tools.git import queries as git
from podiumd.tools.git.process import PINS, GitCall, GitError
from podiumd.tools.process.processes import carriers, wait_gone
from podiumd.wire.runs import LeftPaths, Merged, Removed, WorktreeRow

NAMED = 5
"""Files that a refusal names."""

GONE_SECONDS = 60.0
"""How long a git of the daemon before is waited for."""

REMOVE_SECONDS = 300.0

_INTENDED = "worktrees.intended"


class Intended(msgspec.Struct, frozen=True, kw_only=True):
    """The intended change to a worktree. ``commit`` is that of its branch."""

    what: Literal["merge", "remove"]
    plan: Worktree
    commit: str | None = None


class WorktreeCare:
    """Merges and removes worktrees, one after the other."""

    def __init__(self, context: Context, session_locks: SessionLocks, runs: Runs) -> None:
        self._context = context
        self._session_locks = session_locks
        self._runs = runs
        self._one = trio.Lock()

    async def list(self) -> list[WorktreeRow]:
        """List every worktree of a run, with what is in it."""
        return await listed(self._context)

    async def merge(self, run_id: str) -> Merged:
        """Merge the branch of a run's worktree into what is checked out where it came from.

        Raises ``PodiumError``; all is as it was then, or the message says how it is.
        """
        async with self._one:
            run_id, plan = await self._of_run(run_id)
            await self._hold(plan.repository, run_id)
            try:
                return await self._merge(run_id, plan)
            except NotMerged as error:
                raise Refused(str(error), files=tuple(error.files)) from error
            except GitError as error:
                raise PodiumError(str(error)) from error
            finally:
                self._session_locks.release(run_id)

    async def _merge(self, run_id: str, plan: Worktree) -> Merged:
        planned = await prepare(plan.repository, plan.branch)
        told = partial(Merged, branch=plan.branch, into=planned.into, repository=plan.repository)
        if planned.contained:
            return told(commit=planned.head, merged=False)
        await self._store(run_id, Intended(what="merge", plan=plan, commit=planned.commit))
        try:
            failpoint("merge.before-make")
            made = await merge(plan.repository, planned, _marker(run_id))
            failpoint("merge.after-make")
        finally:  # reported whatever the result
            with trio.CancelScope(shield=True):
                await self._forget(run_id)
        left: list[str] = []
        with suppress(GitError):
            left = [shown(path) for path in await git.dirty(plan.directory)]
        said = LeftPaths(paths=tuple(left[:MOST_NAMED]), more=len(left[MOST_NAMED:]))
        return told(commit=made, merged=True, left=said)

    async def remove(self, run_id: str, *, force: bool) -> Removed:
        """Remove a run's worktree and its branch. Without ``force`` nothing is lost by it: what
        would be is named, and nothing is done. Raises ``PodiumError``.
        """
        async with self._one:
            run_id, plan = await self._of_run(run_id)
            await self._hold(plan.directory, run_id)
            try:
                await self._require_empty(plan)
                lost, lost_commits = await self._lost(run_id, plan, force)
                commit = await GitCall(plan.repository).commit_of(f"refs/heads/{plan.branch}")
                kept = await self._remove(run_id, Intended(what="remove", plan=plan, commit=commit))
            except (GitError, OSError) as error:
                raise PodiumError(f"The worktree was not removed: {error}") from error
            finally:
                self._session_locks.release(run_id)
        return Removed(
            directory=plan.directory,
            branch=plan.branch,
            commit=commit,
            branch_kept=kept,
            lost=lost,
            lost_commits=lost_commits,
        )

    async def _remove(self, run_id: str, intended: Intended) -> bool:
        """Remove it; returns whether its branch was kept. What fails after it has got another name
        is for the next start to end."""
        await self._store(run_id, intended)
        try:  # once more: a prompt may have begun there since
            await self._require_empty(intended.plan)
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._forget(run_id)
            raise
        with trio.CancelScope(shield=True, deadline=trio.current_time() + REMOVE_SECONDS):
            failpoint("remove.before-make")
            failed = await trio.to_thread.run_sync(_renamed, intended.plan.directory)
            if failed is not None:
                await self._forget(run_id)
                raise failed
            failpoint("remove.after-make")
            try:
                kept = await _finish(intended)
            except (GitError, OSError) as error:
                raise _half_removed(intended.plan, str(error)) from error
            await self._forget(run_id)
            return kept
        raise _half_removed(intended.plan, f"it took more than {REMOVE_SECONDS:g} s")

    async def recover(self) -> None:
        """Find out what became of what the daemon before was about to do, and end it. After that
        nothing of its gits is left, but what one reads that still runs."""
        at_work = False
        async with self._one:
            for run_id, intended in (await self._stored()).items():
                if intended.what == "merge" and not await _has_ended(run_id):
                    at_work = True  # the next start looks again
                    fields = {"repository": intended.plan.repository, "run_id": run_id}
                    self._context.log("Merge of an earlier daemon still runs", "warning", **fields)
                    continue
                try:
                    await self._settle(run_id, intended)
                except (GitError, OSError) as error:  # the next start looks again
                    fields = {"directory": intended.plan.directory, "reason": str(error)}
                    self._context.log("Worktree not settled", "warning", run_id=run_id, **fields)
                    continue
                await self._forget(run_id)
        if not at_work:
            await trio.to_thread.run_sync(PINS.clear)  # no git reads there any more

    async def _settle(self, run_id: str, intended: Intended) -> None:
        plan, log = intended.plan, partial(self._context.log, run_id=run_id)
        if intended.what == "remove":
            if await trio.to_thread.run_sync(os.path.lexists, _gone(plan.directory)) or not (
                await trio.to_thread.run_sync(os.path.lexists, plan.directory)
            ):
                await _finish(intended)
                log("Worktree removed", directory=plan.directory)
            return
        if intended.commit is not None and await unfinished(plan.repository, intended.commit):
            fix = "'git merge --continue' there, or 'git merge --abort'"
            where = {"repository": plan.repository, "branch": plan.branch, "fix": fix}
            log("Merge unfinished", "warning", **where)

    # -- helpers -----------------------------------------------------------------------------

    async def _of_run(self, run_id: str) -> tuple[str, Worktree]:
        """Find the worktree of a run that has ended."""
        run_id = await self._runs.resolve(run_id)
        if not await self._runs.let_end(run_id):
            words = f"Run {run_id[:8]} has not ended, and works in its worktree: cancel it first."
            raise Refused(words)
        row = await self._context.store.run(run_id)
        run = run_of(row) if row is not None else None
        plan = None if run is None else run.worktree
        if plan is None:
            words = f"Run {run_id[:8]} has no worktree: it was not started with '--worktree'."
            raise NotFound("worktree", run_id, words)
        if not await trio.Path(plan.directory).is_dir():
            words = (
                f"The worktree of run {run_id[:8]} is gone: '{plan.directory}' is not there. "
                f"'podium diff {run_id[:8]}' tells what the run committed; its branch was "
                f"{plan.branch}."
            )
            raise NotFound("worktree", run_id, words)
        return run_id, plan

    async def _hold(self, tree: str, run_id: str) -> None:
        async def take() -> None:
            holder = self._session_locks.acquire_tree(tree, run_id)
            if holder is not None:
                raise busy(holder, working_directory=tree)

        await self._runs.when_free(take)

    async def _require_empty(self, plan: Worktree) -> None:
        """Refuse where a prompt works in the worktree: it holds a session, but not the tree.

        Raises ``Refused``.
        """
        for actor in list(self._runs.live):
            where = Path(actor.state.start.working_directory)
            inside = where.is_relative_to(plan.directory)
            if inside and not await self._runs.let_end(actor.run_id):
                raise Refused(f"'{plan.directory}' is in use by run {actor.run_id[:8]}.")

    async def _lost(
        self, run_id: str, plan: Worktree, force: bool
    ) -> tuple[str | None, int | None]:
        """Describe what is lost with the worktree, and count its commits, where git can.

        Raises ``Refused`` if that is work, without ``force``.
        """
        inside: Inside | None = None
        lost: str | None = f"git did not say within {LOOK_SECONDS:g} s what is in it"
        with trio.move_on_after(LOOK_SECONDS):
            try:
                inside = await look_inside(plan)
            except GitError as error:
                lost = f"its contents cannot be read: {error}"
        if inside is not None:
            lost = _would_be_lost(inside)
        if lost is not None and not force:
            raise Refused(
                f"Removing the worktree of run {run_id[:8]} would lose work: {lost}. "
                f"'podium worktree merge {run_id[:8]}' takes what is committed; "
                f"'podium worktree remove {run_id[:8]} --force' throws all of it away."
            )
        return lost, None if inside is None else inside.commits

    async def _stored(self) -> dict[str, Intended]:
        stored = await self._context.store.setting(_INTENDED)
        return msgspec.json.decode(stored or b"{}", type=dict[str, Intended])

    async def _store(self, run_id: str, intended: Intended) -> None:
        known = await self._stored() | {run_id: intended}
        await self._context.store.set_setting(_INTENDED, msgspec.json.encode(known))

    async def _forget(self, run_id: str) -> None:
        known = await self._stored()
        known.pop(run_id, None)
        await self._context.store.set_setting(_INTENDED, msgspec.json.encode(known))


async def _has_ended(run_id: str) -> bool:
    """Wait for the git of a merge that an earlier daemon began; whether it is gone."""
    with trio.move_on_after(GONE_SECONDS) as scope:
        for one in await trio.to_thread.run_sync(carriers, _marker(run_id)):
            await wait_gone(one)
    return not scope.cancelled_caught


def _marker(run_id: str) -> str:
    """Return the marker of the git that merges the worktree of a run."""
    return f"merge-{run_id}"


def _gone(directory: str) -> str:
    """Return the name of a worktree from when it is being removed."""
    place = Path(directory)
    return str(place.with_name(REMOVED + place.name))


def _renamed(directory: str) -> OSError | None:
    """Give a worktree the name under which it is removed; returns what keeps it from that."""
    try:
        Path(directory).rename(_gone(directory))
    except OSError as error:
        return error
    return None


async def _finish(intended: Intended) -> bool:
    """Remove what a worktree was, git's record of it and its branch; again is harmless.

    Returns whether the branch was kept: it is checked out elsewhere, or has moved meanwhile.
    """
    plan, origin = intended.plan, GitCall(intended.plan.repository)
    if not await trio.to_thread.run_sync(os.path.lexists, plan.directory):
        await origin.run("worktree", "remove", "--force", "--force", "--", plan.directory)
    go_on = trio.from_thread.check_cancelled
    await trio.to_thread.run_sync(delete_tree, _gone(plan.directory), go_on)
    name = f"refs/heads/{plan.branch}"
    if (
        intended.commit is None
        or await origin.out("for-each-ref", "--format=%(worktreepath)", name) != b"\n"
    ):
        return intended.commit is not None and await origin.commit_of(name) is not None
    # Deletes it only while it has that value: a commit made in between is not lost.
    return (await origin.run("update-ref", "-d", name, intended.commit)).returncode != 0


def _half_removed(plan: Worktree, why: str) -> PodiumError:
    """Build the error for a worktree that is no longer where it was."""
    return PodiumError(
        f"The worktree is gone from '{plan.directory}', but not all of it is removed: {why}. "
        f"What is left is in '{_gone(plan.directory)}'; the daemon's next start goes on with it."
    )


def _would_be_lost(inside: Inside) -> str | None:
    lost = []
    if inside.uncommitted:
        names = ", ".join(inside.uncommitted[:NAMED])
        more = len(inside.uncommitted[NAMED:])
        lost.append(f"what is not committed ({names}{f' and {more} more' if more else ''})")
    if inside.commits:
        count = f"{inside.commits} commit{'s' if inside.commits > 1 else ''}"
        lost.append(f"{count} that no other branch has")
    return " and ".join(lost) or None
