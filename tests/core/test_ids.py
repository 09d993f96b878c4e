"""Identifiers name the same thing the same, and nothing else."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.ids import derive

Parts = st.lists(st.integers(0, 99) | st.text("abcdefgh-", max_size=8), max_size=6)


def test_the_same_parts_give_the_same_uuid() -> None:
    assert derive("run", 0, "work", 1, "prompt", 1) == derive("run", 0, "work", 1, "prompt", 1)


def test_an_identifier_of_this_release_never_changes() -> None:
    assert derive("run", 0, "work", 1, "prompt", 1) == "f803e3f2-83ec-54b9-ad78-39190f294472"


def test_an_identifier_is_a_uuid_that_agents_accept() -> None:
    name = uuid.UUID(derive("run", "session"))

    assert name.version == 5 and name.variant == uuid.RFC_4122


@given(Parts, Parts)
def test_other_parts_give_another_identifier(one: list[str | int], other: list[str | int]) -> None:
    same = [str(part) for part in one] == [str(part) for part in other]

    assert (derive("run", *one) == derive("run", *other)) == same
