"""What servers of chat completions do not take, and is then said in another way."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.agents.native.model import sse
from podiumd.agents.native.model.base import ModelError, Usage
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.openai import OpenAIReader, ThoughtFilter
from podiumd.agents.native.model.sse import EventParser, ServerEvent, StreamError
from podiumd.core.reply.model_message import Message
from tests.drivers.native.models import HI, Told, opened
from tests.fakes.model_server import ModelServer

URL = "http://local.invalid"

GOOD = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}


def json_answer(status: int, body: Any) -> httpx2.Response:
    stream = httpx2.ByteStream(json.dumps(body).encode())
    return httpx2.Response(status, headers={"content-type": "application/json"}, stream=stream)


class Picky:
    """A server that refuses what one of its rules names, and keeps what it was asked."""

    def __init__(self, *refusals: tuple[str, int, str]) -> None:
        self.refusals = refusals
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return json_answer(404, {})
        self.paths.append(request.url.path)
        self.bodies.append(json.loads(request.content))
        for word, status, message in self.refusals:
            if word in request.content.decode() or word in request.url.path:
                return json_answer(status, {"error": {"message": message}})
        return json_answer(200, GOOD)


async def reply_of(picky: Picky, *, max_tokens: int | None = None, times: int = 1) -> list[str]:
    told = Told()
    talk = [Message("user", "hi")]
    async with opened(
        "openai", URL, told, model="m", transport=httpx2.MockTransport(picky)
    ) as model:
        replies = [await model.reply("Sys.", talk, max_tokens=max_tokens) for _ in range(times)]
    assert told.retries == [], "what is said in another way is no failure to tell of"
    return [reply.text for reply in replies]


async def test_a_server_without_usage_on_demand_is_not_asked_for_it() -> None:
    picky = Picky(("stream_options", 422, "extra field stream_options"))

    assert await reply_of(picky, times=2) == ["ok", "ok"]
    assert ["stream_options" in body for body in picky.bodies] == [True, False, False]


async def test_the_bound_of_a_reply_is_called_as_the_server_calls_it() -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    picky = Picky(('"max_tokens"', 400, message))

    assert await reply_of(picky, max_tokens=9) == ["ok"]
    assert picky.bodies[-1]["max_completion_tokens"] == 9


async def test_a_model_without_a_system_role_is_told_in_the_first_message() -> None:
    picky = Picky(('"system"', 500, "System role not supported"))

    assert await reply_of(picky) == ["ok"]
    assert picky.bodies[-1]["messages"] == [{"role": "user", "content": "Sys.\n\nhi"}]


async def test_a_path_without_a_version_is_found() -> None:
    picky = Picky(("/v1/", 404, "not here"))

    assert await reply_of(picky) == ["ok"]
    assert picky.paths == ["/v1/chat/completions", "/chat/completions"]


async def test_each_other_way_is_tried_once() -> None:
    picky = Picky(("messages", 400, "max_tokens stream_options system role"))

    with pytest.raises(ModelError) as caught:
        await reply_of(picky, max_tokens=5)

    assert caught.value.kind == "refused" and len(picky.bodies) == 4


async def test_a_model_that_is_not_there_is_named() -> None:
    picky = Picky(("messages", 404, "model 'm' not found, try pulling it first"))

    with pytest.raises(ModelError, match="does not offer the model 'm'") as caught:
        await reply_of(picky)

    assert caught.value.kind == "refused" and len(picky.bodies) == 1


async def test_nothing_bounds_a_reply_unless_it_is_asked_for() -> None:
    picky = Picky()

    await reply_of(picky)

    assert "max_tokens" not in picky.bodies[0]


@pytest.fixture
def reader() -> OpenAIReader:
    return OpenAIReader(Endpoint(URL, own=False, agent="native"), "m")


def chunk(**choice: Any) -> ServerEvent:
    return ServerEvent("", json.dumps({"choices": [choice]}))


@pytest.mark.parametrize(
    ("events", "text", "stop", "ended"),
    [
        (
            [
                *(chunk(delta={"content": piece}) for piece in ("<th", "ink>I wonder</th", "ink>")),
                chunk(delta={"content": "\n\nYes."}),
                chunk(delta={}, finish_reason="stop"),
            ],
            *("Yes.", "end", False),
        ),
        ([chunk(delta={"content": "<th"}), ServerEvent("", "[DONE]")], "<th", None, True),
        (
            [chunk(delta={"refusal": "I will not."}, finish_reason="content_filter")],
            *("I will not.", "refused", False),
        ),
    ],
    ids=["thinking", "held back", "refusal"],
)
def test_of_what_comes_in_pieces_the_words_are_told(
    reader: OpenAIReader, events: list[ServerEvent], text: str, stop: str | None, ended: bool
) -> None:
    for event in events:
        reader.event(event)

    assert (reader.text, reader.stop, reader.ended) == (text, stop, ended)


def test_usage_counts_what_came_from_a_cache_apart(reader: OpenAIReader) -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 99},
    }
    reader.event(ServerEvent("", json.dumps({"choices": [], "usage": usage})))

    assert reader.usage == Usage(input=0, output=3, cached=10)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_odd_characters_reach_a_server_as_utf_8(provider: str) -> None:
    with ModelServer() as server:
        async with opened(provider, server.url, Told()) as model:
            await model.reply("", [Message("user", "caf\u00e9 \u6f22 \ud83d half")])

        assert server.requests[0].prompt == "caf\u00e9 \u6f22 ? half"


async def test_marks_for_a_cache_are_left_out_where_they_are_refused() -> None:
    bodies: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content.decode())
        if "cache_control" in bodies[-1]:
            return json_answer(400, {"error": {"message": "cache_control: extra input"}})
        return json_answer(200, {"content": [], "stop_reason": "end_turn"})

    told = Told()
    async with opened("anthropic", URL, told, transport=httpx2.MockTransport(answer)) as model:
        await model.reply("", HI)
        await model.reply("", HI)

    assert len(bodies) == 3 and told.retries == []


# -- server-sent events, however they are cut into pieces ------------------------------------


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


# -- the thinking that some models put in front of their replies -----------------------------


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
