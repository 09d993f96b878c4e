"""The worktrees that runs were given: which there are, and what is in them."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import trio
from msgspec.structs import replace

from podiumd.core.run.facts import Worktree
from podiumd.projects.worktrees import branch_name
from podiumd.runtime.context import Context
from podiumd.runtime.fact_reader import summary
from podiumd.runtime.recipes.catalogue import shown
from podiumd.store.records import RunRow
from podiumd.tools.commit.worktree_merge import unfinished
from podiumd.tools.files.walk import walk
from podiumd.tools.git import queries as git
from podiumd.tools.git.process import GitCall, GitError
from podiumd.wire.runs import WorktreeRow

LOOK_SECONDS = 10.0
"""How long git may take over one worktree."""

AT_ONCE = 4
"""Worktrees that git looks into at the same time."""

MOST_NAMED = 20
MOST_COUNTED = 200_000
"""Files and directories that are looked at for sizes, of all worktrees together."""

LONGEST_SLUG = 32
SHORT = 8
_PREFIXES = 50
REMOVED = ".removed-"
"""Prefix of the name of a worktree that is being removed."""


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """The work that would be lost with a worktree: files that are not committed, commits that no
    other branch has.

    ``head`` is the commit of the branch; ``merged``: the branch that is checked out in the
    repository has it.
    """

    head: str | None
    uncommitted: list[str]
    commits: int
    merged: bool


def short_name(words: str, run_id: str) -> str:
    """Build a name for a run's worktree and branch: its subject, and the beginning of its id."""
    slug = branch_name(words)[:LONGEST_SLUG].rstrip("-_")
    return f"{slug}-{run_id[:SHORT]}" if slug else run_id[:SHORT]


def places(state: Path) -> list[Path]:
    """List the directories of worktrees, in the order of their names. Blocks."""
    try:
        found = sorted((state / "worktrees").iterdir())
    except OSError:
        return []
    return [one for one in found if not one.name.startswith(REMOVED) and one.is_dir()]


async def run_of(context: Context, place: Path) -> tuple[RunRow, Worktree] | None:
    """Find the run that a worktree was made for; ``None`` where none is known, as a forgotten one.

    Older ones are named after the whole id, others end in its beginning.
    """
    for prefix in (place.name, place.name[-SHORT:]):
        for row in await context.store.runs_with_prefix(prefix, _PREFIXES) if prefix else ():
            run = await summary(context.store, row)
            plan = None if run is None else run.worktree
            if plan is not None and plan.directory == str(place):
                return row, plan
    return None


async def listed(context: Context) -> list[WorktreeRow]:
    """List every worktree, with what is in it; git looks into a few of them at once."""
    found: list[WorktreeRow] = []
    sizes = Sizes()
    looks: list[tuple[int, Worktree]] = []
    until = trio.current_time() + LOOK_SECONDS  # for all the sizes together
    for place in await trio.to_thread.run_sync(places, context.state):
        size = None
        with trio.CancelScope(deadline=until):
            size = await trio.to_thread.run_sync(
                sizes.of, place, trio.from_thread.check_cancelled, abandon_on_cancel=True
            )
        known = await run_of(context, place)
        if known is None:
            why = "its run was forgotten"
            found.append(WorktreeRow(directory=str(place), bytes=size, run_id=None, problem=why))
            continue
        row, plan = known
        run = await summary(context.store, row)
        looks.append((len(found), plan))
        found.append(
            WorktreeRow(
                directory=str(place),
                bytes=size,
                run_id=row.run_id,
                recipe=None if run is None else run.recipe,
                params=None if run is None else run.params,
                status=row.status,
                started_at=row.started_at,
                repository=plan.repository,
                branch=plan.branch,
                problem=None,
            )
        )
    few = trio.CapacityLimiter(AT_ONCE)

    async def look(number: int, plan: Worktree) -> None:
        async with few:
            found[number] = await _described(found[number], plan)

    async with trio.open_nursery() as nursery:
        for number, plan in looks:
            nursery.start_soon(look, number, plan)
    return found


async def _described(row: WorktreeRow, plan: Worktree) -> WorktreeRow:
    """Fill in a row's branch and files of a worktree, or why they are unknown."""
    problem = f"git did not answer within {LOOK_SECONDS:g} s"
    with trio.move_on_after(LOOK_SECONDS):
        try:
            inside = await look_inside(plan)
            merging = inside.head is not None and await unfinished(plan.repository, inside.head)
            return replace(
                row,
                head=inside.head,
                uncommitted=tuple(inside.uncommitted[:MOST_NAMED]),
                more=len(inside.uncommitted[MOST_NAMED:]),
                commits=inside.commits,
                merged=inside.merged,
                merging=merging,
            )
        except (GitError, OSError) as error:
            problem = str(error)
    return replace(row, problem=problem)


async def look_inside(plan: Worktree) -> Inside:
    """Look at what is in a worktree. Raises ``GitError`` where that is unknown."""
    if not await git.is_worktree(plan.repository, plan.directory):
        raise GitError(f"'{plan.directory}' is no worktree of '{plan.repository}' any more")
    paths = await git.dirty(plan.directory)
    there = GitCall(plan.directory, {"GIT_OPTIONAL_LOCKS": "0"})
    origin = GitCall(plan.repository, {"GIT_OPTIONAL_LOCKS": "0"})
    head = await origin.commit_of(f"refs/heads/{plan.branch}")
    out = await there.commit_of("HEAD")
    current = await origin.commit_of("HEAD")
    wanted = [one for one in dict.fromkeys((head, out)) if one is not None]
    commits = 0
    if wanted:
        others = [f"--exclude={plan.branch}", "--branches", "--tags", "--remotes"]
        others += [current] if current is not None else []
        commits = int(await origin.line("rev-list", "--count", *wanted, "--not", *others))
    merged = False
    if head is not None and current is not None:
        told = await origin.run("merge-base", "--is-ancestor", head, current)
        merged = told.returncode == 0
    return Inside(
        head=head, uncommitted=[shown(path) for path in paths], commits=commits, merged=merged
    )


class Sizes:
    """Adds up what files take, while there are not too many to look at."""

    def __init__(self) -> None:
        self._left = MOST_COUNTED

    def of(self, place: Path, go_on: Callable[[], None]) -> int | None:
        """Measure the files in a directory; ``None`` where there are too many to look at.

        ``go_on`` is called before each directory, and ends it by an exception. Blocks.
        """
        total = 0
        for directory, below, names in walk(place):
            go_on()
            self._left -= len(below) + len(names)
            if self._left < 0:
                return None
            for name in names:
                try:
                    found = Path(directory, name).lstat()
                except OSError:
                    continue
                total += found.st_size if stat.S_ISREG(found.st_mode) else 0
        return total
