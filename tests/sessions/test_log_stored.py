"""A log that is stored, lost and made again: every message keeps its number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.session import Entry
from podiumd.sessions.log.numbered import PAGE, Log
from tests.examples import examples
from tests.sessions.numbered import SESSION, entries, entry, log_of, name, seqs

RECORD = 33

# -- stored pages ----------------------------------------------------------------------------


def test_only_pages_that_changed_are_told_and_only_once() -> None:
    log = log_of(*range(PAGE * 3))
    assert [number for number, _ in log.dirty_pages()] == [0, 1, 2]
    assert log.dirty_pages() == []
    log.append(entries(2, first=PAGE * 3))
    log.append([entry(0), entry(PAGE * 3)])
    [(number, page)] = log.dirty_pages()
    assert (number, len(page), log.page_count) == (3, 2 * RECORD, 4)
    log.set_fork(PAGE + 1, PAGE)
    assert [number for number, _ in log.dirty_pages()] == [1]
    log.rebuild([])
    assert [number for number, _ in log.dirty_pages()] == [0, 1, 2, 3]
    log.append([entry(PAGE - 1)])
    assert [number for number, _ in log.dirty_pages()] == [0]


def joined(generation: int, pages: list[tuple[int, bytes]]) -> Log:
    return Log(SESSION, generation, b"".join(page for _, page in pages))


def test_a_log_that_was_stored_has_nothing_new_to_store() -> None:
    pages = log_of(1, 2).dirty_pages()
    assert joined(1, pages).dirty_pages() == []


def test_bytes_that_are_no_whole_records_are_refused() -> None:
    with pytest.raises(ValueError, match=r"34 bytes, which is no multiple of 33"):
        Log(SESSION, 1, bytes(34))
    with pytest.raises(ValueError, match=r"16 bytes, which is no multiple of 17"):
        Log.from_ledger(SESSION, 1, bytes(16))


# -- the ledger ------------------------------------------------------------------------------


def test_of_a_ledger_alone_every_message_has_its_number_and_is_gone() -> None:
    log = Log(SESSION)
    log.append([entry(1), entry(2, role="assistant"), entry(3, parent="uuid of 1")])
    log.rebuild([entry(3), entry(4)])
    ledger = log.ledger()
    assert len(ledger) == 4 * 17
    known = Log.from_ledger(SESSION, log.generation, ledger)
    assert (known.generation, seqs(known)) == (2, seqs(log))
    assert [(p.role, p.fork, p.gone, p.offset) for p in known.places(1, 4)] == [
        ("user", False, True, 0),
        ("assistant", False, True, 0),
        ("user", True, True, 0),
        ("user", False, True, 0),
    ]
    assert [number for number, _ in known.dirty_pages()] == [0]


# -- any history -----------------------------------------------------------------------------

NUMBERS = st.integers(0, 400)
# A batch now and then long enough to take the other way of looking identities up.
BATCH = st.one_of(
    st.lists(NUMBERS, max_size=6),
    st.integers(0, 300).map(lambda first: list(range(first, first + 100))),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "rewrite", "store", "lose the index"]), BATCH),
    max_size=15,
)


def _in_file(numbers: list[int], start: int = 0) -> list[Entry]:
    """Those messages as lines of a file, one after another from line ``start``."""
    return [entry(number, offset=line * 100) for line, number in enumerate(numbers, start)]


@examples(200)
@given(steps=STEPS)
def test_whatever_happens_every_message_keeps_its_number(
    steps: list[tuple[str, list[int]]],
) -> None:
    """The model: the file as a list, and the identities in the order of first sight."""
    log = Log(SESSION)
    file: list[int] = []
    seen: dict[int, None] = {}
    stored: dict[int, bytes] = {}
    ledger: bytes | None = None
    for step, numbers in steps:
        before = len(seen)
        new: list[int] = []
        if step == "append":
            new = log.append(_in_file(numbers, start=len(file)))
            file.extend(numbers)
            seen.update(dict.fromkeys(numbers))
        elif step == "rewrite":
            new = log.rebuild(_in_file(numbers))
            file = list(numbers)
            seen.update(dict.fromkeys(numbers))
            ledger = log.ledger()
        elif step == "store":
            stored.update(log.dirty_pages())
            assert len(stored) == log.page_count
            log = joined(log.generation, sorted(stored.items()))
        else:
            stored.clear()
            generation = log.generation
            log = Log(SESSION) if ledger is None else Log.from_ledger(SESSION, generation, ledger)
            log.append(_in_file(file))
            assert log.generation == generation
        assert new == list(range(before + 1, len(seen) + 1))
        assert log.last_seq == len(seen)
        assert seqs(log) == {name(number): seq for seq, number in enumerate(seen, 1)}
        first_line = {number: file.index(number) for number in set(file)}
        for place, number in zip(log.places(1, log.last_seq), seen, strict=True):
            assert place.gone == (number not in first_line)
            assert place.offset == first_line.get(number, 0) * 100
    stored.update(log.dirty_pages())
    again = joined(log.generation, sorted(stored.items()))
    assert again.places(1, again.last_seq) == log.places(1, log.last_seq)
