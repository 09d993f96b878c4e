"""The Model Context Protocol as it comes over the wire: lines, batches, nonsense, bounds."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats import mcp
from tests.formats.mcp_messages import ENVELOPE, SERVED, modern, request


def received(value: object) -> mcp.Received:
    return mcp.receive_text(json.dumps(value).encode(), SERVED)


@pytest.mark.parametrize("text", [b"", b"{", b"tools/list", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_a_parse_error(text: bytes) -> None:
    (part,) = mcp.receive_text(text, SERVED).parts

    assert isinstance(part, dict)
    assert (part["id"], part["error"]["code"]) == (None, -32700)


def test_one_message_has_one_answer() -> None:
    got = received(request("ping"))
    (part,) = got.parts

    assert isinstance(part, dict)
    assert got.joined([part]) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_notification_has_none() -> None:
    got = received({"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert got.parts == ()
    assert got.joined([]) is None


def test_half_an_emoji_costs_that_character_and_not_the_message() -> None:
    params = {"name": "save", "arguments": {"key": "goal", "value": "a \ud83d b"}}
    (call,) = received(request("tools/call", params)).parts

    assert isinstance(call, mcp.Call)
    assert call.args["value"] == "a ? b"


def test_a_message_may_be_long_but_not_endless() -> None:
    def text(length: int) -> bytes:
        line = json.dumps(request("ping", {"x": ""}, id="long")).encode()
        return line.replace(b'""', b'"' + b"x" * (length - len(line)) + b'"')

    (taken,) = mcp.receive_text(text(mcp.MESSAGE_LIMIT), SERVED).parts
    (refused,) = mcp.receive_text(text(mcp.MESSAGE_LIMIT + 1), SERVED).parts

    assert isinstance(taken, dict)
    assert isinstance(refused, dict)
    assert taken["result"] == {}
    assert refused["id"] == "long"
    assert refused["error"]["code"] == -32600
    assert "4194305 bytes" in refused["error"]["message"]


def test_a_batch_is_answered_as_one_without_its_notifications() -> None:
    got = received(
        [
            request("ping", id=1),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            request("tools/call", {"name": "ask"}, id=2),
            "nonsense",
        ]
    )
    replies = [
        mcp.result(part, "Asked.", success=True) if isinstance(part, mcp.Call) else part
        for part in got.parts
    ]
    joined = got.joined(replies)

    assert isinstance(joined, list)
    assert [one["id"] for one in joined] == [1, 2, None]
    assert joined[2]["error"]["code"] == -32600


def test_a_batch_of_notifications_has_no_answer() -> None:
    got = received([{"jsonrpc": "2.0", "method": "notifications/initialized"}])

    assert got.joined([]) is None


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ([], "the batch is empty"),
        ([request("ping")] * 101, "a batch of 101"),
        ([request("ping"), request("initialize", {})], "'initialize' stands alone"),
        ([request("ping"), modern("tools/list")], "2026-07-28 has no batches"),
    ],
)
def test_a_batch_that_no_revision_has_is_refused_as_a_whole(batch: list[Any], words: str) -> None:
    (part,) = received(batch).parts

    assert isinstance(part, dict)
    assert part["error"]["code"] == -32600
    assert words in part["error"]["message"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "_meta"])
        | st.sampled_from(sorted(ENVELOPE)) | st.text(),
        inner | st.sampled_from(["2.0", "2026-07-28", "tools/call", "initialize", "save"]),
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_whatever_comes_is_answered_with_what_can_be_sent(value: Any) -> None:
    got = mcp.receive_text(msgspec.json.encode(value), SERVED)
    replies = [
        mcp.result(part, "done", success=True) if isinstance(part, mcp.Call) else part
        for part in got.parts
    ]

    joined = got.joined(replies)
    assert json.loads(msgspec.json.encode(joined)) == joined


@given(st.binary())
def test_no_bytes_raise(data: bytes) -> None:
    assert mcp.receive_text(data, SERVED).parts is not None
