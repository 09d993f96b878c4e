"""What a year of use costs, and how it grows: each figure at several sizes, as a ratio.

    make bench-growth
    python benchmarks/bench_growth.py [--sizes N ...] [--starts-at N] [--only PART] [--json]
    python benchmarks/bench_growth.py --only many --against CHECKOUT [--rounds N]

History: STATE with so many ended runs, multiplied through the store's own door from a few that a
real daemon has played. One run of 2,000 steps, one conversation of 2,000 messages: walked by a real
daemon. Sessions: made-up transcripts, and one that is long. CPU is of the process that does the
work, all its threads. Ends with 1 where a goal is missed. ``--sizes 100 1000`` is a quick run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import (
    growth_followers,
    growth_history,
    growth_long,
    growth_many,
    growth_native,
    growth_sessions,
)
from benchmarks.growth import HEADER, Growth
from benchmarks.measure import Result, arguments, run

SIZES = (100, 10_000, 50_000)

PARTS: dict[str, Callable[[argparse.Namespace], list[Growth]]] = {
    "history": growth_history.measure,
    "run": growth_long.measure_run,
    "conversation": growth_long.measure_talk,
    "native": growth_native.measure,
    "followers": growth_followers.measure,
    "sessions": growth_sessions.measure,
    "many": growth_many.measure,
}
"""By what grows. A part measures at its own sizes and returns its figures."""

missed: list[str] = []


def measure(options: argparse.Namespace) -> Result:
    """Measure the parts that are wanted."""
    told = [one for name in options.only or PARTS for one in PARTS[name](options)]
    figures = [figure for one in told for figure in one.figures()]
    missed.extend(figure.name for figure in figures if not figure.met)
    return Result(
        figures=figures,
        header=HEADER,
        rows=[one.row() for one in told],
        details={one.name: dict(one.at) for one in told},
    )


def main() -> int:
    """Measure and judge; returns the exit status."""
    parser = arguments(__doc__, 1)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="ended runs (100 10000 50000)"
    )
    parser.add_argument(
        "--starts-at", type=int, default=10_000, help="runs where most are due (10000)"
    )
    parser.add_argument(
        "--against", type=Path, help="another checkout, which 'many' measures beside this one"
    )
    parser.add_argument("--only", action="append", choices=sorted(PARTS), help="one part alone")
    status = run("growth", parser.parse_args(), measure)
    return status or bool(missed)


if __name__ == "__main__":
    sys.exit(main())
