"""Words for parameters that do not fit their method, and for texts that no agent could be given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_type_hints

import msgspec

from podiumd.core.findings import nearest
from podiumd.runtime.errors import InvalidParameter
from podiumd.wording import convert, expected, quoted

LONGEST_AGENT_LINE: Final = 1024 * 1024 - 4096  # bytes that reach an agent's pipe in one write
_AGENT_LINE_FRAME: Final = 512  # of such a line, around the text
_TABLE: Final = re.compile(r"('[^']*')|\ba table(?: of values)?\b")
"""A table, but not in quotes: those words are a client's own."""


def fault_of(
    kind: type[msgspec.Struct],
    given: Mapping[str, Any],
    hint: Callable[[str, Iterable[str]], str] = lambda name, known: f"; {nearest(name, known)}",
) -> tuple[str, str]:
    """Find the parameter that keeps ``given`` from being a ``kind``, and the words for it, of which
    ``hint`` says whether a known one is like an unknown one."""
    kinds = get_type_hints(kind, include_extras=True)
    for name in given:
        if name not in kinds:
            like = hint(name, kinds) if kinds else "; this method takes none"
            return name[:100], f"unknown parameter {quoted(name)}{like}"
    for field in msgspec.structs.fields(kind):
        name = field.name
        if name not in given:
            if field.required:
                return name, f"missing parameter '{name}': expected {_json(expected(kinds[name]))}"
            continue
        try:
            convert(given[name], kinds[name])
        except ValueError as error:
            return name, f"parameter '{name}': {_json(str(error))}"
    return "params", "the parameters do not fit together"


def _json(words: str) -> str:
    """Say it in the words of JSON: what the configuration calls a table is an object here."""
    return _TABLE.sub(lambda found: found[1] or "an object", words)


def check_agent_text(parameter: str, text: str) -> None:
    """Refuse a text that could not be handed to an agent in one piece.

    Raises InvalidParameter.
    """
    size = len(msgspec.json.encode(text)) + _AGENT_LINE_FRAME
    if size > LONGEST_AGENT_LINE:
        raise InvalidParameter(
            parameter,
            f"Invalid params: parameter '{parameter}' is {size} bytes long as the agent gets it; "
            f"at most {LONGEST_AGENT_LINE} fit; attach it as a file: save it in the working "
            "directory and name the file in the prompt.",
        )
