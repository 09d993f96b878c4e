"""The changes of a run: since it began, up to now or to its end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import trio
from msgspec.structs import asdict

from podiumd.core.decide.claims import same_content
from podiumd.core.run.facts import TreeLook
from podiumd.core.run.state import RunState
from podiumd.runtime.errors import PodiumError, Refused
from podiumd.tools.git import content_digest
from podiumd.tools.git import queries as git
from podiumd.tools.git.changes_since import Part, changes_since, name_of
from podiumd.tools.git.process import GitError
from podiumd.wire.runs import Diff, DiffCommit, DiffFile, DiffPart


async def run_diff(state: RunState, patch: bool) -> Diff:
    """Build the commits and files of a run, with their patches if ``patch``.

    Uncommitted files are shown as they are now; for a run that has ended only the files that it
    left so. Raises ``PodiumError``.
    """
    base = state.found
    if base is None or not base.repository:
        raise Refused(_why_not(state))
    try:
        return await _told(state, base, patch)
    except (GitError, OSError) as error:
        raise PodiumError(f"The changes of the run are unknown: {error}") from error


async def _told(state: RunState, base: TreeLook, patch: bool) -> Diff:
    where, there = await _place(state)
    top = await git.top_level(where)
    if top is None:
        raise GitError(f"'{where}' is in no git repository any more")
    ended = state.parted if state.parted is not None and not state.parted.problem else None
    head = ended.head if ended is not None else await git.head(where)
    last = None if ended is None else frozenset(ended.uncommitted)
    changes = await changes_since(
        top,
        base.head,
        head,
        counts=partial(_of_run, top, base, last),
        uncommitted=there,
        patch=patch,
    )
    return Diff(
        run_id=state.start.run_id,
        directory=top,
        ended=state.exit is not None,
        gone=not there,
        base=changes.base,
        head=changes.head,
        rewritten=changes.rewritten,
        commits=tuple(DiffCommit(**asdict(commit)) for commit in changes.commits),
        more_commits=changes.more_commits,
        committed=_part(changes.committed, base),
        uncommitted=_part(changes.uncommitted, base),
    )


def _part(part: Part, base: TreeLook) -> DiffPart:
    files = tuple(
        DiffFile(**asdict(file), changed_before=file.path in base.uncommitted)
        for file in part.files
    )
    return DiffPart(files=files, more=part.more, patch=part.patch, cut=part.cut)


async def _place(state: RunState) -> tuple[str, bool]:
    """Return where to ask git, and whether the run's working tree is there still."""
    where, own = state.start.working_directory, state.start.worktree
    if own is not None and not await trio.to_thread.run_sync(Path(where).is_dir):
        return own.repository, False
    return where, True


def _of_run(
    top: str, base: TreeLook, last: frozenset[str] | None, paths: list[str]
) -> Iterable[str]:
    """Select the paths that differ from what the run found, unless others changed them since.

    That is, since the end of the run. Blocks.
    """
    names = {path: name_of(path.encode("utf-8", "surrogateescape")) for path in paths}
    if last is not None:
        names = {path: name for path, name in names.items() if name in last}
    doubtful = [
        p.encode("utf-8", "surrogateescape") for p, n in names.items() if n in base.uncommitted
    ]
    now = content_digest.digests(top, doubtful, trio.from_thread.check_cancelled)
    same = {
        name.decode("utf-8", "surrogateescape")
        for name, digest in now.items()
        if same_content(base.uncommitted[name_of(name)], digest)
    }
    return [path for path in names if path not in same]


def _why_not(state: RunState) -> str:
    """Explain why it is unknown what a run has changed."""
    if state.start.recipe is None:
        return "A plain prompt notes nothing of the tree it works in: 'git diff' has what changed."
    if state.found is not None:
        return f"The run began outside git, in '{state.start.working_directory}'."
    if not state.begun:
        return "The run has not begun: there is nothing that it could have changed."
    return "How its working tree was when the run began is not known: 'git diff' has what changed."
