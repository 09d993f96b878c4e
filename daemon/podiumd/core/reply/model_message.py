"""A message of a conversation with a model."""

from __future__ import annotations

from typing import Literal

import msgspec


class Message(msgspec.Struct, frozen=True):
    """A message of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str
