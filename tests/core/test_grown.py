"""A mapping that grows by one entry without a copy of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.grown import Grown


def grown(entries: list[tuple[int, str]]) -> Grown[int, str]:
    mapping: Grown[int, str] = Grown()
    for key, value in entries:
        mapping = mapping.plus(key, value)
    return mapping


@given(st.lists(st.tuples(st.integers(0, 40), st.text(max_size=2))))
def test_it_answers_as_a_dict_does_that_was_given_the_same(entries: list[tuple[int, str]]) -> None:
    mapping, known = grown(entries), dict(entries)

    assert (dict(mapping), len(mapping), list(mapping)) == (known, len(known), list(known))
    assert [key in mapping for key in range(42)] == [key in known for key in range(42)]


def test_what_is_not_in_it_is_said_to_be_missing() -> None:
    with pytest.raises(KeyError, match="7"):
        grown([(1, "one")])[7]


def test_one_more_entry_leaves_what_it_was_added_to_as_it_was() -> None:
    before = grown([(1, "one"), (2, "two")])
    one, other = before.plus(3, "three"), before.plus(3, "drei")

    assert (dict(before), one[3], other[3]) == ({1: "one", 2: "two"}, "three", "drei")
    assert repr(one) == "Grown({1: 'one', 2: 'two', 3: 'three'})"


def test_ten_thousand_entries_are_copied_a_few_times_each() -> None:
    mapping: Grown[int, None] = Grown()
    copied = 0
    for key in range(10_000):
        mapping = mapping.plus(key, None)
        copied += len(mapping._parts[-1])

    assert copied < 15 * 10_000
    assert len(mapping._parts) < 15
