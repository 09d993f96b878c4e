"""Anthropic's Messages protocol, without input or output: what to send, how to read a reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from podiumd.agents.native.model.base import ModelError, ReplyEnd, ReplyThought, Usage
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.refusals import broke_off
from podiumd.agents.native.model.reply_reader import Piece, ReplyReader, count, load
from podiumd.agents.native.model.sse import ServerEvent
from podiumd.core.reply.model_message import Message
from podiumd.formats.json_fields import mapping, objects, string

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
_VERSION: Final = "2023-06-01"
_ENDS: Final[dict[str, ReplyEnd]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_CACHE: Final = {"cache_control": {"type": "ephemeral"}}


class AnthropicDialect:
    """The dialect of one endpoint; it learns what a server of another maker does not take."""

    def __init__(self, endpoint: Endpoint, model: str, reply_tokens: int) -> None:
        self.endpoint = endpoint
        self.model = model
        self._reply_tokens = reply_tokens
        self._caches = True

    @property
    def url(self) -> str:
        """Return where a reply is asked for."""
        return self.endpoint.url + ("/messages" if self.endpoint.versioned else "/v1/messages")

    @property
    def headers(self) -> dict[str, str]:
        """Build the protocol's own headers, the key among them."""
        key = {"x-api-key": self.endpoint.key} if self.endpoint.key else {}
        return {"anthropic-version": _VERSION, **key}

    def body(
        self, system: str, messages: Sequence[Message], max_tokens: int | None
    ) -> dict[str, Any]:
        """Build the request. Parts that stay the same in each request are marked for caching."""
        told: list[dict[str, Any]] = [{"role": m.role, "content": m.text} for m in messages]
        marked = _CACHE if self._caches else {}
        last = {"type": "text", "text": messages[-1].text, **marked}
        told[-1] = {"role": messages[-1].role, "content": [last]}
        return {
            "model": self.model,
            "max_tokens": max_tokens or self._reply_tokens,
            "stream": True,
            "system": [{"type": "text", "text": system, **marked}],
            "messages": told,
        }

    def reader(self) -> AnthropicReader:
        """Build a reader for one reply."""
        return AnthropicReader(self.endpoint, self.model)

    def adapt(self, error: ModelError) -> bool:
        """Return whether the refusal named something optional that is left out from now on."""
        if error.status == 400 and self._caches and "cache_control" in str(error):
            self._caches = False
            return True
        return False


class AnthropicReader(ReplyReader):
    """Reads one reply of this protocol."""

    def event(self, event: ServerEvent) -> list[Piece]:
        """Read one event of a stream; kinds that are not known are skipped, as the API asks."""
        data = load(event.data)
        match string(data, "type") or event.name:
            case "message_start":
                message = mapping(data, "message")
                self.model = string(message, "model") or self.model
                self._count(mapping(message, "usage"))
            case "content_block_start":
                return self._block(mapping(data, "content_block"))
            case "content_block_delta":
                return self._block(mapping(data, "delta"))
            case "message_delta":
                self._end(string(mapping(data, "delta"), "stop_reason"))
                self._count(mapping(data, "usage"))
            case "message_stop":
                self.ended = True
            case "error":
                raise broke_off(self.endpoint, self.model, data.get("error"))
        return []

    def whole(self, body: dict[str, Any]) -> list[Piece]:
        """Read a reply that came in one piece."""
        if string(body, "type") == "error":
            raise broke_off(self.endpoint, self.model, body.get("error"))
        self.model = string(body, "model") or self.model
        self._count(mapping(body, "usage"))
        pieces = [piece for block in objects(body, "content") for piece in self._block(block)]
        self._end(string(body, "stop_reason"))
        self.ended = True
        return pieces

    def _block(self, block: Any) -> list[Piece]:
        """Read the pieces of a block or delta: they name text and thinking alike."""
        thought = string(block, "thinking")
        return self.grow(string(block, "text")) + ([ReplyThought(thought)] if thought else [])

    def _end(self, reason: str) -> None:
        if reason and not self.ended:  # a bound of ours may have ended it before
            self.stop = _ENDS.get(reason, "other")

    def _count(self, usage: Any) -> None:
        """Take over the counts that are given: each is the sum so far."""
        old = self.usage
        self.usage = Usage(
            count(usage, "input_tokens", old.input),
            count(usage, "output_tokens", old.output),
            count(usage, "cache_read_input_tokens", old.cached),
            count(usage, "cache_creation_input_tokens", old.cache_written),
        )
