"""Opening a model: what it costs a daemon, proxies, and that no key is written down."""

from __future__ import annotations

import logging
import subprocess
import sys
from functools import partial

import httpx2
import pytest
import trio

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model import opening
from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.opening import open_model
from tests.drivers.native.models import AT_ONCE, HI, KEY, Told, opened
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

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
        async with open_model(settings, {"OPENAI_API_KEY": KEY}, tell=Told()):
            raise AssertionError("not opened")


async def test_openais_own_server_is_not_asked_for_what_is_known() -> None:
    settings = NativeSettings(provider="openai", model="gpt-4o")

    async with open_model(settings, {"OPENAI_API_KEY": KEY}, tell=Told()) as model:
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
        settings, {"ANTHROPIC_API_KEY": KEY}, tell=Told(), model="claude-haiku-4-5"
    ) as model:
        assert (model.name, model.window, model.reply_tokens) == (
            "claude-haiku-4-5",
            200_000,
            32000,
        )
