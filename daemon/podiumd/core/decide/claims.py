"""The claims of outcomes about the working tree, tested against a look at it. Pure.

An agent's "committed" is no commit. An edge that claims one is taken only when a commit is there
that was not there when the run began, and nothing that the run changed is left uncommitted; one
that claims a clean tree only when nothing is. Changes uncommitted when the run began are not the
run's: they may stay as they were. Where nothing should be uncommitted at all, only a person's yes
at the start lets them stay.
"""

from __future__ import annotations

from typing import Final

import msgspec

from podiumd.core.run.facts import TreeLook

TOLD: Final = 50
"""Paths reported to the client that asks for a run."""

SHOWN: Final = 10
"""Paths shown to the agent; the others are only counted."""


def refuted(claims: str, before: TreeLook, now: TreeLook, *, accepted: bool) -> str | None:
    """Return how the tree contradicts an outcome's claim; ``None``: it does not.

    ``before`` is the tree as the run began, ``accepted`` whether a person has accepted what was
    uncommitted then.
    """
    if not now.repository:
        return "this is no git repository, so nothing can be committed here"
    if claims == "commit" and not now.commits:
        return f"there is no new commit: {_head(before, now)}"
    own = claims == "commit" or accepted
    left = left_over(before, now) if own else sorted(now.uncommitted)
    more = now.more if not (own and before.more) else 0
    if not left and not more:
        return None
    said = "the run changed and did not commit" if own else "the working tree is not clean:"
    return f"{said} {listed(left, more)}"


def left_over(before: TreeLook, now: TreeLook) -> list[str]:
    """Return the paths that are uncommitted now and were not so, as they are, in the beginning."""
    return sorted(
        path
        for path, digest in now.uncommitted.items()
        if path not in before.uncommitted or not same_content(before.uncommitted[path], digest)
    )


def same_content(before: str, now: str) -> bool:
    """Return whether two digests of a file (see ``TreeLook``) are of the same content, as far as
    both say: size and time stand in where one of the looks had no room for the content."""
    (content, _, kept), (present, _, left) = before.partition(" "), now.partition(" ")
    if content and present:
        return content == present
    # One of an older release is a single word, whichever of the two it is about.
    return (kept or content) == (left or present)


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that a run left uncommitted: ``paths``, and how many ``more``. ``problem`` is the
    reason why no look was possible."""

    head: str | None
    paths: tuple[str, ...]
    more: int
    problem: str | None


def left_uncommitted(before: TreeLook | None, now: TreeLook | None) -> Left | None:
    """Return what a run has left uncommitted at its end; ``None`` where there was no look."""
    if before is None or now is None:
        return None
    paths = left_over(before, now)
    return Left(
        head=now.head,
        paths=tuple(paths[:TOLD]),
        more=len(paths[TOLD:]) + (now.more if not before.more else 0),
        problem=now.problem or None,
    )


def listed(paths: list[str], more: int = 0) -> str:
    """Name some paths, and say how many there are beside them."""
    shown, rest = paths[:SHOWN], len(paths[SHOWN:]) + more
    names = ", ".join(shown)
    if not rest:
        return names
    return f"{names} and {rest} more" if names else f"{rest} files"


def _head(before: TreeLook, now: TreeLook) -> str:
    if now.head is None:
        return "the branch has none at all"
    if now.head == before.head:
        return f"HEAD is {now.head[:12]}, as when the run began"
    return f"HEAD is {now.head[:12]}, which was there when the run began"
