"""The working tree of a run as it is just now, against how it was when the run began."""

from __future__ import annotations

from typing import Final

import trio

from podiumd.core.run.facts import TreeLook
from podiumd.core.run.state import RunState
from podiumd.runtime.recipes.catalogue import shown
from podiumd.tools.git import queries as git

LOOK_SECONDS: Final = 10.0
"""How long a look that nothing depends on may hold up the beginning or the end of a run."""

AWAITED_SECONDS: Final = 2.0
"""How long it may hold up a cancel, whose caller waits."""


async def tree_look(state: RunState) -> TreeLook:
    """Look at the working tree. Raises ``GitError``."""
    where = state.start.working_directory
    begins = state.recipe is not None and not state.step_count  # anew where that is redone
    found = await git.look(where, passed_over=begins)
    if found is None:
        return TreeLook(repository=False)
    head = found.head
    commits, tips = 0, list[str]()
    if state.base is None:
        tips = await git.other_tips(where, head)
    elif head is not None:
        commits = await git.commits_since(where, head, state.base.head, state.base.tips)
    uncommitted = {shown(path): digest for path, digest in found.uncommitted.items()}
    ignored = [shown(path) for path in found.passed_over] if begins else None
    return TreeLook(
        head=head,
        commits=commits,
        tips=tips,
        uncommitted=uncommitted,
        more=found.more,
        ignored=ignored,
    )


async def look_in_time(state: RunState, *, awaited: bool = False) -> TreeLook:
    """Look at the tree as ``tree_look``; where git fails or takes too long, report why.

    ``awaited``: the caller waits for no more than the answer.
    """
    seconds = AWAITED_SECONDS if awaited else LOOK_SECONDS
    problem = f"git did not answer within {seconds:g} s"
    with trio.move_on_after(seconds):
        try:
            return await tree_look(state)
        except (git.GitError, OSError) as error:
            problem = str(error)
    return TreeLook(problem=problem)
