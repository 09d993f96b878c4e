"""Rows of sessions, their companions and logs, in the index."""

from __future__ import annotations

import os
import sqlite3

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.session import Summary
from podiumd.sessions.index import table
from podiumd.sessions.index.table import Row
from podiumd.sessions.log import links
from podiumd.sessions.log.numbered import PAGE
from podiumd.store.index import open_index
from tests.sessions.support import companion, session_id


def make(number: int, *, sort_at: int | None = None, cwd: str = "/home/dev/app") -> Row:
    name = session_id(number)
    return Row(
        session_id=name,
        agent="claude",
        path=f"/home/dev/.claude/projects/-home-dev-app/{name}.jsonl",
        dev=1,
        ino=number,
        size=1000 + number,
        mtime_ns=10**18 + number,
        offset=900,
        head=b"h" * 16,
        tail=b"t" * 16,
        generation=2,
        summary=Summary(cwd=cwd, title="A title", messages=number, last_at="2026-05-01T10:00:00Z"),
        problems=3,
        gone=False,
        sort_at=number if sort_at is None else sort_at,
    )


def facts(row: Row) -> tuple[str, int, int, int, int]:
    return (row.path, row.size, row.mtime_ns, row.ino, row.dev)


def ids(found: tuple[list[Row], int]) -> list[int]:
    return [int(row.session_id[-12:], 16) for row in found[0]]


def test_a_row_comes_back_as_it_was_saved(index: sqlite3.Connection) -> None:
    table.save(index, [make(1), make(2)])
    assert table.row(index, session_id(1)) == make(1)
    assert table.row(index, session_id(3)) is None
    assert table.rows(index, [session_id(2), session_id(3)]) == [make(2)]
    assert table.count(index) == 2


def test_a_session_is_found_by_the_beginning_of_either_of_its_ids(
    index: sqlite3.Connection,
) -> None:
    own = [msgspec.structs.replace(make(n), own_id=f"session_{n}") for n in (1, 2)]
    table.save(index, [*own, make(3)])
    assert table.row(index, session_id(1)) == own[0]
    first, second, third = (session_id(n) for n in (1, 2, 3))
    assert table.with_prefix(index, "session_", 9) == [first, second]
    assert table.with_prefix(index, "session_2", 9) == [second]
    assert table.with_prefix(index, first[:-1], 9) == [first, second, third]
    assert table.with_prefix(index, "", 1) == [first, first]
    asked = [first, third, session_id(4)]
    assert table.own_ids(index, asked) == {
        first: (own[0].agent, "session_1"),
        third: (own[0].agent, third),
    }


def test_a_row_takes_the_place_of_the_one_before(index: sqlite3.Connection) -> None:
    table.save(index, [make(1), make(2)])
    later = msgspec.structs.replace(make(1), size=5, summary=Summary(cwd="/elsewhere"), gone=True)
    table.save(index, [later])
    assert table.row(index, session_id(1)) == later
    assert table.count(index) == 2
    assert ids(table.listing(index, "/elsewhere", 10)) == [1]
    assert ids(table.listing(index, "/home/dev/app", 10)) == [2]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.binary(min_size=1, max_size=9))
def test_any_number_and_any_name_of_a_file_is_kept(
    tmp_path_factory: pytest.TempPathFactory, dev: int, ino: int, name: bytes
) -> None:
    connection, _ = open_index(tmp_path_factory.mktemp("state"))
    path = f"/p/{os.fsdecode(name)}/{session_id()}.jsonl"
    row = msgspec.structs.replace(make(1), dev=dev, ino=ino, path=path)
    table.save(connection, [row])
    table.save_companions(connection, [msgspec.structs.replace(companion(1), path=path)])
    assert table.row(connection, session_id()) == row
    assert table.row_of_path(connection, path) == row
    known = table.known(connection)
    assert known.sessions == {path: facts(row)}
    assert known.owner_of(path) == session_id(1)
    assert [one.path for one in table.companions(connection, session_id(1))] == [path]
    table.forget_companion(connection, path)
    assert table.companions(connection, session_id(1)) == []
    connection.close()


def test_what_is_known_is_of_files_that_are_there(index: sqlite3.Connection) -> None:
    gone = msgspec.structs.replace(make(2), gone=True)
    table.save(index, [make(1), gone])
    table.save_companions(index, [companion(1)])
    known = table.known(index)
    assert known.sessions == {make(1).path: facts(make(1))}
    assert known.companions == {companion(1).path: (companion(1).path, 1, 1, session_id(1))}
    assert known.owner_of(companion(1).path) == session_id(1)
    assert known.owner_of("/elsewhere") is None
    assert table.row_of_path(index, make(1).path) == make(1)
    assert table.row_of_path(index, gone.path) is None


# -- lists ---------------------------------------------------------------------------------------


def test_the_newest_session_comes_first(index: sqlite3.Connection) -> None:
    table.save(index, [make(1, sort_at=20), make(2, sort_at=30), make(3, sort_at=10)])
    assert ids(table.listing(index, None, 10)) == [2, 1, 3]


def test_a_list_may_be_of_one_directory(index: sqlite3.Connection) -> None:
    table.save(index, [make(n, cwd=f"/d/{n % 2}") for n in range(1, 6)])
    rows, total = table.listing(index, "/d/1", 2)
    assert [row.session_id for row in rows] == [session_id(5), session_id(3)]
    assert total == 3
    assert ids(table.listing(index, "/d/1", 2, before=3)) == [1]
    assert table.listing(index, "/d", 2) == ([], 0)


@pytest.mark.parametrize("cwd", [None, "/home/dev/app"])
@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(1, 5))
def test_pages_have_every_session_once(
    tmp_path_factory: pytest.TempPathFactory, cwd: str | None, times: list[int], limit: int
) -> None:
    connection, _ = open_index(tmp_path_factory.mktemp("state"))
    table.save(connection, [make(n, sort_at=time) for n, time in enumerate(times)])
    seen: list[Row] = []
    before = None
    while True:
        rows, total = table.listing(connection, cwd, limit, before)
        assert total == len(times)
        if not rows:
            break
        seen += rows
        before = rows[-1].sort_at
    connection.close()
    assert [row.session_id for row in seen] == [
        session_id(n) for _, n in sorted((-time, n) for n, time in enumerate(times))
    ]


@pytest.mark.parametrize("cwd", [None, "/home/dev/app"])
def test_a_page_is_found_without_sorting_or_scanning(
    index: sqlite3.Connection, cwd: str | None
) -> None:
    statements: list[str] = []
    table.save(index, [make(1), make(2)])
    index.set_trace_callback(statements.append)
    table.listing(index, cwd, 1, before=10)
    index.set_trace_callback(None)
    plans = [
        step[3]
        for statement in statements
        for step in index.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
    assert len(statements) == 3
    assert all("INDEX" in plan for plan in plans)
    scans = [plan for plan in plans if plan.startswith("SCAN")]
    assert len(scans) == (1 if cwd is None else 0)  # to count all of them
    assert all("COVERING INDEX" in plan for plan in scans)
    assert not any("B-TREE" in plan for plan in plans)


def test_what_is_known_is_read_from_one_index(index: sqlite3.Connection) -> None:
    statements: list[str] = []
    index.set_trace_callback(statements.append)
    table.known(index)
    index.set_trace_callback(None)
    ((_, _, _, plan),) = index.execute(f"EXPLAIN QUERY PLAN {statements[0]}")
    assert "COVERING INDEX sessions_by_path" in plan


def test_ids_are_found_by_how_they_begin(index: sqlite3.Connection) -> None:
    table.save(index, [make(n) for n in (1, 2, 0x11)])
    assert table.with_prefix(index, session_id(1)[:-1], 9) == [session_id(1), session_id(2)]
    assert table.with_prefix(index, session_id(1)[:-2], 2) == [session_id(1), session_id(2)]
    assert table.with_prefix(index, session_id(1), 9) == [session_id(1)]
    assert table.with_prefix(index, "%", 9) == table.with_prefix(index, "6", 9) == []


# -- companions ----------------------------------------------------------------------------------


def test_companions_are_counted_by_kind(index: sqlite3.Connection) -> None:
    table.save_companions(
        index,
        [
            companion(1),
            companion(1, "agent-2.jsonl"),
            companion(1, "agent-1.meta.json"),
            companion(2),
        ],
    )
    assert table.companion_counts(index, [session_id(1), session_id(3)]) == {
        session_id(1): {"subagent": 2, "subagent_meta": 1}
    }
    assert table.companions(index, session_id(2)) == [companion(2)]


def test_companions_change_and_go(index: sqlite3.Connection) -> None:
    table.save_companions(index, [companion(1), companion(2)])
    table.update_companions(index, [companion(1, size=9)], [companion(2).path, "/unknown"])
    assert table.companions(index, session_id(1)) == [companion(1, size=9)]
    assert table.companions(index, session_id(2)) == []


# -- logs ----------------------------------------------------------------------------------------


def test_a_log_comes_back_with_all_its_pages(index: sqlite3.Connection) -> None:
    name = session_id(1)
    for page in (2, 0, 1):
        table.save_page(index, name, page, bytes([page]) * 4)
    table.save_log(index, name, 3, b"state", 2 * PAGE + 1)
    stored = table.load_log(index, name)
    assert stored == table.StoredLog(3, b"state", 2 * PAGE + 1, b"\0\0\0\0\1\1\1\1\2\2\2\2")
    table.save_page(index, name, 2, b"new")
    table.save_log(index, name, 4, b"later", 2 * PAGE + 2)
    stored = table.load_log(index, name)
    assert stored == table.StoredLog(4, b"later", 2 * PAGE + 2, b"\0\0\0\0\1\1\1\1new")


def test_an_empty_log_is_one(index: sqlite3.Connection) -> None:
    table.save_log(index, session_id(1), 1, b"", 0)
    assert table.load_log(index, session_id(1)) == table.StoredLog(1, b"", 0, b"")


@pytest.mark.parametrize("pages", [[], [0], [0, 2], [1, 2], [0, 1, 2, 3]])
def test_a_log_of_which_pages_are_missing_is_none(
    index: sqlite3.Connection, pages: list[int]
) -> None:
    table.save_log(index, session_id(1), 1, b"", 2 * PAGE + 1)
    for page in pages:
        table.save_page(index, session_id(1), page, b"")
    assert table.load_log(index, session_id(1)) is None


def test_a_session_without_a_log_has_none(index: sqlite3.Connection) -> None:
    table.save_log(index, session_id(1), 1, b"", 0)
    assert table.load_log(index, session_id(2)) is None
    assert table.with_logs(index, [session_id(1), session_id(2)]) == {session_id(1)}


def test_a_log_that_is_dropped_is_gone(index: sqlite3.Connection) -> None:
    for number in (1, 2):
        table.save_log(index, session_id(number), 1, b"", 1)
        table.save_page(index, session_id(number), 0, b"page")
    table.drop_log(index, session_id(1))
    table.save_log(index, session_id(1), 1, b"", 0)
    assert table.load_log(index, session_id(1)) == table.StoredLog(1, b"", 0, b"")
    assert table.load_log(index, session_id(2)) == table.StoredLog(1, b"", 1, b"page")


def test_nothing_of_a_forgotten_session_is_left(index: sqlite3.Connection) -> None:
    for number in (1, 2):
        table.save(index, [make(number)])
        table.save_companions(index, [companion(number)])
        table.save_log(index, session_id(number), 1, b"", 1)
        table.save_page(index, session_id(number), 0, b"page")
        links.save(index, session_id(number), bytes(32))
    table.forget(index, session_id(1))
    for name in ("sessions", "companions", "logs", "log_pages", "log_links"):
        left = index.execute(f"SELECT session_id FROM {name}").fetchall()
        assert left == [(session_id(2),)]
