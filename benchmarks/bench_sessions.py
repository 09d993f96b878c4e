"""The index of sessions: made, made again, grown, and the first reading of a large session.

    make bench-sessions     python benchmarks/bench_sessions.py [--rounds N] [--json]     (Linux)

On a made-up tree of 5,000 transcripts, 1 GB, with a warm file cache (``session_tree``; made once,
into ``.cache``). All that is compared runs in turn:

- the first index as a whole process, against ``ccusage`` reporting the same tree (native, which
  also works out prices) and ``wc -l`` counting its lines; every row is then compared with the
  tree's manifest;
- a restart on an unchanged tree, from the opening of the index until the list of sessions is known
  to be right, against a bare walk that looks at every file, each in a fresh process by its own
  clock; the same with one transcript in a hundred grown, and with ten times the files. What comes
  after that (everything is watched, and looked at once more) is shown beside it;
- ``sessions.messages`` of a 25 MB session that nobody has read yet, asked of a private daemon,
  against reading the same file and decoding its lines with msgspec (typed; for comparison also
  into plain objects).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import (
    WARM_UP_ROUNDS,
    CannotMeasure,
    Figure,
    Result,
    arguments,
    interleaved,
    median_ratio,
    run,
)
from benchmarks.session_daemon import Client, session_daemon, wait_for_index
from benchmarks.session_peers import (
    TYPED,
    UNTYPED,
    Ran,
    ccusage,
    install_ccusage,
    python,
    read_and_decode,
    wc,
)
from benchmarks.session_tree import Session, Spec, Tree, cached, going_on, write_session
from podiumd.sessions.index import table
from podiumd.store.index import open_index

USUAL, MANY = Spec(), Spec(files=50_000, mb=100)
GROWN_SHARE = 0.01
LARGE_BYTES = 25_000_000
PAGE = 100
WATCHED = "restart, until watched"


# -- the first index --------------------------------------------------------------------------


def first_index(tree: Tree, scratch: Path) -> Ran:
    """Index a tree into a fresh STATE."""
    state = scratch / "first"
    shutil.rmtree(state, ignore_errors=True)
    return python("index_once.py", state, tree.projects)


def report_usage(program: Path, tree: Tree, scratch: Path) -> Ran:
    """Let the peer read the tree, at home in an empty directory."""
    with tempfile.TemporaryDirectory(dir=scratch) as home:
        return Ran(ccusage(program, tree, Path(home)), {})


def first_indexes(tree: Tree, scratch: Path, rounds: int) -> dict[str, list[Ran]]:
    """Ours and the peers', in turn; the last of ours stays in ``first``."""
    program = install_ccusage()
    return interleaved(
        {
            "wc -l": lambda: Ran(wc(tree), {}),
            "ccusage": partial(report_usage, program, tree, scratch),
            "first index": partial(first_index, tree, scratch),
        },
        rounds,
    )


def differing(tree: Tree, state: Path) -> list[str]:
    """The sessions whose rows are not what the manifest says."""
    connection, _ = open_index(state)
    with closing(connection):
        listed, _ = table.listing(connection, None, limit=2 * len(tree.manifest.sessions))
    rows = {row.session_id: row for row in listed}
    sessions = {session.session_id: session for session in tree.manifest.sessions}
    return [key for key in rows.keys() | sessions if not _agree(sessions.get(key), rows.get(key))]


def _agree(session: Session | None, row: table.Row | None) -> bool:
    if session is None or row is None:
        return False
    found = row.summary
    told = (found.cwd, found.title, found.last_at, found.messages, found.lines, found.bad_lines)
    true = (session.cwd, session.title, session.last_at)
    counts = (session.messages, session.lines, session.bad_lines)
    return told == (*true, *counts) and found.prompt.startswith(session.prompt)


# -- restarts ---------------------------------------------------------------------------------


@contextmanager
def grown(tree: Tree) -> Iterator[int]:
    """The tree with some transcripts grown by a turn each; gives their number. Undone after."""
    whole = [session for session in tree.manifest.sessions if not session.torn]
    chosen = random.Random("grown").sample(whole, int(len(whole) * GROWN_SHARE))
    try:
        for session in chosen:
            scribe = going_on(tree, session)
            turn = scribe.turns()
            for _ in range(5):
                next(turn)
            with (tree.home / session.path).open("ab") as file:
                file.writelines(scribe.lines)
        yield len(chosen)
    finally:
        for session in chosen:
            path = tree.home / session.path
            os.truncate(path, session.size)
            os.utime(path, ns=(session.mtime_ns, session.mtime_ns))


def restart_grown(tree: Tree, state: Path, scratch: Path) -> Ran:
    """Restart on a grown tree with a copy of the index of the tree as it was."""
    copy = scratch / "grown"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(state, copy)
    with grown(tree):
        return python("index_once.py", copy, tree.projects)


def restarts(tree: Tree, many: Tree, scratch: Path, rounds: int) -> dict[str, list[Ran]]:
    """Restarts and walks, in turn. Both trees are indexed when the first one is timed."""
    state, state_of_many = scratch / "first", scratch / "many"
    python("index_once.py", state_of_many, many.projects)
    return interleaved(
        {
            "bare walk": partial(python, "walk_once.py", tree.projects),
            "restart": partial(python, "index_once.py", state, tree.projects, "watched"),
            "restart, 1 % grown": partial(restart_grown, tree, state, scratch),
            "bare walk, 10 x files": partial(python, "walk_once.py", many.projects),
            "restart, 10 x files": partial(python, "index_once.py", state_of_many, many.projects),
        },
        rounds,
    )


# -- a first reading --------------------------------------------------------------------------


async def first_reads(scratch: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds until a page of a large session is here, and of the bare reading of the same file.

    Every round has a session of its own: each is read for the first time once only.
    """
    home, spec = scratch / "large", Spec(seed=2, files=WARM_UP_ROUNDS + rounds, mb=25)
    sessions = [write_session(spec, home, number, LARGE_BYTES)[0] for number in range(spec.files)]
    waiting = iter(sessions)

    async with session_daemon(home) as daemon:
        with Client(daemon.machine.socket) as client:
            wait_for_index(client, len(sessions))

            def ask() -> float:
                session = next(waiting)
                began = time.perf_counter()
                page = client.call("sessions.messages", session_id=session.session_id, limit=PAGE)
                seconds = time.perf_counter() - began
                if page["last_seq"] != session.messages:
                    raise CannotMeasure(f"{page['last_seq']} of {session.messages} are there")
                return seconds

            last = home / sessions[-1].path
            return interleaved(
                {
                    "first read of 25 MB": ask,
                    "read and decode, typed": partial(read_and_decode, last, TYPED),
                    "read and decode, plain": partial(read_and_decode, last, UNTYPED),
                },
                rounds,
            )


# -- all of it --------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> Result:
    """Measure, and compare."""
    if not sys.platform.startswith("linux"):
        raise CannotMeasure("this needs Linux's /proc")
    tree, many = cached(USUAL), cached(MANY)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        scratch = Path(directory)
        first = first_indexes(tree, scratch, options.rounds)
        wrong = differing(tree, scratch / "first")
        peak = python("index_once.py", scratch / "memory", tree.projects, "memory").said["peak_mb"]
        again = restarts(tree, many, scratch, options.rounds)
        reads = trio.run(first_reads, scratch, options.rounds)
    wall = {name: [one.wall for one in took] for name, took in (first | again).items()}
    own = {name: [one.seconds for one in took] for name, took in again.items()}
    watched = {WATCHED: [one.said["watched_seconds"] for one in again["restart"]]}
    return Result(
        figures=_figures(wall, own, reads, peak, len(wrong)),
        header=[f"{options.rounds} rounds, {USUAL.name}", "median ms", "least", "most", "process"],
        rows=[
            *_rows({name: wall[name] for name in first}, wall),
            *_rows(own | watched, wall),
            *_rows(reads, {}),
        ],
        details={
            "wall": wall,
            "own": own | watched,
            "reads": reads,
            "peak_mb": peak,
            "wrong": wrong[:20],
        },
    )


def _figures(
    wall: dict[str, list[float]],
    own: dict[str, list[float]],
    reads: dict[str, list[float]],
    peak: float,
    wrong: int,
) -> list[Figure]:
    first, restart = wall["first index"], own["restart"]
    read, bare = reads["first read of 25 MB"], reads["read and decode, typed"]

    def ratio(
        name: str, ours: list[float], theirs: list[float], goal: float, aim: float | None = None
    ) -> Figure:
        return Figure(name, median_ratio(ours, theirs), "times", goal, aim)

    return [
        Figure("sessions that differ from the manifest", wrong, "", 0),
        ratio("first index, against ccusage", first, wall["ccusage"], 0.5, 0.35),
        ratio("first index, against wc -l", first, wall["wc -l"], 7, 5),
        Figure("memory of all processes while indexing", peak, "MB", 80),
        ratio("restart, against a bare walk", restart, own["bare walk"], 2, 1.8),
        ratio("restart with 1 % grown, against unchanged", own["restart, 1 % grown"], restart, 2),
        ratio("restart with 10 times the files", own["restart, 10 x files"], restart, 11),
        ratio("first read of 25 MB, against read and decode", read, bare, 3),
    ]


def _rows(taken: dict[str, list[float]], wall: dict[str, list[float]]) -> list[list[str | float]]:
    def ms(values: list[float], of: Any) -> float:
        return float(of(values)) * 1000

    return [
        [
            name,
            *(ms(times, of) for of in (statistics.median, min, max)),
            ms(wall[name], statistics.median) if name in wall else "",
        ]
        for name, times in taken.items()
    ]


if __name__ == "__main__":
    sys.exit(run("sessions", arguments(__doc__, 7).parse_args(), measure))
