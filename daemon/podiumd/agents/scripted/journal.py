"""What a scripted turn notes down while it plays, one JSON line at a time.

The lines are ``started`` (run and the turn's place in the script), ``acting`` before each file or
command, ``calling`` before each call of one of Podium's own tools, ``finished`` with the report.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import trio

from podiumd.core.reply.report import TurnReport

NAME = "journal.jsonl"

MOST_RUNS = 256
"""Runs whose turns are counted at a time; of one that was left out they are counted anew."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the journal."""

    event: str
    run_id: str = ""
    index: int | None = None
    action: str = ""
    report: TurnReport | None = None


class Played(msgspec.Struct, frozen=True):
    """What a journal tells: ``acted`` is true from the first file or command on, ``called`` from
    the first call of one of Podium's own tools on."""

    started: bool
    acted: bool
    called: bool
    report: TurnReport | None


class Journal:
    """Appends to the journal of one turn. When its call returns a line is on the disk, with all
    before it.

    But for the first: that is the kernel's until the next one, so a daemon's death does not lose
    it. A loss of power may, before a file, a command, a call or the turn's end: then nothing has
    begun that could not begin anew.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME

    async def started(self, run_id: str, index: int | None) -> None:
        """The turn at ``index`` of the script begins (``None``: none was left)."""
        await trio.lowlevel.checkpoint()
        entry = Entry("started", run_id=run_id, index=index)
        self._write(msgspec.json.encode(entry) + b"\n", durably=False)

    async def acting(self, action: str) -> None:
        """A file is about to be written, or a command to be run."""
        await self._append(Entry("acting", action=action))

    async def calling(self, call_id: str) -> None:
        """One of Podium's own tools is about to be called."""
        await self._append(Entry("calling", action=call_id))

    async def finished(self, report: TurnReport) -> None:
        """The turn is over; nothing of it is repeated from here on."""
        await self._append(Entry("finished", report=report))

    async def _append(self, entry: Entry) -> None:
        # The disk may take its time, and others have work meanwhile. Not to be given up: it is
        # known afterwards whether the line is there.
        await trio.to_thread.run_sync(self._write, msgspec.json.encode(entry) + b"\n")

    def _write(self, line: bytes, *, durably: bool = True) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
            if durably:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_journal(directory: Path) -> Played:
    """Read the journal of one turn; a turn without one was never begun."""
    entries = list(_entries(directory / NAME))
    reports = [entry.report for entry in entries if entry.report is not None]
    return Played(
        started=bool(entries),
        acted=any(entry.event == "acting" for entry in entries),
        called=any(entry.event == "calling" for entry in entries),
        report=reports[-1] if reports else None,
    )


class Plays:
    """How often each run has played each turn of its script.

    Counted once from the journals, so that it is right also after a restart, and then as turns
    begin: a turn costs the same whether it is the first of its run or the thousandth.
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[int]] = {}

    def of(self, parent: Path, run_id: str) -> Counter[int]:
        """The count by index; ``parent`` holds the directories of all turns."""
        counts = self._counts.pop(run_id, None)
        if counts is None:
            counts = _turns_played(parent, run_id)
        self._counts[run_id] = counts  # the newest; the first is of the run that rests longest
        if len(self._counts) > MOST_RUNS:
            del self._counts[next(iter(self._counts))]
        return counts

    def begun(self, run_id: str, index: int | None) -> None:
        """A turn of the run has begun, and its journal says so."""
        if index is not None and run_id in self._counts:
            self._counts[run_id][index] += 1


def _turns_played(parent: Path, run_id: str) -> Counter[int]:
    played: Counter[int] = Counter()
    for path in parent.glob(f"*/{NAME}"):
        for entry in _entries(path):
            if entry.event == "started" and entry.run_id == run_id and entry.index is not None:
                played[entry.index] += 1
    return played


def _entries(path: Path) -> Iterator[Entry]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError:
            # The last line of a crash may be cut; what it would have said did not happen for us.
            continue
