"""The notes of a scripted turn while it plays, one JSON line at a time.

The lines are ``started`` (run, agent and the turn's place in its script), ``acting`` before each
file or command, ``calling`` before each call of one of Podium's own tools, ``finished`` with the
report.
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
    """A line of the journal.

    ``ran``: so many of the turn's commands are not to be run again. They are those that an earlier
    daemon began, and of ``acting`` also the one that begins here. A journal of an earlier release
    names no ``agent``.
    """

    event: str
    run_id: str = ""
    index: int | None = None
    ran: int = 0
    action: str = ""
    report: TurnReport | None = None
    agent: str = ""


class Played(msgspec.Struct, frozen=True):
    """The content of a journal: ``acted`` is true from the first file or command on, ``called``
    from the first call of one of Podium's own tools on."""

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

    def __init__(self, directory: Path, agent: str) -> None:
        self._path = directory / NAME
        self._agent = agent

    async def started(self, run_id: str, index: int | None, ran: int = 0) -> None:
        """Note that the turn at ``index`` of the script begins (``None``: none was left)."""
        await trio.lowlevel.checkpoint()
        entry = Entry("started", run_id=run_id, index=index, ran=ran, agent=self._agent)
        self._write(msgspec.json.encode(entry) + b"\n", durably=False)

    async def acting(self, action: str, ran: int = 0) -> None:
        """Note that a file is about to be written, or a command to be run."""
        await self._append(Entry("acting", action=action, ran=ran))

    async def calling(self, call_id: str) -> None:
        """Note that one of Podium's own tools is about to be called."""
        await self._append(Entry("calling", action=call_id))

    async def finished(self, report: TurnReport) -> None:
        """Note that the turn is over; nothing of it is repeated from here on."""
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


class RunPlays:
    """Progress of one run in its script.

    ``used``: how often each turn, by index, was played to its end, or is being played. ``cut``: the
    turn played last, where the end of its daemon cut it off, and ``ran``, how many of its commands
    had begun.
    """

    def __init__(self) -> None:
        self.used: Counter[int] = Counter()
        self.cut: int | None = None
        self.ran = 0

    def begun(self, index: int | None) -> None:
        """Note that a turn has begun, and its journal says so."""
        self.cut = None
        if index is not None:
            self.used[index] += 1

    def cut_off(self, index: int | None, ran: int) -> None:
        """Note that the daemon ends before the turn that had begun: it is to be played again."""
        self.cut, self.ran = index, ran
        if index is not None:
            self.used[index] -= 1


class Plays:
    """Progress of each run in the script of one agent.

    Counted once from the journals, so that it is right also after a restart, and then as turns
    begin: a turn costs the same whether it is the first of its run or the thousandth.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._runs: dict[str, RunPlays] = {}

    def of(self, parent: Path, run_id: str) -> RunPlays:
        """Return the plays of a run; ``parent`` holds the directories of all turns."""
        plays = self._runs.pop(run_id, None)
        if plays is None:
            plays = _turns_played(parent, run_id, self._agent)
        self._keep(run_id, plays)
        return plays

    def none_yet(self, run_id: str) -> None:
        """Begin the count of a run that has played no turn; no journal is looked for."""
        self._runs.pop(run_id, None)
        self._keep(run_id, RunPlays())

    def _keep(self, run_id: str, plays: RunPlays) -> None:
        self._runs[run_id] = plays  # the newest; the first is of the run that rests longest
        if len(self._runs) > MOST_RUNS:
            del self._runs[next(iter(self._runs))]


def _turns_played(parent: Path, run_id: str, agent: str) -> RunPlays:
    """Count the turns of a run that an agent played, in the journals; none is being played."""
    plays, last = RunPlays(), (0, False)
    for path in parent.glob(f"*/{NAME}"):
        entries = list(_entries(path))
        started = (one for one in entries if one.event == "started" and one.run_id == run_id)
        begun = [one for one in started if one.agent in ("", agent)]
        if not begun:
            continue
        index, cut = begun[-1].index, ended_with_daemon(entries[-1].report)
        if index is not None and not cut:
            plays.used[index] += 1
        # Clocks of file systems are coarse: of two turns in one tick the cut one is the last.
        if (at := (path.stat().st_mtime_ns, cut)) >= last:
            last, plays.cut = at, index if cut else None
            plays.ran = max(entry.ran for entry in entries)
    return plays


def ended_with_daemon(report: TurnReport | None) -> bool:
    """Return whether a turn was cut off by the end of its daemon, before it had an end of its own.

    One that a person interrupted has its own.
    """
    return report is None


def _entries(path: Path) -> Iterator[Entry]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError:
            # The last line of a crash may be cut; its content did not happen for us.
            continue
