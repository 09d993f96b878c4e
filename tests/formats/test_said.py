"""A peer's JSON values as structs: what is missing or odd is a default, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.formats.said import Said, read


class Inner(Said, frozen=True):
    message: str = ""


class Outer(Said, frozen=True):
    agent_name: str = ""
    number: int = 0
    inner: Inner | None = None


@pytest.mark.parametrize("value", [None, {}, [], "x", 3])
def test_what_is_no_object_or_empty_is_nothing_but_defaults(value: Any) -> None:
    assert read(Outer, value) == Outer()


def test_members_have_the_names_of_the_protocol_and_others_are_passed_over() -> None:
    value = {"agentName": "a", "number": 3, "inner": {"message": "m"}, "new": [1]}
    assert read(Outer, value) == Outer(agent_name="a", number=3, inner=Inner(message="m"))


def test_a_member_of_another_type_is_its_default_and_the_rest_is_read() -> None:
    value = {"agentName": 3, "number": 3, "inner": {"message": 3}}
    assert read(Outer, value) == Outer(number=3)
