"""From which message a fork goes on, over records that are none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from podiumd.formats.claude_session import ClaudeSession
from podiumd.formats.session import Cursor, Entry, identity_of
from podiumd.sessions.log import forks, links
from podiumd.sessions.log.forks import nearest
from podiumd.sessions.log.numbered import Log
from podiumd.store.index import _TABLES
from tests.sessions.numbered import SESSION

FORMAT = ClaudeSession()
NAMES = tuple("abcdefgh")


def test_a_record_is_traced_to_the_nearest_message() -> None:
    parents = {b"hook": b"date", b"date": b"m", b"round": b"about", b"about": b"round"}
    find = {b"m": 1, b"n": 2}
    for record, seq in {b"n": 2, b"hook": 1, b"round": 0, b"nowhere": 0}.items():
        assert nearest(record, parents.get, lambda name: find.get(name, 0)) == seq


def by_reading_again(records: list[dict[str, str]], find: Callable[[bytes], int]) -> dict[int, int]:
    """What each message goes on from, when all records of the file are read for it."""
    parents = {one["uuid"]: one["parentUuid"] for one in records if one["type"] == "system"}
    origins = {}
    for one in (one for one in records if one["type"] == "user"):
        at, seen = one["parentUuid"], set[str]()
        while at and at not in seen and not find(identity_of(at)):
            seen.add(at)
            at = parents.get(at, "")
        origins[find(identity_of(one["uuid"]))] = find(identity_of(at)) if at else 0
    return origins


@example(rows=[("system", "a", "b"), ("user", "b", ""), ("system", "a", "")], after=["a"])
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(("user", "system")), st.sampled_from(NAMES), st.text(NAMES, max_size=1)
        ),
        max_size=24,
    ),
    after=st.lists(st.sampled_from(NAMES), max_size=24),
)
def test_forks_go_on_from_where_reading_all_of_the_file_again_says(
    rows: list[tuple[str, str, str]], after: list[str]
) -> None:
    """Whatever follows what: in circles, twice under one uuid, what comes later in the file."""
    records = [
        *({"type": kind, "uuid": name, "parentUuid": parent} for kind, name, parent in rows),
        *({"type": "user", "uuid": f"p{n}", "parentUuid": name} for n, name in enumerate(after)),
    ]
    message = {"message": {"role": "user", "content": "words"}}
    data = b"".join(json.dumps(one | message).encode() + b"\n" for one in records)
    log, cursor = Log(SESSION), Cursor()
    entries = FORMAT.entries(cursor, data)
    log.append(entries)
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(_TABLES)
        links.save(connection, SESSION, cursor.take_links())
        forks.resolve(connection, log, forks.of(log, entries))
    connection.close()

    origins = by_reading_again(records, log.find)
    for place in log.places(1, log.last_seq):
        expected = {entry.parent for entry in entries if entry.identity == place.identity}
        if place.fork and len(expected) == 1:  # of several with one uuid the first is told
            assert place.forks_from == origins[place.seq]


def test_what_follows_nothing_or_is_no_fork_is_not_looked_for() -> None:
    log = Log(SESSION)
    entries = [
        Entry(0, 1, identity_of("a"), "user"),
        Entry(2, 1, identity_of("b"), "user", ""),
        Entry(4, 1, identity_of("c"), "user", "hook"),
    ]
    log.append(entries)
    assert forks.of(log, entries) == [(3, identity_of("hook"))]
    log.set_fork(3, 1)
    assert forks.of(log, entries) == []
