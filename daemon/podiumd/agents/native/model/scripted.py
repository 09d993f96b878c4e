"""A model that plays replies from a list, for tests and to try the agent without any key.

A file of replies is TOML (``.toml``) or JSON with an ordered list ``replies``::

    [[replies]]
    when = "failing test"     # regular expression searched in the last message; default: any
    text = "I look first."    # the reply
    stop = "end"              # end | length | refused | other
    error = "overloaded"      # fails with this sentence instead
    delay_seconds = 0.2       # before the reply

Each reply is used once, the first unused one that matches; after the last the model says that
the script is over.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any, Final

import msgspec
import trio

from podiumd.agents.native.model.base import (
    ModelError,
    ModelReply,
    ReplyEnd,
    ReplyText,
    Tell,
    Usage,
)
from podiumd.core.reply.model_message import Message
from podiumd.tools.files.plain_file import read_plain
from podiumd.wording import convert_file

_PIECE: Final = 24  # characters sent at once
_OVER: Final = "The script of the scripted model is over: nothing is left to reply."
_SCRIPT_BYTES: Final = 16 * 1024 * 1024
_DEMO: Final = "demo_replies.toml"


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply of a script; see the module's text for the keys."""

    text: str = ""
    when: str = ""
    stop: ReplyEnd = "end"
    error: str = ""
    delay_seconds: Annotated[float, msgspec.Meta(ge=0, le=600)] = 0.0


class _Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    replies: tuple[ScriptedReply, ...]


class ScriptedModel:
    """Plays ``replies``; ``asked`` is the last that it was sent, for tests."""

    name = "scripted"
    window = 200_000
    certain = True
    reply_tokens = 8_192

    def __init__(self, replies: Sequence[ScriptedReply], tell: Tell) -> None:
        self._replies = list(replies)
        self._tell = tell
        self.asked: tuple[str, tuple[Message, ...]] | None = None

    async def reply(
        self, system: str, messages: Sequence[Message], *, max_tokens: int | None = None
    ) -> ModelReply:
        """Play the next reply; see ``model.Model.reply``."""
        self.asked = (system, tuple(messages))
        chosen = self._take(messages[-1].text)
        await trio.sleep(chosen.delay_seconds)
        if chosen.error:
            raise ModelError("refused", chosen.error)
        for start in range(0, len(chosen.text), _PIECE):
            await self._tell(ReplyText(chosen.text[start : start + _PIECE]))
        prompt = len(system) + sum(len(message.text) for message in messages)
        usage = Usage(input=prompt // 4, output=len(chosen.text) // 4)
        return ModelReply(chosen.text, chosen.stop, usage, 0.0, priced=True, model=self.name)

    def _take(self, last: str) -> ScriptedReply:
        for index, reply in enumerate(self._replies):
            if re.search(reply.when, last):
                return self._replies.pop(index)
        return ScriptedReply(_OVER)


async def open_script(path: str, tell: Tell) -> ScriptedModel:
    """Open the model that plays a file, or without a ``path`` the built-in demonstration.

    Raises ``ModelError`` of kind ``setup`` for a file that cannot be used.
    """
    return ScriptedModel(await trio.to_thread.run_sync(_load, path), tell)


def _load(path: str) -> tuple[ScriptedReply, ...]:
    name = path or _DEMO
    try:
        if path:
            text = read_plain(path, _SCRIPT_BYTES, links=True).decode("utf-8")
        else:
            text = resources.files("podiumd.agents.native").joinpath(_DEMO).read_text("utf-8")
        data: Any = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
        script: _Script = convert_file(data, _Script)
        for index, reply in enumerate(script.replies):
            try:
                re.compile(reply.when)
            except re.error as error:
                raise ValueError(f"replies[{index}].when: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelError("setup", f"the script of replies '{name}' cannot be used: {why}") from None
    return script.replies
