"""The types of settings, and what the table of every agent is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from podiumd.wire.fields import MODEL

Text = Annotated[str, Meta(pattern=r"\A[^\0]*\Z", description="a string without NUL")]
Word = Annotated[
    str, Meta(pattern=r"\A[^\0\n\r]+\Z", description="a string of one line that is not empty")
]
Seconds = Annotated[
    float, Meta(gt=0, le=2_592_000, description="seconds, above 0 and at most 2592000 (30 days)")
]
VariableName = Annotated[
    str,
    Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z", description="the name of an environment variable"),
]
OptionalVariableName = Annotated[
    str,
    Meta(
        pattern=r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z",
        description="the name of an environment variable, or an empty string",
    ),
]
OptionalUrl = Annotated[
    str,
    Meta(
        pattern=r"\A(https?://[^\s/@?#]+[^\s@?#]*)?\Z",
        description="an http or https URL without user and query, or an empty string",
    ),
]
OptionalModel = Annotated[
    str,
    Meta(
        pattern=rf"\A({MODEL})?\Z",
        description="the agent's own word for a model, without spaces, or an empty string",
    ),
]
AgentName = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z][a-z0-9-]{0,39}\Z",
        description="a name of at most 40 small letters, digits and hyphens that begins with a"
        " letter",
    ),
]

DRIVER: Final = "driver"
"""The key of ``[agents.NAME]`` that says of which kind the agent is."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


def of_home(path: str, environ: Mapping[str, str]) -> str:
    """Expand a ``~`` at the beginning of the path to the person's home."""
    home = environ.get("HOME")
    return f"{home}{path[1:]}" if home and (path == "~" or path.startswith("~/")) else path
