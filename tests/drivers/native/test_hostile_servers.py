"""Servers that are broken or mean harm: every answer ends, within bounds, in words."""

from __future__ import annotations

import gzip
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from typing import Any

import httpx2
import pytest
import trio
from trio.testing import MockClock

from podiumd.agents.native.model import http as http_body
from podiumd.agents.native.model.base import ModelError, ModelReply
from podiumd.agents.native.model.reply_reader import LONGEST_TEXT
from podiumd.agents.native.model.retry import RetryPolicy
from tests.drivers.native.models import HI, KEY, Told, opened
from tests.long import spread
from tests.patience import HANG_SECONDS

BOTH = pytest.mark.parametrize("provider", ["anthropic", "openai"])
ONCE = RetryPolicy(attempts=1)
REFUSED = ConnectionRefusedError("refused")
NO_NAME = socket.gaierror(socket.EAI_NONAME, "not known")
NO_ANSWER = socket.gaierror(socket.EAI_AGAIN, "for the moment")
SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"

Speak = Callable[[trio.SocketStream], Awaitable[None]]


def _whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(end) and len(body) >= int(length[1] if length else 0)


@asynccontextmanager
async def serving(speak: Speak) -> AsyncIterator[str]:
    """A server that reads a request and then speaks as it likes."""

    async def answer(stream: trio.SocketStream) -> None:
        try:
            async with stream:
                got = b""
                while not _whole(got):
                    got += await stream.receive_some(65536)
                if got.startswith(b"GET "):  # the list of models
                    await stream.send_all(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n")
                else:
                    await speak(stream)
        except trio.BrokenResourceError:
            pass  # we left in the middle, as we should

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def asked(provider: str, speak: Speak) -> ModelReply | ModelError:
    async with (
        serving(speak) as url,
        opened(provider, url, Told(), policy=ONCE) as model,
    ):
        found: ModelReply | ModelError
        try:
            found = await model.reply("", HI)
        except ModelError as error:
            found = error
    words = str(found) if isinstance(found, ModelError) else ""
    assert KEY not in words
    assert len(words) < 1000 and words.isprintable()
    return found


def saying(*pieces: bytes) -> Speak:
    async def speak(stream: trio.SocketStream) -> None:
        for piece in pieces:
            await stream.send_all(piece)

    return speak


def endless(head: bytes, piece: bytes) -> Speak:
    async def speak(stream: trio.SocketStream) -> None:
        await stream.send_all(head)
        while True:
            await stream.send_all(piece)

    return speak


def text_event(provider: str, text: str) -> bytes:
    if provider == "anthropic":
        delta = {"type": "text_delta", "text": text}
        data: dict[str, Any] = {"type": "content_block_delta", "delta": delta}
    else:
        data = {"choices": [{"delta": {"content": text}}]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def head(status: str, kind: str, *more: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-type: {kind}", *more, "\r\n"]).encode()


def event(data: object) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


BAD_JSON = "this is not valid JSON"
SORRY = {"type": "error", "error": {"message": "sorry", "code": 400}}
ANSWERS: dict[str, tuple[Speak, str, str]] = {
    "an endless line": (
        *(endless(SSE + b"data: ", b"x" * 65536), "bad-answer", "a line is longer than"),
    ),
    "endless comments": (endless(SSE, b": ping\n\n" * 1000), "bad-answer", "more than 1 MiB"),
    "no JSON": (saying(SSE, b"data: {not json\n\n"), "bad-answer", BAD_JSON),
    "a list": (saying(SSE, event([1, 2])), "bad-answer", "a JSON object was due"),
    "JSON too deep": (saying(SSE, b"data: " + b"[" * 100_000 + b"\n\n"), "bad-answer", BAD_JSON),
    "no UTF-8": (saying(SSE, b"data: \xff\xfe\x00\n\n"), "bad-answer", BAD_JSON),
    "no HTTP": (saying(b"SSH-2.0-OpenSSH_9\r\n\r\n" * 4), "network", ""),
    "an endless head": (
        *(endless(b"HTTP/1.1 200 OK\r\n", b"x-h: " + b"y" * 999 + b"\r\n"), "network", ""),
    ),
    "packed, which nobody asked for": (
        saying(
            head("200 OK", "application/json", "content-encoding: gzip"),
            gzip.compress(b" " * 10_000_000),
        ),
        *("bad-answer", "gzip, which was not asked for"),
    ),
    "a page of a proxy": (
        saying(head("200 OK", "text/html"), b"<html>Sign in to the hotel</html>"),
        *("bad-answer", "its answer is text/html"),
    ),
    "an endless refusal": (
        *(endless(head("400 No", "text/plain"), b"no \x1b[31m\xe2\x80\xae" * 1000), "refused", ""),
    ),
    "a redirect": (
        saying(head("302 Moved", "text/plain", "location: http://h:1/v1", "content-length: 0")),
        *("refused", "does not follow"),
    ),
    "an error that comes as a success": (
        saying(head("200 OK", "application/json"), json.dumps(SORRY).encode()),
        *("refused", "sorry"),
    ),
    **{
        f"odd shapes {number}": (saying(SSE, event(data)), "network", "in the middle of a reply")
        for number, data in enumerate(
            [
                {},
                {"type": 3, "choices": "no"},
                {"type": "message_delta", "delta": None, "usage": [], "choices": [None, 3]},
                {"type": "content_block_delta", "delta": {"text": 4}, "choices": [{"delta": []}]},
                {"type": "message_start", "message": {"usage": {"input_tokens": -4}}},
                {"usage": {"prompt_tokens": True, "completion_tokens": 1e300}},
            ]
        )
    },
}


assert len(ANSWERS) % 2, "so that make test asks both providers"


@pytest.mark.parametrize(
    ("provider", "what"),
    spread(product(["anthropic", "openai"], ANSWERS), len(ANSWERS)),
)
async def test_what_is_no_answer_ends_in_words(
    provider: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "endless comments":
        monkeypatch.setattr(http_body, "LARGEST_BODY", 1024 * 1024)
    speak, kind, words = ANSWERS[what]

    found = await asked(provider, speak)

    assert isinstance(found, ModelError)
    assert (found.kind, words in str(found)) == (kind, True), found


@BOTH
async def test_an_endless_reply_counts_as_cut_and_is_left(provider: str) -> None:
    found = await asked(provider, endless(SSE, text_event(provider, "y" * 10_000)))

    assert isinstance(found, ModelReply)
    assert found.cut and len(found.text) == LONGEST_TEXT


@BOTH
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
async def test_a_body_of_100_megabytes_is_not_read(provider: str, kind: str) -> None:
    sent = 0

    async def speak(stream: trio.SocketStream) -> None:
        nonlocal sent
        await stream.send_all(head("200 OK", kind))
        for _ in range(1600):
            await stream.send_all(b" " * 65536)
            sent += 65536

    found = await asked(provider, speak)

    assert isinstance(found, ModelError) and found.kind == "bad-answer"
    assert sent < 32 * 1024 * 1024


@BOTH
async def test_a_known_end_does_not_wait_for_the_connection(provider: str) -> None:
    """A server that keeps the stream open after its last event holds nobody up."""
    ends = {"anthropic": b'data: {"type": "message_stop"}\n\n', "openai": b"data: [DONE]\n\n"}

    async def speak(stream: trio.SocketStream) -> None:
        await stream.send_all(SSE + text_event(provider, "all") + ends[provider])
        await trio.sleep_forever()

    with trio.fail_after(HANG_SECONDS):
        found = await asked(provider, speak)

    assert isinstance(found, ModelReply) and (found.text, found.stop) == ("all", "other")


@BOTH
@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        ({"type": "overloaded_error", "message": "later"}, "overloaded", True),
        ({"type": "rate_limit_error", "message": "slow", "code": 429}, "rate", True),
        ({"message": "maximum context length is 4096 tokens", "code": 400}, "context", False),
        ({"type": "invalid_request_error", "message": "bad", "code": 400}, "refused", False),
        ("just words", "overloaded", True),
    ],
)
async def test_an_error_in_the_middle_of_a_reply_is_judged_as_one_in_front(
    provider: str, error: object, kind: str, again: bool
) -> None:
    pieces = (SSE, text_event(provider, "so f"), event({"type": "error", "error": error}))

    found = await asked(provider, saying(*pieces))

    assert isinstance(found, ModelError) and (found.kind, found.again) == (kind, again)


@BOTH
async def test_a_server_that_is_not_there_is_named(provider: str) -> None:
    async with opened(provider, "http://127.0.0.1:9", Told(), policy=ONCE) as model:
        with pytest.raises(ModelError, match=r"127\.0\.0\.1:9 cannot be reached") as caught:
            await model.reply("", HI)

    assert (caught.value.kind, caught.value.again) == ("network", True)
    words = "refuses the connection; start the server of the model, or check base_url"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("url", "fault", "words", "attempts"),
    [
        ("http://127.0.0.1:9", REFUSED, "refuses the connection; start the server", 3),
        ("http://10.1.2.3:9", REFUSED, "cannot be reached: not connected", 6),
        ("http://model.invalid", NO_NAME, "there is no machine of this name; check base_url", 3),
        ("http://model.invalid", NO_ANSWER, "cannot be reached: not connected", 6),
        ("", NO_NAME, "is this machine connected to the internet?", 6),
    ],
)
async def test_where_there_is_no_server_it_is_told_in_a_few_seconds(
    autojump_clock: MockClock, url: str, fault: OSError, words: str, attempts: int
) -> None:
    def lost(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("not connected") from ExceptionGroup("all failed", [fault])

    told, transport = Told(), httpx2.MockTransport(lost)
    began = trio.current_time()
    async with opened("anthropic", url, told, policy=RetryPolicy(), transport=transport) as model:
        with pytest.raises(ModelError, match=rf"{re.escape(words)}.*\(tried {attempts} times\)"):
            await model.reply("", HI)

    assert (trio.current_time() - began <= 4) is (attempts == 3)
    assert len(told.retries) == attempts - 1
    assert all(
        re.search(r"; trying again in [0-9]+ s \(try [2-6] of [36]\)\Z", one.words)
        for one in told.retries
    )
