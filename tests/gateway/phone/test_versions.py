"""Which version a connection speaks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.phone.protocol import outgoing, versions
from tests.gateway.phone.samples import read


def test_the_newest_and_the_oldest_version() -> None:
    """P-3.1"""
    assert read(outgoing.hello())["version"] == versions.CEILING == "0.5.0"
    assert versions.negotiate("0.4.0") == "0.4.0"
    assert versions.negotiate("0.3.9") is None


@pytest.mark.parametrize(
    "announced",
    [None, "", "new", "0.5", "0.5.0.1", "v0.5.0", 5, [], "0.5.x", "0.5.\u0660", "9" * 99],
)
def test_without_three_numbers_the_oldest_is_spoken(announced: object) -> None:
    """P-3.2"""
    assert versions.negotiate(announced) == "0.4.0"


@pytest.mark.parametrize(
    ("announced", "spoken"),
    [
        ("0.4.0", "0.4.0"),
        ("0.4.7", "0.4.0"),
        ("0.5.0", "0.5.0"),
        ("0.5.9", "0.5.0"),
        ("0.6.0", "0.5.0"),
        ("0.10.0", "0.5.0"),
        ("1.0.0", "0.5.0"),
    ],
)
def test_it_is_the_newest_that_both_know(announced: str, spoken: str) -> None:
    """P-3.3"""
    assert versions.negotiate(announced) == spoken


@pytest.mark.parametrize("suffix", ["-rc1", "+build.7", "-rc1+b"])
def test_a_suffix_does_not_count(suffix: str) -> None:
    """P-3.4"""
    assert versions.negotiate("0.5.0" + suffix) == "0.5.0"
    assert versions.negotiate("0.3.0" + suffix) is None


@pytest.mark.parametrize("announced", ["0.3.0", "0.2.0", "0.0.1"])
def test_an_older_one_is_told_what_is_needed(announced: str) -> None:
    """P-3.5"""
    assert versions.negotiate(announced) is None
    frame = read(outgoing.version_error(announced))

    assert frame.keys() == {"type", "code", "required", "received", "message"}
    assert frame["type"] == "error"
    assert frame["code"] == "unsupported_protocol_version"
    assert (frame["required"], frame["received"]) == ("0.4.0", announced)
    assert announced in frame["message"]


def test_a_long_version_is_told_shortened() -> None:
    assert len(read(outgoing.version_error("0.0.1-" + "x" * 500))["received"]) == 100


@given(st.tuples(*[st.integers(0, 20)] * 3))
def test_what_is_spoken_was_offered_and_announced(numbers: tuple[int, int, int]) -> None:
    spoken = versions.negotiate(".".join(map(str, numbers)))

    assert (spoken is None) == (numbers < (0, 4, 0))
    assert spoken is None or (versions.parse(spoken) or ()) <= numbers


@given(st.one_of(st.text(), st.from_regex(re.compile(r"[0-9.+-]{0,20}"), fullmatch=True)))
def test_no_text_breaks_it(text: str) -> None:
    assert versions.negotiate(text) in {None, "0.4.0", "0.5.0"}
