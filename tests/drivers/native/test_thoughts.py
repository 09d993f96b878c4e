"""The thinking that some models put in front of their replies."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.agents.native.model.reasoning import ThoughtFilter


def filtered(pieces: list[str]) -> tuple[str, str]:
    sieve = ThoughtFilter()
    found = [sieve.feed(piece) for piece in pieces] + [sieve.feed("", last=True)]
    return "".join(thought for thought, _ in found), "".join(text for _, text in found)


CASES = [
    ("Hello.", ("", "Hello.")),
    ("<think>hm</think>\n\nHello.", ("hm", "Hello.")),
    ("\n <think>a <b> c</think>x", ("a <b> c", "x")),
    ("Hello <think>no</think>", ("", "Hello <think>no</think>")),
    ("<thinking>no", ("", "<thinking>no")),
    ("<think>never closed </thin", ("never closed </thin", "")),
    ("<thi", ("", "<thi")),
    ("<think></think>x</think>", ("", "x</think>")),
    ("", ("", "")),
]


@pytest.mark.parametrize(("reply", "parted"), CASES)
def test_only_what_stands_in_front_is_a_thought(reply: str, parted: tuple[str, str]) -> None:
    assert filtered([reply]) == parted


@given(st.sampled_from(CASES), st.lists(st.integers(0, 40)))
def test_it_does_not_matter_how_the_reply_comes(
    case: tuple[str, tuple[str, str]], cuts: list[int]
) -> None:
    reply, parted = case
    places = sorted({0, len(reply), *(cut for cut in cuts if cut < len(reply))})
    pieces = [reply[a:b] for a, b in pairwise(places)]

    assert filtered(pieces) == parted
