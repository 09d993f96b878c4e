"""Every query of the store finds what it wants by an index: none reads a table through.

All of ``Store`` is called here, on a store of two sizes, and each statement that SQLite is given is
explained by SQLite itself. A call that is not tried, or a statement that no call has reached,
fails: a new query cannot come without its index. How much a query does is told by SQLite's own
count of the instructions of its virtual machine, never by a clock.
"""

from __future__ import annotations

import ast
import inspect
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from podiumd.store import reading, writing
from podiumd.store.facts import Store, open_store
from podiumd.store.records import Ledger
from tests.store.support import a_fact, a_run

FEW, MANY = 20, 200
OLD, AT, NEW = "2026-01-01T00:00:00.000Z", "2026-01-02T03:04:05.678Z", "2026-03-01T00:00:00.000Z"

Call = Callable[[Store, int], Awaitable[object]]

READS: dict[str, list[Call]] = {
    "events": [lambda s, n: s.events(f"run-{n - 1:03}", 1), lambda s, n: s.events("none", 0, 9)],
    "events_after": [
        lambda s, n: s.events_after(4 * n - 2, 9),
        lambda s, n: s.events_after(4 * n - 2, 9, frozenset({"run.ended"})),
    ],
    "ended_recipes": [lambda s, n: s.ended_recipes(0, 4 * n, 5)],
    "named": [
        lambda s, n: s.named("question.closed", "question-01", 1),
        lambda s, n: s.named("question.closed", "unknown", 1),
        lambda s, n: s.named("turn.intended", "turn-000", 1),
    ],
    "agent_session": [lambda s, n: s.agent_session("session-001")],
    "sessions_named": [lambda s, n: s.sessions_named([("codex", "own-001"), ("", "")])],
    "sessions_called": [lambda s, n: s.sessions_called("own-001")],
    "named_with_prefix": [
        lambda s, n: s.named_with_prefix("own-01", 4),
        lambda s, n: s.named_with_prefix("session-01", 4),
    ],
    "of_type": [lambda s, n: s.of_type(["run-001", "none"], "turn.intended")],
    "last_pos": [lambda s, n: s.last_pos()],
    "open_runs": [lambda s, n: s.open_runs()],
    "runs": [
        lambda s, n, active=active, kind=kind, before=before: s.runs(  # type: ignore[misc]
            active=active, kind=kind, before=before, limit=4
        )
        for active in (None, True, False)
        for kind in (None, "recipe")
        for before in (None, "run-010", "none")
    ],
    "run": [lambda s, n: s.run("run-001")],
    "runs_with_prefix": [lambda s, n: s.runs_with_prefix("run-01", 2)],
    "runs_of_session": [
        lambda s, n: s.runs_of_session("session-001", 1),
        lambda s, n: s.runs_of_session("none", 1),
    ],
    "sessions_with_prefix": [
        lambda s, n: s.sessions_with_prefix("session-01", 4),
        lambda s, n: s.sessions_with_prefix("none", 4),
    ],
    "token": [lambda s, n: s.token("runs.start", "token-1")],
    "runs_ended_before": [
        lambda s, n: s.runs_ended_before(AT, 5),
        lambda s, n: s.runs_ended_before(OLD, 5),
    ],
    "events_of": [
        lambda s, n: s.events_of("run-001", frozenset({"turn.intended", "run.ended"}), 1, 4),
        lambda s, n: s.events_of("none", frozenset({"turn.intended"}), 0, None),
    ],
    "last_event": [
        lambda s, n: s.last_event("run-001", "turn.intended", b"turn-001"),
        lambda s, n: s.last_event("run-001", "run.ended", b"", 2),
    ],
    "setting": [lambda s, n: s.setting("key")],
    "mark": [lambda s, n: s.mark("session-1")],
    "ledger": [lambda s, n: s.ledger("session-1")],
    "marks_after": [
        lambda s, n: s.marks_after("", 5),
        lambda s, n: s.marks_after("session-18", 5),
    ],
    "unused": [lambda s, n: s.unused()],
    "ledgers_gone": [lambda s, n: s.ledgers_gone()],
}
WRITES: dict[str, list[Call]] = {
    "append": [
        lambda s, n: s.append(
            a_run("one-more"),
            [
                a_fact(type="turn.intended", data=b'{"turn_id":"turn-x"}'),
                a_fact(type="question.closed", data=b'{"question_id":"question-x"}'),
                a_fact(
                    type="session.named",
                    data=b'{"session_id":"session-x","agent_session_id":"own-x"}',
                ),
            ],
            token=("runs.start", "token-x", "digest"),
            mark=("session-x", b"{}"),
        ),
        lambda s, n: s.append(a_run("one-more"), [a_fact()]),
    ],
    "prune_tokens": [lambda s, n: s.prune_tokens(OLD), lambda s, n: s.prune_tokens(AT)],
    "forget_runs": [lambda s, n: s.forget_runs(["run-002", "run-003"])],
    "set_setting": [lambda s, n: s.set_setting("key", b"1")],
    "save_ledgers": [lambda s, n: s.save_ledgers([Ledger("session-1", 1, b"", b"{}")])],
    "forget_marks": [lambda s, n: s.forget_marks(["session-001", "none"])],
    "give_back": [lambda s, n: s.give_back(3)],
    "forget_ledger": [lambda s, n: s.forget_ledger("by-file", "session-1")],
    "ping": [lambda s, n: s.ping()],
}
CALLS = {**WRITES, **READS, "forget_ledger": WRITES["forget_ledger"]}


async def fill(store: Store, count: int) -> None:
    """Runs that ended, each with a turn and most with a question; the last one is open."""
    for n in range(count):
        over = n < count - 1
        run = a_run(
            f"run-{n:03}",
            kind="recipe" if n % 2 else "prompt",
            status="ended" if over else "running",
            ended_at=AT[:-1] + f"{n:03}Z" if over else None,
            session_id=f"session-{n:03}",
        )
        data = msgspec.json.encode({"turn_id": f"turn-{n:03}"})
        turn = a_fact(type="turn.intended", at=AT if n else OLD, data=data)
        called = {"session_id": f"session-{n:03}", "agent_session_id": f"own-{n:03}"}
        named = a_fact(type="session.named", data=msgspec.json.encode(called))
        asked = msgspec.json.encode({"question_id": f"question-{n:03}"})
        closed = a_fact(type="question.closed", data=asked) if n % 3 else a_fact()
        end = a_fact(type="run.ended" if over else "step.entered")
        token = ("runs.start", f"token-{n}", "digest")
        await store.append(
            run, [turn, named, closed, end], token=token, mark=(f"session-{n}", b"{}")
        )
    await store.save_ledgers([Ledger(f"session-{n}", 1, b"") for n in range(count)])


class Watched(sqlite3.Connection):
    """A connection that notes each statement: where it stands in the store, how SQLite goes about
    it, and how many instructions it took."""

    sites: ClassVar[set[tuple[str, int]]] = set()
    plans: ClassVar[dict[str, list[str]]] = {}
    steps: ClassVar[list[int]] = []

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        return self._noted(super().execute, sql, parameters, parameters)

    def executemany(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        every = list(parameters)
        return self._noted(super().executemany, sql, every, every[0])

    def _noted(
        self, run: Callable[..., sqlite3.Cursor], sql: str, parameters: Any, one: Any
    ) -> sqlite3.Cursor:
        caller = sys._getframe(2)
        where = Path(caller.f_code.co_filename).name
        if where in ("reading.py", "reading.py", "writing.py"):
            self.sites.add((where, caller.f_lineno))
            plan = super().execute(f"EXPLAIN QUERY PLAN {sql}", one).fetchall()
            self.plans[" ".join(sql.split())] = [detail for *_, detail in plan]
            self.set_progress_handler(self._count, 1)
        cursor = run(sql, parameters)
        if where == "writing.py":
            self.set_progress_handler(None, 0)
        return cursor

    def _count(self) -> None:
        self.steps[-1] += 1


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Watched]]:
    connect = sqlite3.connect
    Watched.sites, Watched.plans, Watched.steps = set(), {}, [0]
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Watched))
        yield Watched


def statements(module: Any) -> dict[tuple[str, int], range]:
    """Where the store gives SQLite a statement, and the lines it takes."""
    path = Path(inspect.getfile(module))
    return {
        (path.name, node.lineno): range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("execute", "executemany")
    }


def public(kind: type) -> set[str]:
    found = inspect.getmembers(kind, inspect.iscoroutinefunction)
    return {name for name, _ in found if not name.startswith("_")}


def reads_through(plan: list[str]) -> list[str]:
    """What of a plan grows with the table. A partial index has just the rows that are wanted."""
    partial = ("runs_open", "ledgers_gone")
    return [
        line
        for line in plan
        if ("SCAN" in line and not line.endswith((*partial, "CONSTANT ROW")))
        or "TEMP B-TREE" in line
        or "AUTOMATIC" in line
    ]


async def counted(
    directory: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[str, int], int]:
    """Every call on a store of ``count`` runs: how many instructions each took."""
    async with open_store(directory) as store:
        await fill(store, count)
    found = {}
    with watched(monkeypatch) as connection:
        async with open_store(directory) as store:
            for name, calls in CALLS.items():
                for number, call in enumerate(calls):
                    connection.steps.append(0)
                    await call(store, count)
                    found[name, number] = connection.steps[-1]
    return found


def test_every_call_of_the_store_is_tried() -> None:
    assert set(CALLS) == public(Store)


async def test_no_query_reads_a_table_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await counted(tmp_path, FEW, monkeypatch)
    lines = statements(reading) | statements(writing)
    missed = [
        site
        for site, span in lines.items()
        if not any(name == site[0] and line in span for name, line in Watched.sites)
    ]
    assert missed == [], "no call reaches these statements"
    bad = {sql: slow for sql, plan in Watched.plans.items() if (slow := reads_through(plan))}
    assert bad == {}


async def test_a_query_does_the_same_among_ten_times_as_many_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = await counted(tmp_path / "few", FEW, monkeypatch)
    many = await counted(tmp_path / "many", MANY, monkeypatch)
    grown = {call: (few[call], many[call]) for call in few if many[call] > 2 * few[call] + 20}
    assert grown == {}


def test_a_scan_is_seen() -> None:
    assert reads_through(["SCAN runs"]) == ["SCAN runs"]
    assert reads_through(["SCAN runs USING INDEX runs_by_kind"])
    assert reads_through(["USE TEMP B-TREE FOR ORDER BY"])
    assert not reads_through(["SEARCH runs USING INDEX runs_by_kind (kind=?)"])
    assert not reads_through(["SCAN runs USING INDEX runs_open"])
    assert not reads_through(["SCAN CONSTANT ROW"])
