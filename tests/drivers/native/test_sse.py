"""Server-sent events, however they are cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.agents.native.model import sse
from podiumd.agents.native.model.sse import EventParser, ServerEvent, StreamError


def parsed(*pieces: bytes) -> list[ServerEvent]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"event: x\ndata:a\n\n", [("x", "a")]),
        (b"data: a\r\ndata: b\r\n\r\n", [("", "a\nb")]),
        (b"data: a\r\rdata:  b\r\r", [("", "a"), ("", " b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b": comment\nid: 3\nretry: 9\nunknown\ndata\n\n", [("", "")]),
        (b"event: x\n\ndata: a\n\n", [("", "a")]),
        (b"data: not ended", []),
        (b"data: \xff\n\n", [("", "\ufffd")]),
        ("data: caf\u00e9 \u2028 \x0b x\n\n".encode(), [("", "caf\u00e9 \u2028 \x0b x")]),
    ],
)
def test_events_are_read_as_the_standard_says(data: bytes, events: list[tuple[str, str]]) -> None:
    assert parsed(data) == [ServerEvent(*event) for event in events]


LINES = st.lists(st.sampled_from([b"data: x", b"data: \xc3\xa9", b"event: e", b": c", b""]))


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 200)))
def test_it_does_not_matter_where_the_bytes_are_cut(
    lines: list[bytes], end: bytes, cuts: list[int]
) -> None:
    data = b"".join(line + end for line in [*lines, b""])
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]

    assert parsed(*pieces, b"") == parsed(data)


@pytest.mark.parametrize("data", [b"data: " + b"x" * 99, b"data: xxxxxxxxxx\n" * 9, b"x" * 99])
def test_too_much_is_refused(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 64)

    with pytest.raises(StreamError, match="longer than 64 bytes"):
        parsed(data)


def test_a_line_end_may_be_cut_in_two() -> None:
    assert parsed(b"data: a\r", b"", b"\n\r", b"\ndata: b\n\n") == [
        ServerEvent("", "a"),
        ServerEvent("", "b"),
    ]
