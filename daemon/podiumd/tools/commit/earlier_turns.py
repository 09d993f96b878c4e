"""The uncommitted changes of a run's earlier turns, put before those of a turn itself."""

from __future__ import annotations

from typing import NamedTuple

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.git.passed_over import covers


class Earlier(NamedTuple):
    """``since`` is where HEAD was when the turn began, ``foreign`` what was uncommitted when its
    run began or passed over by git (see ``passed_over``), by paths from the tree's top: a
    person's."""

    since: str
    foreign: frozenset[str]


async def with_earlier(
    watch: TreeWatch, changes: tuple[FileChange, ...], earlier: Earlier
) -> tuple[FileChange, ...]:
    """Put earlier turns' changes that are in no commit yet before the changes of a turn.

    Those are the differences from HEAD that are not foreign, up to where the turn's own change of
    the file begins. There are none where HEAD has moved in the turn: the committer has chosen what
    is committed. Raises ``GitError``, ``OSError``.
    """
    prefix, found = await watch.uncommitted(earlier.since)
    own: dict[str, FileChange] = {}
    for change in changes:
        own.setdefault(change.path, change)
    before = []
    for change in found:
        first = own.get(change.path)
        path = prefix + change.path
        if path in earlier.foreign or (change.before is None and covers(earlier.foreign, path)):
            continue
        if first is None:
            before.append(change)
        elif first.before != change.before:
            before.append(
                FileChange(
                    path=change.path, before=change.before, after=first.before, mode=change.mode
                )
            )
    return (*before, *changes)
