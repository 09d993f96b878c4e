"""The daemon's counters, and their form for Prometheus. Nothing here waits or writes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Protocol

import msgspec
import trio

BOUNDS_SECONDS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip
"""The upper ends of the histogram's buckets; what is above them all is in one more."""

Labels = tuple[tuple[str, str], ...]


class Fact(Protocol):
    """A stored fact, as far as it is counted."""

    @property
    def run_id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def data(self) -> msgspec.Raw: ...


class Histogram:
    """Distribution of durations: how many fell into each bucket."""

    __slots__ = ("counts", "longest", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self.seconds = 0.0
        self.longest = 0.0

    def add(self, seconds: float) -> None:
        """Note one time."""
        self.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)

    @property
    def count(self) -> int:
        """Return how many times were noted."""
        return sum(self.counts)


def quantile(counts: Sequence[int], share: float) -> float:
    """Return the time below which a share (0 to 1) of the times lie, in seconds.

    It is the upper end of its bucket, so never too small; 0 where none was noted. Above the last
    bound it is infinite.
    """
    wanted = share * sum(counts)
    if not wanted:
        return 0.0
    at = next(index for index, seen in enumerate(accumulate(counts)) if seen >= wanted)
    return (*BOUNDS_SECONDS, float("inf"))[at]


class Counter:
    """A count that only grows. ``add`` is called on paths where a microsecond counts."""

    __slots__ = ("_stir", "value")

    def __init__(self, stir: Callable[[], None]) -> None:
        self.value = 0
        self._stir = stir

    def add(self) -> None:
        """Add one."""
        self.value += 1
        self._stir()


class _Gauge(msgspec.Struct, frozen=True):
    words: str
    read: Callable[[], float]


class Meters:
    """The counters of one daemon.

    ``rpc_requests``: lines of clients on the socket. ``received`` and ``sent``: messages of phones.
    ``loop``: see ``podiumd.observe.loop_delay``. ``kind_of`` returns the kind of a living run.
    """

    def __init__(self) -> None:
        self.rpc_requests = Counter(self._stir)
        self.received = Counter(self._stir)
        self.sent = Counter(self._stir)
        self.loop = Histogram()
        self.turns: dict[str, int] = {}
        self.runs: dict[tuple[str, str], int] = {}
        self.started: dict[str, int] = {"recipe": 0, "prompt": 0}
        self.kind_of: Callable[[str], str | None] = lambda _: None
        self._gauges: dict[str, _Gauge] = {}
        self._quiet = True
        self._stirred = trio.Event()

    def _stir(self) -> None:
        if self._quiet:
            self._quiet = False
            self._stirred.set()

    async def stirred(self) -> None:
        """Return once something has gone on since ``settle``."""
        await self._stirred.wait()

    def settle(self) -> None:
        """Let ``stirred`` wait for what comes from here on."""
        self._quiet = True
        self._stirred = trio.Event()

    def gauge(self, name: str, words: str, read: Callable[[], float]) -> None:
        """Register a value that goes up and down; ``read`` is quick and does not raise."""
        self._gauges[name] = _Gauge(words, read)

    def gauges(self) -> dict[str, float]:
        """Read every gauge by name, as it is now."""
        return {name: gauge.read() for name, gauge in self._gauges.items()}

    def take(self, facts: Sequence[Fact]) -> None:
        """Count facts that were stored."""
        self._stir()
        for fact in facts:
            match fact.type:
                case "run.started":
                    _count(self.started, msgspec.json.decode(fact.data)["kind"])
                case "turn.ended":
                    _count(self.turns, msgspec.json.decode(fact.data)["report"]["kind"])
                case "run.ended":
                    exit_class = msgspec.json.decode(fact.data)["exit"]["class"]
                    key = (self.kind_of(fact.run_id) or "unknown", exit_class)
                    self.runs[key] = self.runs.get(key, 0) + 1

    def exposition(self, more: Sequence[tuple[str, str, float]] = ()) -> str:
        """Render all in Prometheus' text format 0.0.4, with ``more`` gauges: name, words, value."""
        values = [(name, gauge.words, gauge.read()) for name, gauge in self._gauges.items()]
        gauges = _gauges((*values, *more))
        return "\n".join((*self._counters(), *self._loop(), *gauges)) + "\n"

    def _counters(self) -> Iterator[str]:
        yield from _head("runs_started_total", "counter", "Runs and prompts begun, by kind.")
        for kind, count in self.started.items():
            yield _row("runs_started_total", count, (("kind", kind),))
        yield from _head("runs_total", "counter", "Runs and prompts ended, by kind and class.")
        for (kind, exit_class), count in sorted(self.runs.items()):
            yield _row("runs_total", count, (("kind", kind), ("class", exit_class)))
        yield from _head("prompts_total", "counter", "Plain prompts begun.")
        yield _row("prompts_total", self.started["prompt"])
        yield from _head("turns_total", "counter", "Turns of agents ended, by how they ended.")
        for end, count in sorted(self.turns.items()):
            yield _row("turns_total", count, (("end", end),))
        yield from _head("rpc_requests_total", "counter", "Lines of clients on the socket.")
        yield _row("rpc_requests_total", self.rpc_requests.value)
        yield from _head("gateway_messages_total", "counter", "Messages of phones, by direction.")
        for direction, counter in (("received", self.received), ("sent", self.sent)):
            yield _row("gateway_messages_total", counter.value, (("direction", direction),))

    def _loop(self) -> Iterator[str]:
        name = "loop_delay_seconds"
        words = "How long a task that is ready may wait: the length of a pass of the event loop."
        yield from _head(name, "histogram", words)
        ends = [*map(repr, BOUNDS_SECONDS), "+Inf"]
        for end, count in zip(ends, accumulate(self.loop.counts), strict=True):
            yield _row(f"{name}_bucket", count, (("le", end),))
        yield _row(f"{name}_sum", self.loop.seconds)
        yield _row(f"{name}_count", self.loop.count)


def _gauges(values: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    for name, words, value in values:
        yield from _head(name, "gauge", words)
        yield _row(name, value)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP podium_{name} {words}"
    yield f"# TYPE podium_{name} {kind}"


def _row(name: str, value: float, labels: Labels = ()) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"podium_{name}{{{shown}}} {value}" if shown else f"podium_{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
