"""Chat completions as OpenAI's API and its many likenesses speak them, without input or output."""

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

_ENDS: Final[dict[str, ReplyEnd]] = {
    "stop": "end",
    "eos": "end",
    "eos_token": "end",
    "end_turn": "end",
    "stop_sequence": "end",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
}
_DONE: Final = "[DONE]"
_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
_MOST_NAMED: Final = 12


class OpenAIDialect:
    """The dialect of one endpoint; it learns what this server does not take.

    Servers differ in small things: whether the path has a version, how the bound of a reply is
    called, whether usage can be asked for, whether there is a system role. Each is tried in the
    common way first and once in the other where the refusal names it.
    """

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.endpoint = endpoint
        self.model = model
        self._version = "" if endpoint.versioned else "/v1"
        self._bound = "max_completion_tokens" if endpoint.own else "max_tokens"
        self._bound_swapped = False
        self._asks_usage = True
        self._system_role = True

    @property
    def url(self) -> str:
        """Return where a reply is asked for."""
        return f"{self.endpoint.url}{self._version}/chat/completions"

    @property
    def models_url(self) -> str:
        """Return where the server lists its models."""
        return f"{self.endpoint.url}{self._version}/models"

    @property
    def headers(self) -> dict[str, str]:
        """Build the header with the key, where there is one."""
        return {"authorization": f"Bearer {self.endpoint.key}"} if self.endpoint.key else {}

    def body(
        self, system: str, messages: Sequence[Message], max_tokens: int | None
    ) -> dict[str, Any]:
        """Build the request; a reply's length is the server's own business unless we bound it."""
        told = [{"role": m.role, "content": m.text} for m in messages]
        if self._system_role:
            told.insert(0, {"role": "system", "content": system})
        else:
            told[0]["content"] = f"{system}\n\n{told[0]['content']}"
        return {
            "model": self.model,
            "stream": True,
            "messages": told,
            **({"stream_options": {"include_usage": True}} if self._asks_usage else {}),
            **({self._bound: max_tokens} if max_tokens else {}),
        }

    def reader(self) -> OpenAIReader:
        """Build a reader for one reply."""
        return OpenAIReader(self.endpoint, self.model)

    def adapt(self, error: ModelError) -> bool:
        """Return whether the refusal named something to put in another way from now on."""
        said = str(error).lower()
        if error.status == 404 and self._version and "model '" not in said:
            self._version = ""
            return True
        if error.status not in (400, 422, 500):
            return False
        if self._asks_usage and "stream_options" in said:
            self._asks_usage = False
            return True
        if not self._bound_swapped and self._bound in said:
            self._bound_swapped = True
            other = {"max_tokens", "max_completion_tokens"} - {self._bound}
            self._bound = other.pop()
            return True
        if self._system_role and "system" in said and "role" in said:
            self._system_role = False
            return True
        return False


class OpenAIReader(ReplyReader):
    """Reads one reply of this protocol."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        super().__init__(endpoint, model)
        self._thoughts = ThoughtFilter()

    def event(self, event: ServerEvent) -> list[Piece]:
        """Read one event of a stream."""
        if event.data.strip() == _DONE:
            pieces = self._filtered("", last=True)
            self.ended = True
            return pieces
        return self._chunk(load(event.data), "delta")

    def whole(self, body: dict[str, Any]) -> list[Piece]:
        """Read a reply that came in one piece."""
        pieces = self._chunk(body, "message")
        self.ended = True
        return pieces

    def _chunk(self, data: dict[str, Any], part: str) -> list[Piece]:
        if data.get("error"):
            raise broke_off(self.endpoint, self.model, data["error"])
        self.model = string(data, "model") or self.model
        self._count(mapping(data, "usage"))
        pieces: list[Piece] = []
        for choice in objects(data, "choices")[:1]:
            delta = mapping(choice, part)
            thought = string(delta, "reasoning_content") or string(delta, "reasoning")
            if thought:
                pieces.append(ReplyThought(thought))
            said = string(delta, "content") or string(delta, "refusal")
            reason = string(choice, "finish_reason")
            pieces += self._filtered(said, last=bool(reason))
            if reason and not self.ended:  # a bound of ours may have ended it before
                self.stop = _ENDS.get(reason, "other")
        return pieces

    def _filtered(self, said: str, *, last: bool) -> list[Piece]:
        thought, text = self._thoughts.feed(said, last=last)
        return ([ReplyThought(thought)] if thought else []) + self.grow(text)

    def _count(self, usage: Any) -> None:
        cached = count(mapping(usage, "prompt_tokens_details"), "cached_tokens")
        if usage:
            prompt = count(usage, "prompt_tokens")
            cached = min(cached, prompt)
            self.usage = Usage(prompt - cached, count(usage, "completion_tokens"), cached)


def choose_model(endpoint: Endpoint, listed: Any, wanted: str) -> tuple[str, int | None]:
    """Choose the model among those that a server lists; return its window in tokens if given.

    Raises ``ModelError`` where none is wanted and not exactly one is there.
    """
    rows = [row for row in objects(listed, "data") if string(row, "id")]
    names = [string(row, "id") for row in rows]
    if not wanted and len(names) != 1:
        offered = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
        what = f"{endpoint.host} offers {offered}" if names else f"{endpoint.host} names no model"
        raise ModelError("setup", f"{what}; set model in {endpoint.table} to the one to use")
    name = wanted or names[0]
    row = next((row for row in rows if string(row, "id") == name), {})
    for key in ("max_model_len", "loaded_context_length", "context_length", "context_window"):
        if count(row, key):
            return name, count(row, key)
    return name, count(mapping(row, "meta"), "n_ctx") or None


class ThoughtFilter:
    """Finds ``<think>...</think>`` at the very beginning of a reply; elsewhere it is text."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "beginning"

    def feed(self, text: str, *, last: bool = False) -> tuple[str, str]:
        """Return the thought and the text that ``text`` completes.

        A part that may still belong to a mark is held back, until ``last``.
        """
        held = self._held + text
        self._held = ""
        thought = ""
        if self._state == "beginning":
            start = held.lstrip()
            if start.startswith(_OPEN):
                self._state, held = "thinking", start[len(_OPEN) :]
            elif _OPEN.startswith(start) and not last:
                self._held = held
                return "", ""
            else:
                self._state = "replying"
        if self._state == "thinking":
            thought, closed, held = held.partition(_CLOSE)
            if closed:
                self._state = "between"
            elif not last:
                keep = _open_end(thought)
                thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if self._state == "between":  # the empty lines after a thought are no part of the reply
            held = held.lstrip()
            self._state = "replying" if held else "between"
        return thought, held


def _open_end(text: str) -> int:
    """Count the characters at the end that may be the beginning of the closing mark."""
    for size in range(min(len(_CLOSE) - 1, len(text)), 0, -1):
        if _CLOSE.startswith(text[-size:]):
            return size
    return 0
