"""The shared part of both protocols' readers: the reply as it grows, bounded, and checked JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from podiumd.agents.native.model.base import ReplyEnd, ReplyText, ReplyThought, Usage
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.sse import ServerEvent, StreamError

LONGEST_TEXT: Final = 256 * 1024  # characters of a reply that are kept; more cuts it off

Piece = ReplyText | ReplyThought


class ReplyReader(ABC):
    """Reader of one reply: its text as it grows, up to the bound.

    ``ended``: the server announced that nothing follows, or the bound was reached. ``stop`` is
    ``None`` until the server gave the reason for the end; without it the reply was cut off on its
    way.
    """

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.endpoint = endpoint
        self.model = model
        self.text = ""
        self.stop: ReplyEnd | None = None
        self.ended = False
        self.usage = Usage()

    @abstractmethod
    def event(self, event: ServerEvent) -> list[Piece]:
        """Read one event. Raises ``StreamError``, and ``ModelError`` where it reports one."""

    @abstractmethod
    def whole(self, body: dict[str, Any]) -> list[Piece]:
        """Read a reply that came in one piece. Raises as ``event``."""

    def grow(self, text: str) -> list[Piece]:
        """Add to the text; the reply counts as cut at the bound."""
        room = LONGEST_TEXT - len(self.text)
        if len(text) > room:
            text, self.stop, self.ended = text[:room], "length", True
        self.text += text
        return [ReplyText(text)] if text else []


def load(text: str) -> dict[str, Any]:
    """Load a JSON object. Raises ``StreamError`` for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise StreamError("this is not valid JSON") from None
    if not isinstance(found, dict):
        raise StreamError(f"a JSON object was due, not a {type(found).__name__}")
    return found


def count(of: Mapping[str, Any], name: str, otherwise: int = 0) -> int:
    """Return the count under a name, where it can be one."""
    found = of.get(name)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= 2**53:
        return otherwise
    return found
