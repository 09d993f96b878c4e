"""The types of single values: patterns and ranges, with the words for what does not fit.

What a client sends is checked by these before anything else sees it: identifiers by pattern before
they come near a path, texts for what no agent could be given.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

MODEL: Final = r"[0-9A-Za-z][0-9A-Za-z_.:/@+\[\]-]{0,199}"
"""Form of an agent's own word for a model, in settings, recipes and requests."""

Id = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Za-z][0-9A-Za-z_-]{0,127}\Z",
        description="an id or its beginning: letters, digits, '-' and '_'",
    ),
]
Name = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Za-z][0-9A-Za-z_.-]{0,127}\Z",
        description="a name of letters, digits, '-', '_' and '.'",
    ),
]
ModelName = Annotated[
    str,
    Meta(
        pattern=rf"\A{MODEL}\Z",
        description="the agent's own word for a model: at most 200 characters, no spaces",
    ),
]
Text = Annotated[
    str, Meta(pattern=r"\A[^\0]+\Z", description="a text that is not empty, without NUL")
]
AnyText = Annotated[str, Meta(pattern=r"\A[^\0]*\Z", description="a text without NUL")]
Directory = Annotated[
    str,
    Meta(
        pattern=r"\A/[^\0]{0,4095}\Z",
        description="the absolute path of a directory, beginning with '/'",
    ),
]
File = Annotated[
    str, Meta(pattern=r"\A/[^\0]{0,4095}\Z", description="the absolute path of a file")
]
Files = Annotated[tuple[File, ...], Meta(max_length=8, description="at most 8 paths of files")]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z", description="a digest as hex digits")]
Token = Annotated[
    str, Meta(pattern=r"\A[!-~]{1,200}\Z", description="1 to 200 printable ASCII characters")
]
EventType = Annotated[
    str, Meta(pattern=r"\A[a-z]+(\.[a-z-]+)*\Z", description="the type of an event, as 'run.ended'")
]
Time = Annotated[
    str,
    Meta(pattern=r"\A[0-9TtZz:.+-]{1,40}\Z", description="a time, as 2026-01-31T12:00:00.000Z"),
]
Word = Annotated[
    str, Meta(pattern=r"\A[ -~]{0,200}\Z", description="at most 200 printable ASCII characters")
]
DeviceName = Annotated[
    str,
    Meta(min_length=1, max_length=64, description="1 to 64 printable characters"),
]
Position = Annotated[int, Meta(ge=0, le=2**53)]
PageSize = Annotated[int, Meta(ge=1, le=1000)]

Json = Any
"""An open value: anything that JSON can express."""
JsonObject = dict[str, Any]
"""An object whose members are open: what a tool is called with, what a conversation has saved."""


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every method's parameters. A parameter with a default may be left out."""


class Nothing(Params, frozen=True, kw_only=True):
    """No parameters."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every result: each field is sent, but for one that is unset."""


class Done(Result, frozen=True, kw_only=True):
    """An empty result: it was done, ``{}``."""
