"""What the benchmarks share: options, medians, the line about the machine, and two ways to print.

A benchmark tells, it does not judge: it exits 0 whatever it measured, and 1 where it could not
measure. Contenders that are compared run in one go, in turn, so that noise meets all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "benchmarks"
WARM_UP_ROUNDS = 2


class CannotMeasure(Exception):
    """Something that the measurement needs is missing; the text says what and what to do."""


def number(value: float) -> str:
    """Write a number with three digits, or all before the point: more would be noise."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


class Figure(NamedTuple):
    """One figure that Podium sets itself a goal for.

    ``goal`` is the bound that must hold, ``aim`` a better one that is wished for; both are upper
    bounds, or lower ones with ``at_least``.
    """

    name: str
    value: float
    unit: str
    goal: float
    aim: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the value keeps to the goal."""
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def line(self) -> str:
        """The figure for people, its goal beside it."""
        bound = f"at {'least' if self.at_least else 'most'} {self.goal:g}"
        aim = "" if self.aim is None else f", aim {self.aim:g}"
        missed = "" if self.met else "   MISSED"
        return f"{self.name}: {number(self.value)} {self.unit} (goal: {bound}{aim}){missed}"


class Result(NamedTuple):
    """What a benchmark found: figures with goals, a table behind them, and the same as data."""

    figures: Sequence[Figure]
    header: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    details: Mapping[str, Any]


def arguments(doc: str | None, rounds: int, what: str = "rounds") -> argparse.ArgumentParser:
    """Make the parser that all benchmarks begin with; ``doc`` is the module's docstring."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--rounds", type=_positive, default=rounds, help=f"{what} ({rounds})")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _positive(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is not a positive number")
    return count


def interleaved(
    contenders: Mapping[str, Callable[[], T]], rounds: int, warm_up: int = WARM_UP_ROUNDS
) -> dict[str, list[T]]:
    """Let the contenders run in turn; returns what each round of each gave, less the warm-up."""
    taken: dict[str, list[T]] = {name: [] for name in contenders}
    for turn in range(warm_up + rounds):
        for name, once in contenders.items():
            value = once()
            if turn >= warm_up:
                taken[name].append(value)
    return taken


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile of at least one value, interpolated between neighbours."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios, round by round: what was measured together is compared."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def machine() -> dict[str, Any]:
    """Describe what the figures were taken on, as far as it bears on them."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def run(
    name: str, options: argparse.Namespace, measure: Callable[[argparse.Namespace], Result]
) -> int:
    """Measure and print; returns the exit status."""
    about = machine()
    try:
        result = measure(options)
    except (CannotMeasure, OSError, subprocess.SubprocessError) as error:
        print(f"{name}: cannot measure: {error}", file=sys.stderr)
        return 1
    if options.json:
        figures = [{**figure._asdict(), "met": figure.met} for figure in result.figures]
        document = {"benchmark": name, "machine": about, "figures": figures}
        print(json.dumps({**document, "details": result.details}))
        return 0
    print(
        f"{name}: {about['processor']}, {about['cores']} cores, load {about['load']}, "
        f"{about['system']} {about['release']}, Python {about['python']}"
    )
    _print_table(result.header, result.rows)
    for figure in result.figures:
        print(figure.line())
    return 0


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str | float]]) -> None:
    cells = [list(header)]
    cells += [[one if isinstance(one, str) else number(one) for one in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        print("  ".join([first, *rest]))
