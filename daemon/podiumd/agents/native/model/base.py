"""The interface of every model: one reply to a conversation, reported as it comes; and its
failures.

A model is asked within one turn, by one task. Cancelling ``reply`` (an interrupt) closes the
connection at once. Nothing here knows a protocol; see ``anthropic`` and ``openai``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

import msgspec

from podiumd.core.reply.model_message import Message

ReplyEnd = Literal["end", "length", "refused", "other"]
Kind = Literal["setup", "auth", "refused", "rate", "overloaded", "network", "bad-answer", "context"]


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one reply, as the server counts them.

    ``input`` are those that no cache served or took; ``cached`` were read from a cache,
    ``cache_written`` written to one.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0

    @property
    def prompt(self) -> int:
        """Return all tokens of the prompt, from a cache or not."""
        return self.input + self.cached + self.cache_written

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
        )


class ReplyText(msgspec.Struct, frozen=True, tag=True):
    """A piece of the reply's text."""

    text: str


class ReplyThought(msgspec.Struct, frozen=True, tag=True):
    """A piece of what the model thinks before it replies; no part of the reply."""

    text: str


class Retrying(msgspec.Struct, frozen=True, tag=True):
    """An attempt failed and another follows after ``seconds``: what came of the reply so far is
    void, it begins anew. ``words`` is one sentence for people."""

    attempt: int
    seconds: float
    words: str


ModelEvent = ReplyText | ReplyThought | Retrying
Tell = Callable[[ModelEvent], Awaitable[None]]


class ModelReply(msgspec.Struct, frozen=True):
    """A reply that came to its end.

    ``stop``: ``length`` means cut by a limit, so no answer; ``refused`` that the model or its
    provider declined. ``usage`` is this reply's; ``cost_usd`` also counts what failed attempts
    reported, and is 0 where ``priced`` is false: then the model's prices are unknown.
    """

    text: str
    stop: ReplyEnd
    usage: Usage
    cost_usd: float
    priced: bool
    model: str

    @property
    def cut(self) -> bool:
        """Return whether a limit cut the reply off."""
        return self.stop == "length"


class ModelError(Exception):
    """The failure of a reply: ``str()`` is a sentence or two on what is wrong and what to do; no
    keys.

    ``status`` is HTTP's; ``retry_after`` (seconds) what the server asked for; ``window`` (tokens)
    the size of the context, where an error of kind ``context`` named it; ``cost_usd`` what the
    failed attempts cost as far as they reported it. ``again``: another attempt may help,
    ``attempts``: how many at most are worth it, where that is less than for other errors.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        window: int | None = None,
        again: bool = False,
        attempts: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.status = status
        self.retry_after = retry_after
        self.window = window
        self.again = again
        self.attempts = attempts
        self.cost_usd = 0.0


class Model(Protocol):
    """A model that can be asked.

    ``name`` is what the server calls it; ``window`` (tokens) how much it takes in, reply included,
    ``certain`` where that is known and not assumed; ``reply_tokens`` how many of them a reply may
    have.
    """

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int: ...

    @property
    def certain(self) -> bool: ...

    @property
    def reply_tokens(self) -> int: ...

    async def reply(
        self, system: str, messages: Sequence[Message], *, max_tokens: int | None = None
    ) -> ModelReply:
        """Ask for one reply. ``messages`` alternate, beginning and ending with the user's.

        ``max_tokens`` bounds this reply; none: ``reply_tokens``. Raises ``ModelError``.
        """
        ...
