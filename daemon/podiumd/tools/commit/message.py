"""The message of a turn's commit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

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
