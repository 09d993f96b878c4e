"""When a model is asked again, by a clock that is only mocked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from functools import partial
from itertools import repeat
from typing import Any

import httpx2
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.refusals import broke_off, refused
from podiumd.agents.native.model.retry import RetryPolicy, retry_after, worth_another
from podiumd.observe.redaction import escape
from tests.drivers.native.models import HI, Told, opened

REPLY = {"content": [{"type": "text", "text": "at last"}], "stop_reason": "end_turn"}

JSON = {"content-type": "application/json"}

CALM = RetryPolicy(chance=lambda: 1.0)


def answer_of(status: int, body: object = None, **headers: str) -> httpx2.Response:
    """An answer whose body is still to be read."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    stream = httpx2.ByteStream(json.dumps(body).encode())
    return httpx2.Response(status, headers={**JSON, **named}, stream=stream)


def playing(answers: Iterable[httpx2.Response | Exception]) -> httpx2.MockTransport:
    left = iter(answers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return found

    return httpx2.MockTransport(answer)


async def asked(
    told: Told, answers: Iterable[httpx2.Response | Exception], policy: RetryPolicy = CALM
) -> float:
    """How long it took until a reply came."""
    url = "http://model.invalid"
    async with opened("anthropic", url, told, policy=policy, transport=playing(answers)) as model:
        began = trio.current_time()
        try:
            assert (await model.reply("", HI)).text == "at last"
        finally:
            took = trio.current_time() - began
    return took


async def test_waits_double_up_to_the_longest(autojump_clock: MockClock) -> None:
    told = Told()
    failures = [answer_of(500) for _ in range(5)]

    took = await asked(told, [*failures, answer_of(200, REPLY)])

    assert [retry.seconds for retry in told.retries] == [1, 2, 4, 8, 16]
    assert took == pytest.approx(31)


async def test_the_servers_own_wait_is_kept(autojump_clock: MockClock) -> None:
    told = Told()
    limited = answer_of(429, retry_after="120")

    took = await asked(told, [limited, answer_of(200, REPLY)])

    assert took == pytest.approx(120) and [r.seconds for r in told.retries] == [120]


async def test_the_attempts_are_bounded_in_time(autojump_clock: MockClock) -> None:
    limited = [answer_of(429, retry_after="100") for _ in range(6)]
    began = trio.current_time()

    with pytest.raises(ModelError, match="tried 3 times") as caught:
        await asked(Told(), limited, RetryPolicy(seconds=250))

    assert caught.value.kind == "rate" and trio.current_time() - began == pytest.approx(200)


async def test_a_wait_beyond_all_patience_is_not_begun(autojump_clock: MockClock) -> None:
    with pytest.raises(ModelError) as caught:
        await asked(Told(), [answer_of(429, retry_after="121")])

    assert caught.value.retry_after == 121 and trio.current_time() < 1


async def test_a_network_that_comes_back_is_used(autojump_clock: MockClock) -> None:
    told = Told()
    lost = [httpx2.ConnectError("no route"), httpx2.ReadError("reset")]

    await asked(told, [*lost, answer_of(200, REPLY)])

    assert ["no route" in told.retries[0].words, "reset" in told.retries[1].words] == [True, True]


async def test_a_certificate_that_is_not_believed_is_no_matter_of_time() -> None:
    told = Told()
    error = httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed")

    with pytest.raises(ModelError, match="self-signed"):
        await asked(told, [error])

    assert told.retries == []


class Slowly(httpx2.AsyncByteStream):
    """A body whose pieces come ``seconds`` apart; after the last one nothing comes, ever."""

    def __init__(self, pieces: Iterable[bytes], seconds: float) -> None:
        self.pieces = pieces
        self.seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            with trio.move_on_after(self.seconds):
                await trio.sleep_forever()
            yield piece
        await trio.sleep_forever()


def streamed(pieces: Iterable[bytes], seconds: float) -> httpx2.Response:
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, stream=Slowly(pieces, seconds))


async def test_a_slow_drip_ends_at_the_limit_of_a_reply(autojump_clock: MockClock) -> None:
    told = Told()

    with pytest.raises(ModelError, match="took more than 1800 s for one reply"):
        await asked(told, [streamed(repeat(b": ping\n\n"), 60.0)])

    assert trio.current_time() == pytest.approx(1800, abs=1) and told.retries == []


async def test_silence_is_an_attempt_that_failed(autojump_clock: MockClock) -> None:
    told = Told()

    took = await asked(told, [streamed([], 0.0), answer_of(200, REPLY)])

    assert took == pytest.approx(301) and "sent nothing for 300 s" in told.retries[0].words


async def test_for_what_follows_a_known_end_nobody_waits_long(autojump_clock: MockClock) -> None:
    events = [
        {"type": "content_block_delta", "delta": {"text": "at last"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    pieces = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]

    assert await asked(Told(), [streamed(pieces, 1.0)]) == pytest.approx(12)


async def test_an_interrupt_ends_the_wait(autojump_clock: MockClock) -> None:
    limited = answer_of(429, retry_after="100")

    with trio.move_on_after(7) as scope:
        await asked(Told(), [limited])

    assert scope.cancelled_caught and trio.current_time() < 10


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 524, 529])
def test_what_may_be_another_answer_soon(status: int) -> None:
    assert worth_another(status, {})
    assert not worth_another(status, {"x-should-retry": "false"})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501, 505])
def test_what_stays_as_it_is(status: int) -> None:
    assert not worth_another(status, {})
    assert worth_another(status, {"x-should-retry": "true"})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, lambda: 100.0) == seconds


@given(st.text(max_size=40))
def test_no_header_upsets_the_reading_of_it(value: str) -> None:
    found = retry_after({"retry-after": value}, lambda: 0.0)

    assert found is None or found >= 0


@given(st.integers(1, 50), st.none() | st.floats(0, 1e9), st.floats(0, 1e6), st.floats(0, 1))
def test_no_wait_leads_beyond_the_bounds(
    failed: int, wanted: float | None, passed: float, chance: float
) -> None:
    policy = RetryPolicy(chance=lambda: chance)

    wait = policy.wait(failed, wanted, passed)

    if wait is not None:
        assert failed < policy.attempts and passed + wait <= policy.seconds
        assert wait == wanted if wanted is not None else 0.75 <= wait <= policy.longest


# -- what refusals mean, in words that say what to do ----------------------------------------


KEY = "sk-ant-0123456789abcdef"

endpoint = partial(Endpoint, agent="native")

HERE = Endpoint(
    "http://h:1/v1",
    own=False,
    agent="native",
    key=KEY,
    key_name="MINE",
    url_name="base_url in [agents.native]",
)


def judged(status: int, body: Any, **headers: str) -> ModelError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refused(HERE, "m", status, headers, data)


def said(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


EXCEEDED = "input length and `max_tokens` exceed context limit: 9 + 9 > 200000"

QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("status", "body", "window"),
    [
        (400, said("prompt is too long: 208310 tokens > 200000 maximum"), 200_000),
        (400, said("This model's maximum context length is 4096 tokens. However, ..."), 4096),
        (400, said("too much", code="context_length_exceeded"), None),
        (400, said("too big", type="exceed_context_size_error", n_ctx=8192), 8192),
        (400, {"error": "input length exceeds the context length"}, None),
        (400, said(EXCEEDED), 200_000),
        (413, b"", None),
    ],
)
def test_too_long_a_conversation_is_known_in_every_dialect(
    status: int, body: Any, window: int | None
) -> None:
    error = judged(status, body)

    assert (error.kind, error.window, error.again) == ("context", window, False)


@pytest.mark.parametrize(
    ("status", "body", "empty"),
    [
        (402, {}, True),
        (429, said("no money", code="insufficient_quota"), True),
        (400, said("Your credit balance is too low"), True),
        (429, said("context window tokens per minute"), False),
        (429, said(QUOTA, code=429), False),
    ],
)
def test_an_empty_account_is_not_asked_again_and_a_rate_is_waited_for(
    status: int, body: Any, empty: bool
) -> None:
    error = judged(status, body)

    assert (error.kind, error.again) == (("refused", False) if empty else ("rate", True))
    assert ("has no credit left" in str(error)) is empty


def test_a_path_that_is_not_there_names_the_setting() -> None:
    wrong = "base_url in [agents.native] does not lead to a model's API: there is none at"
    assert str(judged(404, b"<html>nginx</html>")).startswith(wrong)
    # A path that holds the word is no model.
    assert str(judged(404, b"nothing at /v2/models")).startswith(wrong)
    assert str(judged(404, b"Invalid URL (POST /v2/model)")).startswith(wrong)
    # Of a provider's own address no setting is at fault.
    own = refused(endpoint("https://h/v1", own=True, url_name="URL"), "m", 404, {}, b"")
    assert str(own).startswith("there is no such API at https://h/v1 (404)")


@pytest.mark.parametrize(
    "message", ["The model `x` does not exist", "models/m is not found for v1", "Model not found"]
)
def test_a_model_that_is_not_there_is_told_from_a_path(message: str) -> None:
    assert "does not offer the model 'm' (404)" in str(judged(404, {"message": message}))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "one"}}, "one"),
        ({"error": "two"}, "two"),
        ({"message": "three"}, "three"),
        ({"detail": "four"}, "four"),
        ({"detail": [{"loc": ["a"]}]}, "loc"),
        (b"five", "five"),
        (["six"], "six"),
        (b"[" * 100_000, "[["),
    ],
)
def test_a_servers_own_words_are_found_wherever_they_stand(body: Any, words: str) -> None:
    assert words in str(judged(400, body))


def test_a_page_of_markup_is_not_shown() -> None:
    assert "<" not in str(judged(502, b"\n<!doctype html><title>Bad gateway</title>"))


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"bad key {KEY}"}},
        {"error": {"message": f"header authorization: Bearer {KEY[:9]} x"}},
        f"x-api-key: {KEY}".encode(),
    ],
)
def test_no_key_is_repeated(body: Any) -> None:
    assert KEY[:9] not in str(judged(401, body))
    assert KEY not in str(judged(500, body))


@given(st.binary(max_size=300), st.sampled_from([400, 401, 404, 429, 500]))
def test_whatever_a_server_says_becomes_a_short_line(data: bytes, status: int) -> None:
    text = str(judged(status, data))

    assert len(text) < 4000 and text == escape(text)


def test_the_wait_asked_for_is_kept() -> None:
    assert judged(503, {}, **{"retry-after": "9"}).retry_after == 9


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"type": "authentication_error"}, "auth", 401),
        ({"type": "overloaded_error"}, "overloaded", 529),
        ({"code": 429}, "rate", 429),
        ({"code": 7}, "overloaded", 500),
        (None, "overloaded", 500),
    ],
)
def test_errors_within_a_reply_are_judged_by_type_and_code(
    error: Any, kind: str, status: int
) -> None:
    found = broke_off(HERE, "m", error)

    assert (found.kind, found.status) == (kind, status)
