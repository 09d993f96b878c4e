"""The latest output of each run's turns: agents' words and activity, which are never stored.

A client that begins to follow in the middle of a turn gets it in its place among the facts, and so
does one that lagged behind. Kept in memory and bounded; output that is lost with it is in the
turn's report.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections import deque
from operator import attrgetter

import msgspec

from podiumd.wire.event import Event
from podiumd.wire.events import TurnOutput

MOST_PIECES = 2048
"""Pieces of one run."""

MOST_CHARACTERS = 256 * 1024
"""Characters of one run."""

MOST_RUNS = 32
"""Runs with the latest output, ended ones among them: a client that starts a run begins to follow
it a moment later."""


_number = attrgetter("number")


def _place(piece: Piece) -> int:
    """Behind which fact a piece stands; behind all of them where this daemon has stored none."""
    return sys.maxsize if piece.after is None else piece.after


class Piece(msgspec.Struct):
    """A piece of output. ``number`` counts all outputs from 1; ``after`` is the last fact of the
    run before it, ``None`` while this daemon has stored none; ``again``: a daemon before this one
    may have sent it."""

    number: int
    after: int | None
    event: Event
    output: TurnOutput
    again: bool = False

    @property
    def turn_id(self) -> str:
        return self.output.turn_id

    @property
    def size(self) -> int:
        return len(self.output.delta)


class _Run:
    """The pieces of one run."""

    def __init__(self) -> None:
        self.pieces: deque[Piece] = deque()
        self._characters = 0

    def keep(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self._characters += piece.size
        while len(self.pieces) > MOST_PIECES or self._characters > MOST_CHARACTERS:
            gone = self._drop()
            # An earlier turn is kept whole or not at all: its report has the rest in one piece.
            while self.pieces and self.pieces[0].turn_id == gone.turn_id != piece.turn_id:
                self._drop()

    def _drop(self) -> Piece:
        gone = self.pieces.popleft()
        self._characters -= gone.size
        return gone


class Recent:
    """The kept output of all runs. ``count`` is the number of the newest output."""

    def __init__(self) -> None:
        self.count = 0
        self._runs: dict[str, _Run] = {}
        self._facts: dict[str, int] = {}

    def keep(self, run_id: str, event: Event, output: TurnOutput, *, again: bool = False) -> Piece:
        """Keep an event that is sent now, and its output."""
        self.count += 1
        piece = Piece(self.count, self._facts.get(run_id), event, output, again)
        run = self._runs.pop(run_id) if run_id in self._runs else _Run()
        run.keep(piece)
        self._runs[run_id] = run  # last of all
        if len(self._runs) > MOST_RUNS:
            del self._runs[next(iter(self._runs))]
        return piece

    def stored(self, run_id: str, seq: int, *, last: bool) -> None:
        """Note a fact that is sent now; ``last``: the run is over."""
        if run_id not in self._facts and run_id in self._runs:
            for piece in self._runs[run_id].pieces:
                piece.after = seq - 1 if piece.after is None else piece.after
        self._facts[run_id] = seq
        if last:
            del self._facts[run_id]

    def before(self, run_id: str, seq: int) -> int:
        """Return the number of the last output that was sent before fact ``seq``; 0: none."""
        kept = self._runs[run_id].pieces if run_id in self._runs else ()
        found = bisect_left(kept, seq, key=_place)
        return kept[found - 1].number if found else 0

    def pieces(
        self, run_id: str, told: int, before: int | None, *, below: int | None = None
    ) -> list[Piece]:
        """List the outputs after number ``told`` and before number ``below``.

        These are those before fact ``before``, or all (``None``). Costs what it returns, not what
        is kept.
        """
        if run_id not in self._runs:
            return []
        kept = self._runs[run_id].pieces
        first = bisect_right(kept, told, key=_number)
        end = len(kept) if below is None else bisect_left(kept, below, key=_number)
        found = []
        for at in range(first, end):
            piece = kept[at]
            # Those that no fact of this daemon's came before are all that there are.
            if before is not None and (piece.after is None or piece.after >= before):
                break
            found.append(piece)
        return found
