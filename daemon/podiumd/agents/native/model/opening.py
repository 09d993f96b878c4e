"""Opens the model that the settings name, for one turn.

httpx2 is imported here and on a thread: it takes longer than the event loop may stand still, and
a daemon without a native turn never pays for it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

import trio

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.anthropic import DEFAULT_MODEL, AnthropicDialect
from podiumd.agents.native.model.base import Model, ModelError, Tell
from podiumd.agents.native.model.endpoint import NO_MODEL, Endpoint, find_endpoint
from podiumd.agents.native.model.http import Dialect, HttpModel, Timing
from podiumd.agents.native.model.openai import OpenAIDialect, choose_model
from podiumd.agents.native.model.prices import known
from podiumd.agents.native.model.retry import RetryPolicy
from podiumd.agents.native.model.scripted import open_script
from podiumd.observe.redaction import snippet

if TYPE_CHECKING:
    import ssl

    import httpx2

_CONNECT_SECONDS: Final = 15.0
_ASK_SECONDS: Final = 5.0
# For an unknown model: what common ones take at least, so that an error is rare.
_WINDOW: Final[dict[str, int]] = {"anthropic": 200_000, "openai": 32_768}
_LONGEST_REPLY: Final = 32_000
_UNKNOWN_REPLY: Final = 8_192


@asynccontextmanager
async def open_model(
    settings: NativeSettings,
    environ: Mapping[str, str],
    *,
    tell: Tell,
    agent: str,
    model: str | None = None,
    policy: RetryPolicy | None = None,
    timing: Timing | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Model]:
    """Open the model of ``[agents.NAME]``, ``agent`` being the name; ``model`` is a step's own
    choice in place of the setting.

    ``environ`` is the daemon's environment (keys, base URLs); proxies are httpx2's matter, and left
    out for a server on this machine. ``tell`` receives text, thoughts and further attempts.
    ``transport`` is for tests. Raises ``ModelError``.
    """
    wanted = model or settings.model
    if settings.provider == "scripted":
        yield await open_script(wanted, tell)
        return
    policy, timing = policy or RetryPolicy(), timing or Timing()
    endpoint = find_endpoint(settings.provider, settings, environ, agent)
    client = await trio.to_thread.run_sync(_client, endpoint, transport)
    async with client:
        if settings.provider == "anthropic":
            name = wanted or DEFAULT_MODEL
            dialect: Dialect = AnthropicDialect(endpoint, name, _reply_tokens(name, math.inf))
            window = None
        else:
            dialect, window = await _openai(endpoint, wanted, client, tell, policy)
        found = known(dialect.model)
        told = window or (found.window if found else None)
        window = told or _WINDOW[settings.provider]
        yield HttpModel(
            dialect,
            client,
            tell,
            window=window,
            certain=told is not None,
            reply_tokens=_reply_tokens(dialect.model, window),
            policy=policy,
            timing=timing,
        )


def _reply_tokens(name: str, window: float) -> int:
    """Return how many tokens a reply may have: enough for thinking and a long file."""
    found = known(name)
    longest = min(found.reply, _LONGEST_REPLY) if found else _UNKNOWN_REPLY
    return int(min(longest, window / 4))


async def _openai(
    endpoint: Endpoint, wanted: str, client: httpx2.AsyncClient, tell: Tell, policy: RetryPolicy
) -> tuple[OpenAIDialect, int | None]:
    """Build the dialect with its model's name, and return the window in tokens if known.

    A server that the user named is asked for its models; without a wanted one it must answer.
    """
    dialect = OpenAIDialect(endpoint, wanted)
    if endpoint.own:
        if not wanted:
            raise ModelError("setup", NO_MODEL.format(endpoint.table))
        return dialect, None
    asking = HttpModel(
        dialect,
        client,
        tell,
        window=0,
        certain=False,
        reply_tokens=0,
        policy=policy,
        timing=Timing(idle=_ASK_SECONDS, reply=2 * _ASK_SECONDS),
    )
    try:
        listed = await asking.get(dialect.models_url, persist=not wanted)
    except ModelError:
        if not wanted:
            raise
        return dialect, None  # the list only shows how much the model takes in
    dialect.model, window = choose_model(endpoint, listed, wanted)
    return dialect, window


@cache
def _tls() -> ssl.SSLContext:
    """Build the TLS context once: reading all the authorities takes long."""
    import httpx2

    return httpx2.create_ssl_context()


def _client(endpoint: Endpoint, transport: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    import httpx2

    from podiumd import __version__

    for name in ("httpx2", "httpcore2"):  # they would write down requests, headers included
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        return httpx2.AsyncClient(
            transport=transport,
            verify=_tls(),
            trust_env=not endpoint.loopback,
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
            headers={"user-agent": f"podium/{__version__}"},
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise ModelError(
            "setup",
            "the connection to the model cannot be set up; check the proxy and certificate"
            f" variables of the daemon's environment: {snippet(str(error))}",
        ) from None
