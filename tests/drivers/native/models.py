"""What the tests of the models share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.base import Model, ModelEvent, ReplyText, ReplyThought, Retrying
from podiumd.agents.native.model.http import Timing
from podiumd.agents.native.model.opening import open_model
from podiumd.agents.native.model.retry import RetryPolicy
from podiumd.core.reply.model_message import Message

KEY = "sk-test-0123456789abcdef"
HI = [Message("user", "hi")]
AT_ONCE = RetryPolicy(first=0.001, longest=0.002)


class Told:
    """Collects what a model tells."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []

    async def __call__(self, event: ModelEvent) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        return "".join(e.text for e in self.events if isinstance(e, ReplyText))

    @property
    def thought(self) -> str:
        return "".join(e.text for e in self.events if isinstance(e, ReplyThought))

    @property
    def retries(self) -> list[Retrying]:
        return [e for e in self.events if isinstance(e, Retrying)]


@asynccontextmanager
async def opened(
    provider: str,
    url: str,
    told: Told,
    *,
    environ: Mapping[str, str] | None = None,
    policy: RetryPolicy = AT_ONCE,
    timing: Timing | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    **settings: Any,
) -> AsyncIterator[Model]:
    """A model at ``url``, whose key both variables hold."""
    keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    chosen = NativeSettings(
        provider=provider,  # type: ignore[arg-type]
        base_url=url,
        **{"model": "claude-sonnet-5-5" if provider == "anthropic" else "gpt-5", **settings},
    )
    given = keys if environ is None else environ
    async with open_model(
        chosen, given, tell=told, agent="native", policy=policy, timing=timing, transport=transport
    ) as model:
        yield model
