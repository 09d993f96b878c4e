"""The places of STATE: each with its size, and what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from podiumd.runtime.worktrees.listing import Sizes
from podiumd.store.connection import FACTS_NAME
from podiumd.store.index import INDEX_NAME
from podiumd.wire.daemon import StoragePart

COPIES = f"{FACTS_NAME}.schema-*"
"""Databases of earlier releases that lifting leaves."""


class Part(NamedTuple):
    """Files of one kind in STATE. ``bound``: the setting that bounds them, or the command that a
    person removes them by."""

    name: str
    pattern: str
    bound: str


PARTS = (
    Part("facts", f"{FACTS_NAME}*", "retention.runs_days, then 'podium prune --vacuum'"),
    Part("copies", COPIES, "retention.copies_days"),
    Part("index", f"{INDEX_NAME}*", "made anew when it is lost; grows with the sessions"),
    Part("transcripts", "sessions", "retention.transcripts_days"),
    Part("turns", "turns", "retention.failed_turns, failed_megabytes"),
    Part("checks", "checks", "retention.failed_checks"),
    Part("commands", "commands", "retention.commands, commands_days"),
    Part("worktrees", "worktrees", "'podium worktree remove RUN'"),
    Part("exports", "exports", "yours: remove what you do not need"),
    Part("models", "models", "'podium voice install' fetches them again"),
    Part("voice", "voice", "the last eight recordings"),
    Part("log", "podiumd.log*", "40 MiB"),
)
OTHER = Part("other", "*", "small files of the daemon's own")
LOCKS = Part("locks", "", "30 days after they were taken last")


def usage(
    state: Path, locks: Path | None, go_on: Callable[[], None] = lambda: None
) -> list[StoragePart]:
    """Measure each part: ``{part, bytes, bound}``. Blocks.

    ``bytes`` is null where there are too many files to look at. ``go_on`` is called now and then,
    and ends it by an exception.
    """
    sizes, seen = Sizes(), set[Path]()
    rows = []
    for part in (PARTS[1], PARTS[0], *PARTS[2:], OTHER):
        found = [path for path in _matching(state, part.pattern) if path not in seen]
        seen.update(found)
        rows.append(_row(part, found, sizes, go_on))
    rows[0], rows[1] = rows[1], rows[0]  # the copies are no part of what is in use
    if locks is not None:
        rows.append(_row(LOCKS, [locks], sizes, go_on))
    return rows


def _matching(state: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from sorted(state.glob(pattern))
    except OSError:
        return


def _row(part: Part, found: list[Path], sizes: Sizes, go_on: Callable[[], None]) -> StoragePart:
    total: int | None = 0
    for path in found:
        more = sizes.of(path, go_on) if path.is_dir() else _size(path)
        total = None if total is None or more is None else total + more
    return StoragePart(part=part.name, bytes=total, bound=part.bound)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # gone just now
        return 0
