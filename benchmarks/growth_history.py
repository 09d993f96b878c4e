"""What a long history of ended runs costs: queries, the first answer, the size of ``facts.db``."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import trio

from benchmarks.growth import Growth
from benchmarks.growth_state import Played, home_of, made, play
from podiumd.runtime.errors import PodiumError
from podiumd.runtime.open_questions import find_question
from podiumd.store.facts import Store, open_store
from tests.real_daemon import real_daemon

CPU_SECONDS = 0.3
"""Of one figure: what takes less is asked for again and again."""
MOST_CALLS = 300
STARTS = 3
DUE = 0.9
UNKNOWN = "00000000-0000-4000-8000-000000000000"
_TICK = os.sysconf("SC_CLK_TCK")

Call = Callable[[Store], Awaitable[object]]


async def _cpu_ms(store: Store, call: Call) -> float:
    """CPU of one call, all threads, the first left out: it fills caches."""
    await call(store)
    calls, began = 0, time.process_time()
    while calls < 3 or (time.process_time() - began < CPU_SECONDS and calls < MOST_CALLS):
        await call(store)
        calls += 1
    return (time.process_time() - began) * 1000 / calls


async def _question(store: Store, name: str) -> None:
    with suppress(PodiumError):
        await find_question(store, [], name)


async def _calls(store: Store) -> dict[str, Call]:
    """What is asked of a history, about what is in it."""
    rows = await store.runs(limit=40)
    middle, last = rows[20], await store.last_pos()
    session = middle.session_id or ""
    closed = [
        json.loads(bytes(fact.data))["question_id"]
        for row in rows
        for fact in await store.events(row.run_id)
        if fact.type == "question.closed"
    ]
    return {
        "a phone connects": lambda s: s.ended_recipes(0, last, 50),
        "a phone comes back after long": lambda s: s.ended_recipes(0, last // 2, 25),
        "a prompt into a known session": lambda s: s.runs_of_session(session, 1),
        "a prompt into an unknown session": lambda s: s.runs_of_session(UNKNOWN, 1),
        "a session by a short id": lambda s: s.sessions_with_prefix(session[:8], 4),
        "a run by a short id": lambda s: s.runs_with_prefix(middle.run_id[:8], 2),
        "an unknown question": lambda s: _question(s, UNKNOWN),
        "a closed question": lambda s: _question(s, closed[-1]),
        "a list of 20 runs": lambda s: s.runs(limit=20, kind="recipe"),
        "a look for old runs, none is due": lambda s: s.runs_ended_before("2001", 25),
    }


async def _asked(state: Path) -> dict[str, float]:
    async with open_store(state) as store:
        return {name: await _cpu_ms(store, call) for name, call in (await _calls(store)).items()}


def _first_answer(state: Path, keep_days: int) -> tuple[float, float]:
    """Seconds until a daemon on a copy of this STATE answers, and its CPU until then."""
    with home_of(state) as home:
        began = time.monotonic()
        with real_daemon(home, config=f"retention.runs_days = {keep_days}\n") as daemon:
            took = time.monotonic() - began
            return took, _cpu_of(daemon.process.pid)


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _starts(state: Path, due: float) -> list[Growth]:
    """The first answer with none due and with most of the runs, in turn."""
    days = {"none due": 0, "most due": max(1, round(200 * (1 - due)))}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in days}
    for _ in range(STARTS):
        for name, keep in days.items():
            taken[name].append(_first_answer(state, keep))
    return [
        Growth(f"first answer{more}", unit, at, goal)
        for place, (more, unit, goal) in enumerate((("", "s", 1.2), (", CPU", "s", 1.2)))
        for at in [{n: statistics.median(o[place] for o in took) for n, took in taken.items()}]
    ]


def measure(options: argparse.Namespace) -> list[Growth]:
    """Every figure of a history, at every size."""
    played: list[Played] = play()
    states = {str(size): made(size, played) for size in options.sizes}
    asked = {size: trio.run(_asked, state) for size, state in states.items()}
    told = [
        Growth(name, "CPU ms", {size: asked[size][name] for size in asked}, 2.0)
        for name in next(iter(asked.values()))
    ]
    sizes = {size: (state / "facts.db").stat().st_size / 1e6 for size, state in states.items()}
    told.append(Growth("facts.db", "MB", sizes))
    starts = {size: _first_answer(state, 0)[1] for size, state in states.items()}
    told.append(Growth("start, CPU", "s", starts, 2.0))
    middle = min(options.sizes, key=lambda size: abs(size - options.starts_at))
    return told + _starts(states[str(middle)], DUE)
