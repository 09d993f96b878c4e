"""What the records that are no messages follow, as it is stored."""

from __future__ import annotations

import sqlite3

import pytest

from podiumd.sessions.index import table
from podiumd.sessions.log import links
from podiumd.sessions.log.links import FEW, PAGE, Links
from tests.sessions.numbered import SESSION, name

OTHER = "5f1c8a52-0000-4000-8000-000000000002"


def chain(first: int, last: int) -> bytes:
    """Records of which each follows the one before it."""
    return b"".join(name(number) + name(number - 1) for number in range(first, last + 1))


@pytest.mark.parametrize("asked", [0, FEW])
def test_what_a_record_follows_is_known_however_often_it_is_asked(asked: int) -> None:
    """Also where its identity stands across two others, and where it stands twice."""
    across = name(1)[8:] + name(2)[:8]
    packed = name(1) + name(2) + across + name(3) + name(1) + name(4)
    known = Links(packed)
    for _ in range(asked):
        known.parent(name(9))
    assert known.parent(name(1)) == name(4)
    assert known.parent(across) == name(3)
    assert Links(packed[:32]).parent(across) is None
    assert [known.parent(name(number)) for number in (2, 9)] == [None, None]


def test_links_are_stored_in_pages_of_which_the_last_is_written_again(
    index: sqlite3.Connection,
) -> None:
    links.save(index, SESSION, chain(1, 2 * PAGE + 1))
    links.save(index, SESSION, b"")
    links.save(index, OTHER, chain(1, 1))
    before = index.total_changes
    links.save(index, SESSION, chain(2 * PAGE + 2, 2 * PAGE + 2))
    assert index.total_changes - before == 1

    known = links.load(index, SESSION)
    assert known._packed == chain(1, 2 * PAGE + 2)
    sizes = index.execute(
        "SELECT page, length(data) FROM log_links WHERE session_id = ?", (SESSION,)
    )
    assert dict(sizes.fetchall()) == {0: PAGE * 32, 1: PAGE * 32, 2: 64}


def test_a_full_last_page_stays_as_it_is(index: sqlite3.Connection) -> None:
    links.save(index, SESSION, chain(1, PAGE))
    links.save(index, SESSION, chain(PAGE + 1, PAGE + 1))
    assert links.load(index, SESSION)._packed == chain(1, PAGE + 1)


def test_links_go_with_their_log(index: sqlite3.Connection) -> None:
    for session_id in (SESSION, OTHER):
        links.save(index, session_id, chain(1, 3))
    table.forget(index, SESSION)
    assert links.load(index, SESSION).parent(name(2)) is None
    links.drop(index, OTHER)
    assert links.load(index, OTHER).parent(name(2)) is None
