"""What refusals mean, in words that say what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.refusals import broke_off, refused
from podiumd.observe.redaction import escape

KEY = "sk-ant-0123456789abcdef"
HERE = Endpoint(
    "http://h:1/v1", own=False, key=KEY, key_name="MINE", url_name="base_url in [agents.native]"
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
    own = refused(Endpoint("https://h/v1", own=True, url_name="URL"), "m", 404, {}, b"")
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
