"""The order for a commit, its message, and its result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from podiumd.core.run.native_loop_commands import CommitState
from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.index import Differences, Entry
from podiumd.tools.diff import visible

SUBJECT_CHARACTERS = 72
FALLBACK = "AI assistant changes"
RUN_TRAILER, TURN_TRAILER = "Podium-Run", "Podium-Turn"

Kind = Literal["created", "modified", "deleted"]


def subject_of(files: Sequence[tuple[str, Kind]]) -> str:
    """``AI: modified a.py, created b.py``, in at most 72 characters: as many files as fit, and how
    many there are beyond; ``AI assistant changes`` where not even one fits."""
    words = [f"{kind} {visible(path)}" for path, kind in files]
    for count in range(len(words), 0, -1):
        rest = f" and {len(words) - count} more" if count < len(words) else ""
        subject = f"AI: {', '.join(words[:count])}{rest}"
        if len(subject) <= SUBJECT_CHARACTERS:
            return subject
    return FALLBACK


def message_of(
    files: Sequence[tuple[str, Kind]], *, run_id: str, turn_id: str, note: str = ""
) -> str:
    """Build the whole message: subject, a line for every file, ``note`` if any, trailers."""
    body = "".join(f"- {kind} {visible(path)}\n" for path, kind in files)
    said = "\n".join(visible(line) for line in note.strip().splitlines())
    parts = [f"{subject_of(files)}\n", body, f"{said}\n" if said else "", trailers(run_id, turn_id)]
    return "\n".join(part for part in parts if part)


def trailers(run_id: str, turn_id: str) -> str:
    """Build the last lines of the message, by which the commit is found again."""
    return f"{RUN_TRAILER}: {run_id}\n{TURN_TRAILER}: {turn_id}\n"


def with_trailers(message: str, run_id: str, turn_id: str) -> str:
    """Restore the trailers that a message may have lost in a hook's edit."""
    wanted = trailers(run_id, turn_id)
    kept = {line.strip() for line in message.splitlines()}
    if all(line in kept for line in wanted.splitlines()):
        return message
    return f"{message.rstrip()}\n\n{wanted}"


_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
"""Files that git leaves in a repository's directory while it is in the middle of something."""


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a commit. ``detail`` is for people, and lists files left out and why.

    ``state``: ``committed`` (``sha``), ``nothing`` (there was nothing to commit, or this is no
    place or moment to), ``refused`` (by a hook, whose output is in ``detail``), ``failed``.
    """

    state: CommitState
    sha: str | None = None
    detail: str = ""
    files: tuple[tuple[str, Kind], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


class CommitOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An order to commit the changes of one turn, in order, paths from ``root``.

    ``record`` is the file in which the commit's id is stored before the branch moves, out of reach
    of commands; ``note`` is a sentence for the message's body.
    """

    root: str
    record: str
    changes: tuple[FileChange, ...]
    run_id: str
    turn_id: str
    note: str = ""


def not_made(state: CommitState, detail: str, left_out: dict[str, str]) -> Committed:
    said = [detail, *not_committed(left_out)]
    return Committed(state=state, detail="\n".join(said), left_out=tuple(left_out.items()))


def kinds_of(differences: Differences) -> list[tuple[str, Kind]]:
    def kind(old: Entry | None, new: Entry | None) -> Kind:
        if old is None:
            return "created"
        return "deleted" if new is None else "modified"

    return [(path, kind(old, new)) for path, (old, new) in differences.items()]


def not_committed(left_out: dict[str, str]) -> list[str]:
    return [f"not committed: {visible(path)}: {why}" for path, why in left_out.items()]


def under_way(directory: str) -> str | None:
    return next(
        (what for name, what in _UNDER_WAY.items() if os.path.lexists(f"{directory}/{name}")), None
    )


def in_another(top: str, path: str) -> bool:
    """Return whether a path lies in a repository within this one."""
    return any(
        os.path.lexists(Path(top, above, ".git")) for above in PurePosixPath(path).parents
        if above.name
    )  # fmt: skip
