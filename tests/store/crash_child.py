"""Writes to a store until a failpoint kills it; run by the crash tests as a program.

Arguments: the state directory, the number of writers, the facts each stores. Every acknowledged
fact is a line "RUN SEQ POS VALUE" on stdout, written in one piece.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import trio

from podiumd.store.facts import Store, open_store
from podiumd.store.records import NewFact, RunRow

AT = "2026-01-02T03:04:05.678Z"


async def _write(store: Store, name: str, count: int) -> None:
    run = RunRow(name, "recipe", "running", None, "/project", AT, None, b"{}")
    for _ in range(count):
        done = len(await store.events(name))
        # Two facts a decision: half a decision must never be seen.
        new = [
            NewFact("step.entered", 1, AT, None, msgspec.json.encode({"value": done + offset}))
            for offset in range(2)
        ]
        for fact in await store.append(run, new):
            value = msgspec.json.decode(fact.data)["value"]
            os.write(1, f"{name} {fact.seq} {fact.pos} {value}\n".encode())


async def main(*arguments: str) -> None:
    """Open the store and let all writers go."""
    directory, writers, count = arguments
    async with open_store(Path(directory)) as store, trio.open_nursery() as nursery:
        for number in range(int(writers)):
            nursery.start_soon(_write, store, f"run-{number}", int(count))


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
