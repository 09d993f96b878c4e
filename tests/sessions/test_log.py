"""The log of a session: one number a message, for ever."""

from __future__ import annotations

import pytest

from podiumd.formats.session import Entry
from podiumd.sessions.log.numbered import Log, Place
from tests.sessions.numbered import SESSION, entries, entry, log_of, name
from tests.work import at_most_lines

# -- appending -------------------------------------------------------------------------------


def test_messages_are_numbered_from_one_in_the_order_of_the_file() -> None:
    log = Log(SESSION)
    assert (log.last_seq, log.page_count, log.generation) == (0, 0, 1)
    assert log.append([entry(7), entry(3, role="assistant")]) == [1, 2]
    assert log.append([entry(5)]) == [3]
    assert log.last_seq == 3
    assert log.place(2) == Place(
        seq=2,
        offset=300,
        length=99,
        role="assistant",
        identity=name(3),
        fork=False,
        forks_from=0,
        gone=False,
    )


def test_an_offset_beyond_four_gigabytes_is_kept() -> None:
    log = Log(SESSION)
    log.append([Entry(2**40, 2**32 - 1, name(1), "user", None)])
    assert (log.place(1).offset, log.place(1).length) == (2**40, 2**32 - 1)


def test_a_prompt_with_a_parent_is_a_fork_from_nowhere_until_told() -> None:
    log = Log(SESSION)
    log.append([entry(1), entry(2), entry(3, parent="uuid of 1")])
    assert [place.fork for place in log.places(1, 3)] == [False, False, True]
    assert log.place(3).forks_from == 0
    log.set_fork(3, 1)
    assert (log.place(3).fork, log.place(3).forks_from) == (True, 1)
    log.set_fork(3, 0)
    assert (log.place(3).fork, log.place(3).forks_from) == (True, 0)


# -- looking up ------------------------------------------------------------------------------


def test_bytes_that_only_look_like_an_identity_are_not_taken_for_one() -> None:
    """A record may begin with sixteen zeros, but that is not where an identity stands."""
    log = Log(SESSION)
    log.append([Entry(0, 0, b"\1" * 16, "user", None), *entries(3, first=1)])
    assert log.find(bytes(16)) == 0
    assert log.append([Entry(0, 0, bytes(16), "user", None)]) == [5]
    assert log.find(bytes(16)) == 5


def test_identities_that_end_alike_are_told_apart() -> None:
    log = Log(SESSION)
    alike = [bytes([number]) + b"\7" * 15 for number in range(200)]
    log.append([Entry(0, 1, identity, "user", None) for identity in alike])
    assert [log.find(identity) for identity in alike] == list(range(1, 201))
    assert log.find(b"\xff" + b"\7" * 15) == 0


@pytest.mark.parametrize("seq", [0, -1, 4])
def test_a_number_that_no_message_has_is_refused(seq: int) -> None:
    log = log_of(1, 2, 3)
    with pytest.raises(IndexError, match=f"messages 1 to 3, and none {seq}"):
        log.place(seq)
    with pytest.raises(IndexError):
        log.set_fork(seq, 0)
    if seq:
        with pytest.raises(IndexError):
            log.set_fork(3, seq)


def test_a_range_is_given_as_far_as_the_log_has_it() -> None:
    log = log_of(*range(10))

    def given_of(first: int, last: int) -> list[int]:
        return [place.seq for place in log.places(first, last)]

    assert given_of(3, 5) == [3, 4, 5]
    assert given_of(9, 100) == [9, 10]
    assert given_of(-5, 2) == [1, 2]
    assert given_of(11, 12) == given_of(5, 4) == given_of(1, 0) == given_of(-9, -3) == []
    assert log.places(4, 4) == [log.place(4)]


# -- a rewritten transcript ------------------------------------------------------------------


def test_a_rewrite_keeps_numbers_adds_the_new_last_and_leaves_the_missing_as_gone() -> None:
    log = Log(SESSION)
    log.append([entry(1), entry(2, role="assistant"), entry(3)])
    new = log.rebuild([entry(9, offset=0), entry(3, offset=100), entry(1, offset=200)])
    assert (new, log.generation, log.last_seq) == ([4], 2, 4)
    assert [(p.identity, p.offset, p.gone) for p in log.places(1, 4)] == [
        (name(1), 200, False),
        (name(2), 0, True),
        (name(3), 100, False),
        (name(9), 0, False),
    ]
    assert (log.place(2).role, log.place(2).length) == ("assistant", 0)


def test_what_a_message_was_first_seen_as_it_stays() -> None:
    log = Log(SESSION)
    log.append([entry(1), entry(2), entry(3, parent="uuid of 1")])
    log.set_fork(3, 1)
    log.rebuild([entry(2, parent="another"), entry(3, role="assistant"), entry(1)])
    assert [(p.role, p.fork, p.forks_from) for p in log.places(1, 3)] == [
        ("user", False, 0),
        ("user", False, 0),
        ("user", True, 1),
    ]


# -- work ------------------------------------------------------------------------------------


def test_a_long_session_is_numbered_in_some_lines_for_each_message() -> None:
    many = entries(8000)
    with at_most_lines(10 * len(many)):
        Log(SESSION).append(many)


def test_a_message_is_found_among_ten_thousand_without_looking_at_each() -> None:
    log = Log(SESSION)
    log.append(entries(10_000))
    with at_most_lines(400):
        assert (log.find(name(10_000)), log.find(name(9_999))) == (0, 10_000)
