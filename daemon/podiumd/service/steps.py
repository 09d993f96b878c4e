"""What a plan is made of. A plan is data: it can be printed, compared, and carried out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Turns = Literal["leave", "interrupt"]


@dataclass(frozen=True)
class MakeDirectory:
    """Make a directory and those above it, with this mode where it is missing."""

    path: Path
    mode: int = 0o755


@dataclass(frozen=True)
class WriteFile:
    """Put a text in the place of a file, at once."""

    path: Path
    text: str
    mode: int


@dataclass(frozen=True)
class RemoveFile:
    """Remove a file, if it is there."""

    path: Path


@dataclass(frozen=True)
class RemoveEmpty:
    """Remove a directory, if it is there and nothing is in it."""

    path: Path


@dataclass(frozen=True)
class PutBack:
    """Have every file that this plan's forerunner wrote or removed as it was before."""


@dataclass(frozen=True)
class Run:
    """Run a program. ``tolerate``: it may fail, because what it undoes may not be there.
    ``environment``: all that it is given, else what we have."""

    argv: tuple[str, ...]
    tolerate: bool = False
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True)
class StopDaemon:
    """Stop the daemon that answers, if one does, and wait until its process is gone.

    ``only_stray``: one that runs as the service is left alone. ``meanwhile`` runs once we are
    connected: it keeps the service manager from starting the next daemon for the next client.
    """

    turns: Turns
    only_stray: bool = False
    meanwhile: tuple[Run, ...] = ()


@dataclass(frozen=True)
class AwaitAnswer:
    """Wait until the daemon answers as a service."""


Step = (
    MakeDirectory | WriteFile | RemoveFile | RemoveEmpty | PutBack | Run | StopDaemon | AwaitAnswer
)
Plan = tuple[Step, ...]


def describe(step: Step) -> str:
    """One line of ``--dry-run``; texts of files are shown apart."""
    match step:
        case MakeDirectory(path, mode):
            return f"make the directory {path} ({mode:04o}), if it is missing"
        case WriteFile(path, _, mode):
            return f"write {path} ({mode:04o})"
        case RemoveFile(path):
            return f"remove {path}"
        case RemoveEmpty(path):
            return f"remove the directory {path}, if it is empty"
        case PutBack():
            return "put every file back as it was"
        case Run(argv, tolerate, environment):
            alone = " in the environment of the service" if environment is not None else ""
            return f"run{alone}: {shlex.join(argv)}{' (it may fail)' if tolerate else ''}"
        case StopDaemon(turns, only_stray, meanwhile):
            which = "a daemon that runs without the service" if only_stray else "the daemon"
            how = "its turns go on" if turns == "leave" else "its turns are interrupted"
            first = "".join(f", meanwhile {shlex.join(run.argv)}" for run in meanwhile)
            return f"stop {which}, if one runs ({how}){first}"
        case AwaitAnswer():
            return "wait until the daemon answers"
