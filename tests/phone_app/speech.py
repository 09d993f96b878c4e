"""What an app reads aloud of a message."""

from __future__ import annotations

import re

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def speakable(text: str) -> str:
    """The text as it is spoken: no code blocks, no backticks, CamelCase in words."""
    said = _FENCED.sub("[code block]", text).replace("`", "")
    return _CAMEL.sub(" ", said)
