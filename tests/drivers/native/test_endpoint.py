"""Where a model is reached, and with which key."""

from __future__ import annotations

import logging
import subprocess
import sys
from functools import partial
from typing import Any

import httpx2
import pytest
import trio

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model import opening
from podiumd.agents.native.model.anthropic import DEFAULT_MODEL
from podiumd.agents.native.model.base import ModelError, Usage
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.endpoint import find_endpoint as find_endpoint_of
from podiumd.agents.native.model.endpoint import problem as problem_of
from podiumd.agents.native.model.opening import open_model
from podiumd.agents.native.model.prices import cost_usd, known
from tests.drivers.native.models import AT_ONCE, HI, KEY, Told, opened
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

find_endpoint = partial(find_endpoint_of, agent="native")
problem = partial(problem_of, agent="native")

KEYS = {"ANTHROPIC_API_KEY": "a-key", "OPENAI_API_KEY": "o-key"}


def settings(provider: str = "anthropic", **more: Any) -> NativeSettings:
    return NativeSettings(provider=provider, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("provider", "url", "key"),
    [
        ("anthropic", "https://api.anthropic.com", "a-key"),
        ("openai", "https://api.openai.com/v1", "o-key"),
    ],
)
def test_without_settings_it_is_the_providers_own(provider: Any, url: str, key: str) -> None:
    found = find_endpoint(provider, settings(provider), KEYS)

    assert (found.url, found.key, found.own) == (url, key, True)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_setting_wins_over_the_environment(provider: Any) -> None:
    environ = {**KEYS, f"{provider.upper()}_BASE_URL": "http://there:1"}
    chosen = settings(provider, base_url="http://here:2/v1/")

    here, there = (find_endpoint(provider, s, environ) for s in (chosen, settings(provider)))

    assert (here.url, here.own, here.versioned) == ("http://here:2/v1", False, True)
    assert (there.url, there.own, there.versioned) == ("http://there:1", False, False)
    assert there.url_name == f"{provider.upper()}_BASE_URL"


@pytest.mark.parametrize(
    ("given", "url", "versioned"),
    [
        ("http://h/v1/chat/completions", "http://h/v1", True),
        ("http://h/v1/messages/", "http://h/v1", True),
        ("http://h/openai/v1beta/x", "http://h/openai/v1beta/x", True),
        ("http://h/values", "http://h/values", False),
    ],
)
def test_urls_are_taken_as_people_copy_them(given: str, url: str, versioned: bool) -> None:
    found = Endpoint(given, own=False, agent="native")

    assert (found.url, found.versioned) == (url, versioned)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1", True),
        ("http://127.9.0.1", True),
        ("http://[::1]:8080/v1", True),
        ("http://127.example.org", False),
        ("http://10.0.0.1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_this_machine_is_known(url: str, here: bool) -> None:
    assert Endpoint(url, own=False, agent="native").loopback is here


def test_a_missing_key_is_told_with_what_to_set() -> None:
    with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY in the daemon's") as caught:
        find_endpoint("anthropic", settings(), {})

    assert caught.value.kind == "auth"


def test_a_named_variable_must_be_set_even_where_no_key_is_needed() -> None:
    chosen = settings(api_key_env="MINE", base_url="http://h")

    with pytest.raises(ModelError, match="MINE, which api_key_env"):
        find_endpoint("anthropic", chosen, KEYS)


def test_a_server_of_ones_own_needs_no_key() -> None:
    found = find_endpoint("openai", settings("openai", base_url="http://h"), {})

    assert (found.key, found.key_name) == ("", "OPENAI_API_KEY")


@pytest.mark.parametrize("key", ["with blank inside", "line\nbreak", "caf\u00e9"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ModelError, match="the key in ANTHROPIC_API_KEY") as caught:
        find_endpoint("anthropic", settings(), {"ANTHROPIC_API_KEY": key})

    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://x", "http://user:pw@h", "h:1", "http://h?x=1"])
def test_a_url_of_the_environment_is_checked_as_that_of_the_file_is(url: str) -> None:
    with pytest.raises(ModelError, match="ANTHROPIC_BASE_URL is no http") as caught:
        find_endpoint("anthropic", settings(), {**KEYS, "ANTHROPIC_BASE_URL": url})

    assert "pw" not in str(caught.value)


def test_what_stands_in_the_way_is_told_beforehand() -> None:
    assert problem(settings(), KEYS) is None
    assert problem(settings("scripted"), {}) is None
    assert problem(settings("openai", base_url="http://h"), {}) is None
    assert "no key for the model" in str(problem(settings(), {}))
    assert "set model in [agents.native]" in str(problem(settings("openai"), KEYS))
    assert "set model in [agents.other]" in str(problem_of(settings("openai"), KEYS, "other"))
    assert problem(settings("openai", model="gpt-5"), KEYS) is None


# -- what replies cost -----------------------------------------------------------------------


MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-sonnet-4-5", 3.0),
        ("claude-sonnet-4-5-20250929", 3.0),
        ("claude-sonnet-4-5@20250929", 3.0),
        ("anthropic/claude-sonnet-4-5", 3.0),
        ("gpt-5", 1.25),
        ("gpt-5-2025-08-07", 1.25),
        ("gpt-5-mini", 0.25),
        ("gpt-4o-latest", 2.5),
    ],
)
def test_a_model_is_known_by_its_name_whatever_its_release(model: str, dollars: float) -> None:
    assert cost_usd(model, Usage(input=MILLION)) == pytest.approx(dollars)


@pytest.mark.parametrize("model", ["", "llama3", "gpt-5-turbo", "claude-sonnet-4-5-fast"])
def test_a_name_that_only_begins_alike_has_no_price(model: str) -> None:
    assert known(model) is None and cost_usd(model, Usage(input=MILLION)) is None


def test_each_kind_of_token_has_its_own_price() -> None:
    usage = Usage(input=100_000, output=200_000, cached=300_000, cache_written=400_000)

    assert cost_usd("claude-opus-4-5", usage) == pytest.approx(0.5 + 5.0 + 0.15 + 2.5)


def test_a_long_prompt_may_cost_more() -> None:
    short, long = Usage(input=100_000), Usage(input=1_000, cached=99_001)

    assert cost_usd("claude-haiku-5-5", short) == pytest.approx(0.01)
    assert cost_usd("claude-haiku-5-5", long) == pytest.approx((500 + 99_001 * 0.05) / MILLION)


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_the_default_model_is_known() -> None:
    assert known(DEFAULT_MODEL) is not None


# -- opening a model: what it costs a daemon, proxies, and that no key is written down -------


BOTH = pytest.mark.parametrize("provider", ["anthropic", "openai"])


def test_a_daemon_without_a_native_turn_does_not_import_httpx() -> None:
    code = "import podiumd.agents.native.model.opening, sys; assert 'httpx2' not in sys.modules"

    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANG_SECONDS)


@BOTH
async def test_no_key_is_written_to_any_log(
    provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = {"turns": [{"error": {"status": 500}}, {"error": {"status": 401}}]}
    with ModelServer(script) as server:
        async with opened(provider, server.url, Told()) as model:
            with pytest.raises(ModelError):
                await model.reply("", HI)
        assert KEY in server.requests[0].headers.get("authorization", "") + (
            server.requests[0].headers.get("x-api-key", "")
        )

    assert KEY not in caplog.text


@BOTH
async def test_a_proxy_of_the_environment_stands_between(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    async def proxy(stream: trio.SocketStream) -> None:
        async with stream:
            seen.append(await stream.receive_some(65536))
            await stream.send_all(b"HTTP/1.1 403 Proxy says no\r\ncontent-length: 0\r\n\r\n")

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, proxy, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with opened(provider, "http://model.invalid", Told(), policy=AT_ONCE) as model:
            with pytest.raises(ModelError, match="403"):
                await model.reply("", HI)
        nursery.cancel_scope.cancel()

    assert b"http://model.invalid/v1/" in seen[-1].splitlines()[0]


@BOTH
async def test_a_server_on_this_machine_is_asked_without_the_proxy(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    with ModelServer() as server:
        async with opened(provider, server.url, Told()) as model:
            assert (await model.reply("", HI)).text == "(nothing scripted)"


async def test_a_proxy_that_cannot_be_meant_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://user:secret-word@h")

    with pytest.raises(ModelError, match="proxy and certificate variables") as caught:
        async with opened("anthropic", "https://model.invalid", Told()):
            raise AssertionError("not opened")

    assert caught.value.kind == "setup" and "secret-word" not in str(caught.value)


async def test_openais_own_server_needs_the_name_of_a_model() -> None:
    settings = NativeSettings(provider="openai")

    with pytest.raises(ModelError, match="set model in"):
        async with open_model(settings, {"OPENAI_API_KEY": KEY}, tell=Told(), agent="native"):
            raise AssertionError("not opened")


async def test_openais_own_server_is_not_asked_for_what_is_known() -> None:
    settings = NativeSettings(provider="openai", model="gpt-4o")

    async with open_model(settings, {"OPENAI_API_KEY": KEY}, tell=Told(), agent="native") as model:
        assert (model.name, model.window, model.reply_tokens) == ("gpt-4o", 128_000, 16_384)


async def test_a_models_list_that_cannot_be_had_matters_only_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = "http://127.0.0.1:9"
    async with opened("openai", url, Told(), model="local") as model:
        assert (model.name, model.window) == ("local", 32_768)

    with pytest.raises(ModelError, match="cannot be reached"):
        async with opened("openai", url, Told(), model="", policy=AT_ONCE):
            raise AssertionError("not opened")


async def test_a_path_that_leads_nowhere_is_told_and_no_model_is_missed() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        said = f"nothing at {request.url.path}".encode()
        return httpx2.Response(404, stream=httpx2.ByteStream(said))

    transport = httpx2.MockTransport(answer)
    wrong = r"base_url in \[agents\.native\] does not lead to a model's API.*nothing at /v2/models"
    with pytest.raises(ModelError, match=wrong):
        async with opened("openai", "http://h/v2", Told(), model="", transport=transport):
            raise AssertionError("not opened")


async def test_a_silent_models_list_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_ASK_SECONDS", 0.1)
    async with trio.open_nursery() as nursery:

        async def silent(stream: trio.SocketStream) -> None:
            async with stream:
                await trio.sleep_forever()

        listeners = await nursery.start(partial(trio.serve_tcp, silent, 0, host="127.0.0.1"))
        url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        with trio.fail_after(HANG_SECONDS):
            async with opened("openai", url, Told(), model="local") as model:
                assert model.name == "local"
        nursery.cancel_scope.cancel()


async def test_a_step_may_choose_its_own_model() -> None:
    settings = NativeSettings(model="claude-opus-4-5")

    async with open_model(
        settings, {"ANTHROPIC_API_KEY": KEY}, tell=Told(), agent="native", model="claude-haiku-4-5"
    ) as model:
        assert (model.name, model.window, model.reply_tokens) == (
            "claude-haiku-4-5",
            200_000,
            32000,
        )
