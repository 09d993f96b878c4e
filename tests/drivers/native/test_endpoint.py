"""Where a model is reached, and with which key."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.endpoint import Endpoint, find_endpoint, problem

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
    found = Endpoint(given, own=False)

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
    assert Endpoint(url, own=False).loopback is here


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
    assert problem(settings("openai", model="gpt-5"), KEYS) is None
