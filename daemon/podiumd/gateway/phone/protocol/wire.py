"""A server message as the bytes of a text message. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

Json = dict[str, Any]

_encoder = msgspec.json.Encoder()


def frame(type: str, /, **fields: Any) -> bytes:
    """Return the message of this type with these fields, in their order."""
    return encode({"type": type, **fields})


def encode(value: Any) -> bytes:
    """Return ``value`` as JSON in UTF-8.

    What is no text (the name of a file that is no UTF-8) gets ``?`` in its place: every phone
    refuses a frame with half a character in it, and then shows nothing.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value
