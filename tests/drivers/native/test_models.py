"""Both APIs, over real sockets, against the scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import trio

from podiumd.agents.native.model.base import ModelError, ModelReply, Usage
from podiumd.agents.native.model.http import Timing
from podiumd.core.reply.model_message import Message
from tests.drivers.native.models import HI, KEY, Told, opened
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

BOTH = pytest.mark.parametrize("provider", ["anthropic", "openai"])


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def told() -> Told:
    return Told()


async def failing(provider: str, server: ModelServer, told: Told) -> ModelError:
    async with opened(provider, server.url, told) as model:
        with pytest.raises(ModelError) as caught:
            await model.reply("Be brief.", HI)
    assert KEY not in str(caught.value)
    return caught.value


async def replied(provider: str, server: ModelServer, told: Told, **settings: Any) -> ModelReply:
    async with opened(provider, server.url, told, **settings) as model:
        return await model.reply("", HI)


@BOTH
async def test_a_reply_is_told_as_it_comes_and_counted(
    provider: str, server: ModelServer, told: Told
) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 3000}
    turn = {"thinking": "hm", "text": "Hello, world.", "chunk": 5, "usage": usage}
    server.load({"default": turn})

    reply = await replied(provider, server, told)
    assert (reply.text, reply.stop, reply.cut) == ("Hello, world.", "end", False)
    assert (told.text, told.thought) == ("Hello, world.", "hm")
    assert reply.usage == Usage(input=1000, output=200, cached=3000)
    assert reply.usage.prompt == 4000
    dollars = {
        "anthropic": (1000 * 2 + 200 * 10 + 3000 * 0.20) / 1e6,
        "openai": (1000 * 1.25 + 200 * 10 + 3000 * 0.125) / 1e6,
    }
    assert reply.cost_usd == pytest.approx(dollars[provider]) and reply.priced


@BOTH
async def test_system_text_and_all_messages_arrive_in_order(
    provider: str, server: ModelServer, told: Told
) -> None:
    talk = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]

    async with opened(provider, server.url, told) as model:
        await model.reply("Be brief.", talk, max_tokens=77)

    request = server.requests[-1]
    assert (request.system, request.anywhere) == ("Be brief.", "one\ntwo\nthree")
    bound = "max_tokens"
    assert request.body[bound] == 77 and request.stream


@BOTH
@pytest.mark.parametrize(
    ("given", "stop"), [("max_tokens", "length"), ("refusal", "refused"), ("odd", "other")]
)
async def test_the_reason_of_the_end_is_told(
    provider: str, given: str, stop: str, server: ModelServer, told: Told
) -> None:
    server.load({"default": {"text": "so far", "stop_reason": given}})

    reply = await replied(provider, server, told)
    assert (reply.text, reply.stop, reply.cut) == ("so far", stop, stop == "length")


@BOTH
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_what_may_pass_is_tried_again_and_told(
    provider: str, status: int, server: ModelServer, told: Told
) -> None:
    error = {"status": status, "message": "busy", "headers": {"retry-after": "0.01"}}
    server.load({"turns": [{"error": error}, {"error": error}, {"text": "at last"}]})

    reply = await replied(provider, server, told)
    assert reply.text == "at last"
    assert [(r.attempt, r.seconds) for r in told.retries] == [(2, 0.01), (3, 0.01)]
    assert str(status) in told.retries[0].words and "busy" in told.retries[0].words


@BOTH
async def test_a_reply_that_is_cut_on_its_way_is_asked_for_anew_and_counts_as_far_as_it_told(
    provider: str, server: ModelServer, told: Told
) -> None:
    """Only Anthropic's API counts the prompt before the reply."""
    server.load({"turns": [{"text": "x" * 200, "cut": True}, {"text": "whole"}]})

    async with opened(provider, server.url, told) as model:
        reply = await model.reply("", HI)
        again = await model.reply("", HI)

    assert reply.text == "whole"
    assert len(told.retries) == 1 and "broke off" in told.retries[0].words
    assert (reply.cost_usd > again.cost_usd) == (provider == "anthropic")


BUSY = {"status": 529, "headers": {"retry-after": "0"}}
LATER = {"status": 429, "headers": {"retry-after": "3600"}}
TOO_LONG = "prompt is too long: 208310 tokens > 200000 maximum"


@BOTH
@pytest.mark.parametrize(
    ("error", "facts", "requests", "words"),
    [
        (BUSY, {"kind": "overloaded", "status": 529}, 6, "tried 6 times"),
        (LATER, {"kind": "rate", "retry_after": 3600}, 1, ""),
        (*({"status": 400, "message": TOO_LONG}, {"kind": "context", "window": 200_000}, 1, ""),),
        *(
            (
                {"status": status, "message": f"bad key {KEY}"},
                {"kind": "auth", "status": status},
                *(1, "_API_KEY"),
            )
            for status in (401, 403)
        ),
    ],
)
async def test_a_refusal_is_told_and_tried_as_often_as_it_helps(
    provider: str,
    error: dict[str, object],
    facts: dict[str, object],
    requests: int,
    words: str,
    server: ModelServer,
    told: Told,
) -> None:
    server.load({"default": {"error": error}})

    found = await failing(provider, server, told)

    assert {name: getattr(found, name) for name in facts} == facts
    assert len(server.requests) == requests and words in str(found)
    if facts["kind"] == "auth":
        assert f"{provider.upper()}_API_KEY" in str(found)
        assert "start the daemon anew" in str(found)


@BOTH
async def test_without_a_key_the_sentence_says_what_to_set(
    provider: str, server: ModelServer, told: Told
) -> None:
    server.load({"key": "secret"})
    async with opened(provider, server.url, told, environ={}) as model:
        with pytest.raises(ModelError, match="wants a key") as caught:
            await model.reply("", HI)

    assert "api_key_env" in str(caught.value)


@BOTH
async def test_the_key_of_the_named_variable_is_sent(
    provider: str, server: ModelServer, told: Told
) -> None:
    server.load({"key": "other"})
    environ = {"MINE": " other\n"}

    await replied(provider, server, told, environ=environ, api_key_env="MINE")
    assert server.requests[-1].matched == "default"


@BOTH
@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
async def test_a_base_url_may_name_the_version_or_not(
    provider: str, end: str, server: ModelServer, told: Told
) -> None:
    async with opened(provider, server.url + end, told) as model:
        await model.reply("", HI)

    assert server.requests[0].path.startswith("/v1/")


@BOTH
async def test_an_interrupt_ends_a_reply_in_its_middle(
    provider: str, server: ModelServer, told: Told
) -> None:
    server.load({"default": {"text": "x" * 400, "hold": "gate"}})
    async with opened(provider, server.url, told) as model:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(model.reply, "", HI)
            await holding(server, "gate")
            nursery.cancel_scope.cancel()

        server.load({"default": {"text": "next"}})
        assert (await model.reply("", HI)).text == "next"


@BOTH
async def test_a_server_that_falls_silent_is_given_up(
    provider: str, server: ModelServer, told: Told
) -> None:
    server.load({"turns": [{"never": True}, {"text": "x" * 400, "hold": "gate"}]})
    reply = await replied(provider, server, told, timing=Timing(idle=0.2))
    assert reply.text == "(nothing scripted)"
    assert ["sent nothing for 0.2 s" in retry.words for retry in told.retries] == [True, True]


@BOTH
async def test_a_server_that_does_not_stream_is_understood(
    provider: str, server: ModelServer, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fakes.model_http import Request

    monkeypatch.setattr(Request, "stream", property(lambda _: False, lambda *_: None))
    server.load({"default": {"text": "whole", "thinking": "hm", "stop_reason": "max_tokens"}})

    reply = await replied(provider, server, told)
    assert (reply.text, reply.stop, told.text, told.thought) == ("whole", "length", "whole", "hm")
    assert reply.usage == Usage(input=10, output=5)


@BOTH
async def test_a_model_without_known_prices_costs_nothing_and_says_so(
    provider: str, server: ModelServer, told: Told
) -> None:
    reply = await replied(provider, server, told, model="my-own")
    assert (reply.cost_usd, reply.priced, reply.usage.output) == (0.0, False, 5)


async def test_the_one_model_of_a_server_is_taken(server: ModelServer, told: Told) -> None:
    server.load({"models": [{"id": "local", "max_model_len": 8192}]})

    async with opened("openai", server.url, told, model="", environ={}) as model:
        assert (model.name, model.window, model.reply_tokens) == ("local", 8192, 2048)
        await model.reply("", HI)

    assert server.requests[0].model == "local"


@pytest.mark.parametrize(("models", "words"), [([], "names no model"), (["a", "b"], "a, b")])
async def test_which_model_to_set_is_said_where_there_is_no_one(
    models: list[str], words: str, server: ModelServer, told: Told
) -> None:
    server.load({"models": models})

    with pytest.raises(ModelError, match=words) as caught:
        async with opened("openai", server.url, told, model=""):
            raise AssertionError("not opened")

    assert caught.value.kind == "setup" and "set model in [agents.native]" in str(caught.value)


async def test_the_default_model_is_one_with_a_known_price(server: ModelServer, told: Told) -> None:
    async with opened("anthropic", server.url, told, model="") as model:
        reply = await model.reply("", HI)

    assert reply.priced and server.requests[0].model == model.name
