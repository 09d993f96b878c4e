"""Settings written into the configuration file, everything else of it left as it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

from podium.errors import Failure

_TABLE = re.compile(r"^[ \t]*\[gateway\][ \t]*(?:#.*)?$", re.MULTILINE)
_NEXT = re.compile(r"^[ \t]*\[", re.MULTILINE)
_VALUE = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s#"']+)"""  # of one line; a remark may follow


def as_text(settings: Mapping[str, str]) -> str:
    """Return the settings as lines of TOML."""
    return "".join(f"{key} = {_quoted(value)}\n" for key, value in settings.items())


def changed(text: str, settings: Mapping[str, str]) -> str:
    """Return a file's text with these settings in its table ``[gateway]``.

    What comes out is read again: a file in which they cannot be set by whole lines is refused, with
    the lines to write by hand. Raises Failure.
    """
    by_hand = f"Write these by hand, under [gateway]:\n\n{as_text(settings)}"
    try:
        wanted = tomllib.loads(text)
        wanted.setdefault("gateway", {}).update(settings)
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise Failure(f"The configuration file has a fault: {error}. {by_hand}") from None
    after = _with(text, settings)
    try:
        right = tomllib.loads(after) == wanted
    except tomllib.TOMLDecodeError:
        right = False
    if not right:
        raise Failure(f"The configuration file sets [gateway] in an unusual way. {by_hand}")
    return after


def _with(text: str, settings: Mapping[str, str]) -> str:
    table = _TABLE.search(text)
    if table is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[gateway]\n{as_text(settings)}"
    end = _NEXT.search(text, table.end())
    stop = len(text) if end is None else end.start()
    body, missing = text[table.end() : stop], dict(settings)
    for key, value in settings.items():
        line = re.search(rf"^[ \t]*{key}[ \t]*=[ \t]*{_VALUE}", body, re.MULTILINE)
        if line is not None:
            body = body[: line.start(1)] + _quoted(value) + body[line.end(1) :]
            del missing[key]
    return f"{text[: table.end()]}\n{as_text(missing)}{body.removeprefix(chr(10))}{text[stop:]}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
