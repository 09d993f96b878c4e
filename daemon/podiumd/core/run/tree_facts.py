"""Facts about a run's working tree: marks to compare, and what was seen in it when."""

from __future__ import annotations

from typing import Literal

import msgspec

from podiumd.core.run.fact import RunFact, StepFact


class TreeMark(msgspec.Struct, frozen=True):
    """The working tree as it was: HEAD and a digest of everything that differs from it."""

    head: str | None
    digest: str


class TreeLook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The working tree as it was seen once.

    ``repository``: git knows the directory at all. ``commits`` counts those below ``head`` that
    were not there when the run began (none counted before). ``tips`` are those that other refs
    pointed to then, and ``head`` did not have: to check one out is no commit. ``uncommitted`` are
    the paths that differ from ``head``, from the tree's top, each with a digest of its content and,
    after a blank, one of its size and time (see ``claims.same_content``); ``more`` are those that
    were not looked at. ``ignored`` is what git passed over when the run began, a directory for all
    below it; ``None`` where that is not known. ``problem`` is the reason why no look was possible.
    """

    repository: bool = True
    head: str | None = None
    commits: int = 0
    tips: list[str] = []
    uncommitted: dict[str, str] = {}
    more: int = 0
    ignored: list[str] | None = None
    problem: str = ""


class TreeSeen(RunFact, frozen=True, kw_only=True, tag="tree.seen"):
    """The working tree was looked at: before the run's first step, because of a claim, or where
    the run ends."""

    why: Literal["start", "claim", "end"]
    look: TreeLook


class ClaimMade(StepFact, frozen=True, kw_only=True, tag="claim.made"):
    """A step ended with an outcome that says something of the working tree. It leads nowhere
    before that was looked at."""

    step: str
    visit: int
    claims: str
    outcome: str
    source: str
    description: str | None = None
    detail: str = ""
