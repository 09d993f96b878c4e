"""Define the kinds of values that clients send, over any protocol, and the words for each. Pure.

Identifiers are checked here, before they come near a path; paths are only checked for being text.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from podiumd.runtime.errors import InvalidParameter

Id = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Za-z][0-9A-Za-z_.-]{0,127}\Z",
        description="an id of letters, digits, '-', '_' and '.'",
    ),
]
Uuid = Annotated[
    str,
    Meta(pattern=r"\A[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\Z", description="a UUID"),
]
Words = Annotated[
    str, Meta(pattern=r"\A[^\0]+\Z", description="a text that is not empty, without NUL")
]
Place = Annotated[
    str,
    Meta(pattern=r"\A[^\0]{1,4096}\Z", description="a path of at most 4096 characters, no NUL"),
]

MOST_BYTES: Final = 1024 * 1024 - 4096
"""Bytes of a prompt: the agent takes it in one line."""


def check_size(words: str) -> None:
    """Check the size of words for an agent. Raises ``InvalidParameter`` for too many."""
    size = len(words.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise InvalidParameter(
            "text",
            f"The text has {size} bytes, and {MOST_BYTES} may go to an agent: attach a file.",
        )
