"""What the search for a turn's processes costs in this process; one JSON line.

    PYTHONPATH=CHECKOUT/daemon python benchmarks/sweep_once.py

CPU milliseconds of one ``carriers``, of one ``sweep`` that finds nothing, and of each of fifty
sweeps at once; and for how long, with those fifty, others had to wait at most.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from importlib import import_module

import trio

try:
    _processes = import_module("podiumd.tools.process.processes")
except ModuleNotFoundError:
    _processes = import_module("podiumd.tools.process")  # where 0.1 has them
carriers, sweep = _processes.carriers, _processes.sweep

CALLS = 10
AT_ONCE = 50


async def _cpu_ms(call: Callable[[], Awaitable[object]], count: int) -> float:
    began = time.process_time()
    await call()
    return (time.process_time() - began) * 1000 / count


async def _measure() -> dict[str, float]:
    async def look() -> None:
        for _ in range(CALLS):
            carriers("nobody")

    async def one_by_one() -> None:
        for number in range(CALLS):
            await sweep(f"nobody-{number}")

    async def together() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(AT_ONCE):
                nursery.start_soon(sweep, f"nobody-{number}")

    longest = 0.0

    async def others() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await trio.lowlevel.checkpoint()
            longest = max(longest, (time.thread_time() - began) * 1000)

    found = {
        "carriers": await _cpu_ms(look, CALLS),
        "sweep": await _cpu_ms(one_by_one, CALLS),
        "sweep_of_50": await _cpu_ms(together, AT_ONCE),
    }
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await together()
        nursery.cancel_scope.cancel()
    return found | {"held": longest}


if __name__ == "__main__":
    print(json.dumps(trio.run(_measure)))
