"""Merges the branch of a worktree into the branch that is checked out where it came from.

Nothing of the repository's is run, nothing is signed, and a merge with conflicts is undone.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec
import trio

from podiumd.core.excerpt import end
from podiumd.tools.commit.identity import identity_variables
from podiumd.tools.commit.result import under_way
from podiumd.tools.failpoints import failpoint
from podiumd.tools.git.changes_since import name_of
from podiumd.tools.git.honest_index import honest_index
from podiumd.tools.git.process import GitCall, GitError, programs_named_in
from podiumd.tools.git.queries import entries, submodules
from podiumd.tools.process.processes import MARKER

MERGE_SECONDS: Final = 120.0
HIDDEN: Final = (
    "'{}' has uncommitted changes that its index hides ({}), and the merge would write there: "
    "commit them, or put them somewhere else."
)
_NAMED: Final = 5
_TOLD: Final = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no",
                "--ignore-submodules=dirty")  # fmt: skip
_QUIETLY: Final = (
    *("merge", "--quiet", "--no-edit", "--no-stat", "--no-gpg-sign", "--no-verify-signatures"),
    *("--no-autostash", "--no-rerere-autoupdate"),
    *("--no-squash", "--commit", "--strategy=ort"),  # whatever the settings say
)


class NotMerged(Exception):
    """The merge was not begun, or was undone; the message says why. ``files`` conflict."""

    def __init__(self, message: str, files: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.files = files


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A merge that can be begun: ``commit`` of ``branch`` into the branch ``into``, at ``head``.
    ``contained``: there is nothing to do."""

    branch: str
    commit: str
    into: str
    head: str
    contained: bool


async def prepare(repository: str, branch: str) -> Plan:
    """Look whether a branch can be merged into what is checked out. Changes nothing.

    Raises ``NotMerged`` and ``GitError``.
    """
    git = GitCall(repository, {"GIT_OPTIONAL_LOCKS": "0"})
    commit = await git.commit_of(f"refs/heads/{branch}")
    if commit is None:
        raise NotMerged(f"'{repository}' has no branch '{branch}' any more.")
    checked_out = await git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    if checked_out.returncode != 0:
        raise NotMerged(
            f"'{repository}' has no branch checked out: check out the one to merge into."
        )
    into = os.fsdecode(checked_out.stdout.removesuffix(b"\n"))
    head = await git.commit_of("HEAD")
    if head is None:
        raise NotMerged(f"The branch '{into}' of '{repository}' has no commit yet.")
    if into == branch:
        raise NotMerged(f"'{branch}' itself is checked out in '{repository}': check out another.")
    await _require_calm(git, repository)
    await _require_clean(git, repository)
    within = await git.run("merge-base", "--is-ancestor", commit, head)
    contained = within.returncode == 0
    if not contained:
        await _require_nothing_hidden(git, head, commit)
        await _require_no_programs(repository, branch)
    return Plan(branch=branch, commit=commit, into=into, head=head, contained=contained)


async def merge(repository: str, plan: Plan, marker: str) -> str:
    """Merge as planned; returns the commit that the branch then has.

    The git at it carries the ``marker``. Raises ``NotMerged``, with all as it was before, and
    ``GitError``.
    """
    # Not by -c: the name of a branch may hold what ends a key there.
    options = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"branch.{plan.into}.mergeoptions",
        "GIT_CONFIG_VALUE_0": "",
    }
    git = GitCall(repository, {**identity_variables(os.environ), MARKER: marker, **options})
    with trio.CancelScope(shield=True, deadline=trio.current_time() + MERGE_SECONDS) as scope:
        words = f"Merge branch '{plan.branch}'"
        done = await git.run(*_QUIETLY, "-m", words, plan.commit)
        if done.returncode != 0:
            failpoint("merge.conflicted")
            await _take_back(git, plan, done.stderr)
        within = await git.run("merge-base", "--is-ancestor", plan.commit, "HEAD")
        if within.returncode != 0:
            raise GitError(
                f"git said it merged, and HEAD has not '{plan.branch}': look at '{repository}' "
                "with 'git status'"
            )
        return await git.line("rev-parse", "HEAD")
    assert scope.cancelled_caught
    raise GitError(
        f"git did not merge within {MERGE_SECONDS:g} s: look at '{repository}' with 'git status'"
    )


async def _take_back(git: GitCall, plan: Plan, said: bytes) -> None:
    """Leave the repository as it was before a merge that failed. Raises ``NotMerged``."""
    listed = await git.out("diff-files", "-z", "--name-only", "--diff-filter=U")
    files = tuple(dict.fromkeys(name_of(path) for path in entries(listed)))
    aborted = await git.run("merge", "--abort")
    words = end(said.decode("utf-8", "replace").strip(), 1000)
    if files:
        why = f"'{plan.branch}' and '{plan.into}' conflict in {_listed(files)}"
    else:
        why = f"git did not merge '{plan.branch}': {words}"
    if await _under_way(git) is not None or await _changed(git):
        again = end(aborted.stderr.decode("utf-8", "replace").strip(), 500)
        raise GitError(f"{why}; and it could not be undone: {again}. Look with 'git status'")
    raise NotMerged(f"{why}. The merge was undone: '{git.top}' is as it was.", files)


async def unfinished(repository: str, commit: str) -> bool:
    """Return whether a merge of this commit is unfinished in the repository."""
    return await GitCall(repository).commit_of("MERGE_HEAD") == commit


async def _require_calm(git: GitCall, repository: str) -> None:
    busy = await _under_way(git)
    if busy is not None:
        raise NotMerged(f"'{repository}' is in the middle of {busy}: finish it, or abort it.")


async def _under_way(git: GitCall) -> str | None:
    directory = await git.line("rev-parse", "--absolute-git-dir")
    return await trio.to_thread.run_sync(under_way, directory)


async def _require_clean(git: GitCall, repository: str) -> None:
    changed = await _changed(git)
    if changed:
        raise NotMerged(
            f"'{repository}' has uncommitted changes ({_listed(changed)}): commit or stash them "
            "first."
        )


async def _require_nothing_hidden(git: GitCall, head: str, commit: str) -> None:
    """Refuse the merge where the index hides a change of a file that it may write.

    Git would take such a file for unchanged. A change hidden in another file does no harm. Raises
    ``NotMerged``.
    """
    listed = await git.out("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, commit)
    written = set(map(name_of, entries(listed)))
    async with honest_index(git) as seeing:
        told = await seeing.out(*_TOLD)
    hidden = [name for one in entries(told) if (name := name_of(one[3:])) in written]
    if hidden:
        raise NotMerged(HIDDEN.format(git.top, _listed(hidden)))


async def _changed(git: GitCall) -> tuple[str, ...]:
    """List the files that differ from HEAD.

    A file that git does not know does no harm unless it is to be written over, and then git reports
    it.
    """
    told = await git.out(*_TOLD)
    return tuple(name_of(entry[3:]) for entry in entries(told))


async def _require_no_programs(repository: str, branch: str) -> None:
    """Refuse the merge where the repository's own filters or merge drivers would be needed.

    A merge writes files, and takes some through programs: those of the repository's own are not run
    here, and a file is not written without them. The git that a merge starts looks into submodules
    too, with the settings that these have.
    """
    inner = [directory for _name, directory in await submodules(repository)]
    for place in (repository, *inner):
        named = [
            key for key in await programs_named_in(place) if key.startswith(("filter.", "merge."))
        ]
        if named:
            raise NotMerged(
                f"'{place}' names programs of its own that a merge would run ({_listed(named)}), "
                f"which Podium does not run: merge with 'git merge {branch}' in '{repository}'"
                " yourself."
            )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
