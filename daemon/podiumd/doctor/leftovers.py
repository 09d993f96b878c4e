"""Processes, spools and working trees that are left over. Listed, never touched."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from podiumd.core.excerpt import beginning
from podiumd.doctor.disk import reading
from podiumd.doctor.subject import PROC, Subject, descriptors, environment_of, pids
from podiumd.observe.checks import Check, ok, warn
from podiumd.runtime.worktrees.listing import SHORT
from podiumd.runtime.worktrees.unfinished import marker_of
from podiumd.store.connection import FACTS_NAME
from podiumd.store.schema import MIGRATIONS, schema_version
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.process.processes import MARKER, command_line

_TRANSIENT: Final = ("name-", "discovery")  # of what a daemon asks for a moment
_NAMED: Final = 5
_MOST_SAID: Final = 60
_LARGEST_RECORD: Final = 1024 * 1024


class Known(msgspec.Struct, frozen=True):
    """The facts in ``facts.db``: the runs and turns that are open, and the spools and working trees
    on disk that are a run's."""

    open_runs: frozenset[str] = frozenset()
    open_turns: frozenset[str] = frozenset()
    spools: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()


def leftovers(subject: Subject) -> list[Check]:
    """Orphans of all three kinds."""
    try:
        known = _known(subject)
    except (OSError, sqlite3.Error) as error:
        return [warn("orphans", f"not looked for: {FACTS_NAME}: {error}", "see its own line")]
    if known is None:
        words = f"not looked for: {FACTS_NAME} is of an earlier release"
        return [warn("orphans", words, "'podium up' lifts it, then ask again")]
    found = [*_processes(subject, known), *_left_on_disk(subject, known)]
    return found or [ok("orphans", "no process, spool or working tree without its run")]


def _known(subject: Subject) -> Known | None:
    """Look up in ``facts.db`` what is open and what lies there: few queries, each by an index.

    ``None`` where the database has not the indexes yet.
    """
    state = subject.places.state
    path = state / FACTS_NAME
    if not path.exists():
        return Known()
    with reading(path, subject.daemon.pid is not None) as facts:
        if schema_version(facts) < len(MIGRATIONS):
            return None
        open_runs = [run for (run,) in facts.execute(_OPEN)]
        return Known(
            open_runs=frozenset(open_runs),
            open_turns=frozenset().union(*(_open_turns(facts, run) for run in open_runs)),
            spools=frozenset(
                one.name
                for one in _inside(state / "turns")
                if facts.execute(_TURN, (one.name,)).fetchone()
            ),
            trees=frozenset(
                one.name for one in _inside(state / "worktrees") if _has_run(facts, one.name)
            ),
        )


_OPEN: Final = "SELECT run_id FROM runs INDEXED BY runs_open WHERE status <> 'ended'"
_TURN: Final = "SELECT 1 FROM names WHERE type = 'turn.intended' AND name = ?"
_BEGINS: Final = "SELECT 1 FROM runs WHERE run_id >= ? AND run_id < ?"
_TURNS: Final = """SELECT type, data FROM facts
    WHERE run_id = ? AND type IN ('turn.intended', 'turn.ended') ORDER BY seq"""


def _open_turns(facts: sqlite3.Connection, run_id: str) -> set[str]:
    begun: set[str] = set()
    for kind, data in facts.execute(_TURNS, (run_id,)):
        (begun.add if kind == "turn.intended" else begun.discard)(_turn_id(data))
    return begun


def _has_run(facts: sqlite3.Connection, tree: str) -> bool:
    """Older trees are called by the whole id of their run, others end in its beginning."""
    return any(
        facts.execute(_BEGINS, (beginning, beginning + "\U0010ffff")).fetchone()
        for beginning in (tree, tree[-SHORT:])
    )


def _turn_id(data: bytes) -> str:
    try:
        return str(json.loads(data)["turn_id"])
    except (ValueError, KeyError, TypeError):
        return ""  # damaged: the line about facts.db is for that


def _processes(subject: Subject, known: Known) -> Iterable[Check]:
    ours = known.open_turns | _markers_of_checks(subject.places.state, known.open_runs)
    ours |= {marker_of(run) for run in known.open_runs}
    if subject.daemon.pid is not None:
        ours |= _open_commands(subject.places.state / "commands")
    orphans = []
    for pid in pids():
        marker = environment_of(pid).get(MARKER, "")
        if not marker or pid == os.getpid() or marker in ours:
            continue
        transient = marker.startswith(_TRANSIENT) and subject.daemon.pid is not None
        if not transient and not _elsewhere(pid, marker, subject.places.state):
            orphans.append(f"{pid} ({beginning(command_line(pid), _MOST_SAID) or 'no name'})")
    if orphans:
        message = "processes with the mark of a turn that is not open: "
        fix = "look at them; 'kill PID' ends one. Another daemon (PODIUM_HOME) may own them"
        yield warn("orphans", message + _listed(orphans), fix)


def _markers_of_checks(state: Path, open_runs: frozenset[str]) -> frozenset[str]:
    """List the markers of checks: a check's output is in a file that bears its marker."""
    return frozenset(
        log.stem for run in open_runs for log in (state / "checks" / run).glob("*.log")
    )


def _open_commands(directory: Path) -> frozenset[str]:
    found = set()
    for record in directory.glob("cmd-*.json"):
        try:
            if json.loads(read_plain(record, _LARGEST_RECORD)).get("exit_code") is None:
                found.add(record.stem)
        except (OSError, ValueError, AttributeError):
            continue
    return frozenset(found)


def _elsewhere(pid: int, marker: str, state: Path) -> bool:
    """Return whether the process has files of its turn open in another daemon's STATE."""
    if sys.platform != "linux":
        return False
    place = f"/turns/{marker}/"
    names = descriptors(PROC / str(pid))
    return any(place in name and not name.startswith(f"{state}/") for name in names)


def _left_on_disk(subject: Subject, known: Known) -> Iterable[Check]:
    for what, folder, of_runs, remove in (
        ("spools", "turns", known.spools, "'rm -r PATH'"),
        ("working trees", "worktrees", known.trees, "'git worktree remove PATH'"),
    ):
        inside = _inside(subject.places.state / folder)
        found = [str(path) for path in inside if path.name not in of_runs]
        if found:
            message = f"{what} of no run: {_listed(found)}"
            yield warn("orphans", message, f"look at them; {remove} removes one")


def _inside(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _listed(every: list[str]) -> str:
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(every[:_NAMED]) + more
