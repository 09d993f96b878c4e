"""Messages as JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.phone.protocol import wire

ANY_TEXT = st.text(st.characters())  # half characters too


def test_the_type_comes_first() -> None:
    assert wire.frame("ack", message="ö") == '{"type":"ack","message":"ö"}'.encode()


def test_what_is_no_text_is_told_as_a_question_mark() -> None:
    """P-1.16"""
    frame = wire.frame("resource_deleted", filename="a\udcff", path=["\udcff", ("\ud800",), 1])

    assert json.loads(frame) == {
        "type": "resource_deleted",
        "filename": "a?",
        "path": ["?", ["?"], 1],
    }
    assert wire.encode({"\udcff": {}}) == b'{"?":{}}'


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | ANY_TEXT,
        lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
        max_leaves=8,
    )
)
def test_whatever_is_told_is_json(value: object) -> None:
    json.loads(wire.encode(value).decode("utf-8"))
