"""Remembers the working trees whose top is the directory that git was asked about.

Git is asked once for each, and again when anything is not as it was that its answer follows from:
who the tree and its ``.git`` belong to, where that leads, its settings, and its ``HEAD``. Git looks
at all of these before it takes a directory for a working tree.
"""

from __future__ import annotations

import os
from typing import Final

from podiumd.tools.git.pinned_settings import is_settled, repository_at, stamp_of

MOST_KNOWN: Final = 256
"""Working trees that are remembered."""

Kept = tuple[object, ...]


class Tops:
    """Git's answers on tops of working trees. All of it may be called in any thread."""

    def __init__(self) -> None:
        self._known: dict[str, Kept] = {}

    def is_top(self, path: str, now: Kept | None) -> bool:
        """Return whether git has answered so while all was as it is ``now`` (see ``kept_at``)."""
        return now is not None and self._known.get(path) == now

    def keep(self, path: str, before: Kept | None) -> None:
        """Remember git's answer, for a question asked when all was like ``before``."""
        if before is not None:
            if len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[path] = before


def kept_at(path: str) -> Kept | None:
    """Read the facts from which git answers that the real ``path`` is a working tree's top.

    Returns ``None`` where more than these count. Blocks for some names. Where another user owns a
    part of it the person's own settings count as well, and where it changed just now it may change
    again within one tick.
    """
    found = repository_at(path)
    if found is None or found.top != path:
        return None
    directory, common = found.directory, found.common
    link, head = f"{path}/.git", f"{directory}/HEAD"
    owned = [_place(one) for one in (path, link, directory)]
    shared = [_place(os.path.realpath(f"{common}/{name}")) for name in ("objects", "refs")]
    own = [f"{directory}/{name}" for name in ("config.worktree", "commondir", "gitdir")]
    stamps = [stamp_of(one) for one in (head, f"{common}/config", *own)]
    if directory != link:
        stamps.append(stamp_of(link))
    plain = not any(map(os.path.islink, (link, head)))
    if not plain or not all(one is not None and _is_mine(one) for one in owned):
        return None
    return (found, *owned, *shared, *stamps) if is_settled(stamps) else None


def _is_mine(place: tuple[int, ...]) -> bool:
    return place[-1] == os.geteuid()


def _place(path: str) -> tuple[int, ...] | None:
    """Read the identity of a directory, or of a link to one: what its content does not change."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mode, found.st_uid
