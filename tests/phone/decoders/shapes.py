"""What a field has to be, as the tables of the apps' decoders say it: a word each.

``str``, ``int``, ``bool``, ``object``, ``list`` are JSON's own; ``filled`` is a text that is not
empty, ``count`` an int of at least 1, ``id`` a UUID. Times: ``ms`` (a number of milliseconds
since 1970), ``time`` (ISO 8601), ``fraction`` (one with a fraction of a second), ``whole`` (one
without). ``a|b`` is one of these words. ``[row]`` is a list whose rows have the shape of that name.
With a ``?`` behind it a field may be missing or null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Json = dict[str, Any]
Shape = Mapping[str, str]

_TIME: Final = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}%s(Z|[+-]\d{2}:\d{2})"
_UUID: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_EARLIEST_MS: Final = 100_000_000_000
"""A number below it was meant as seconds."""


def _matches(pattern: str) -> Callable[[object], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "str": lambda value: isinstance(value, str),
    "filled": lambda value: isinstance(value, str) and value != "",
    "int": _is_int,
    "count": lambda value: _is_int(value) and value >= 1,
    "bool": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "id": _matches(_UUID),
    "version": _matches(r"\d+\.\d+\.\d+"),
    "ms": lambda value: _is_int(value) and (value >= _EARLIEST_MS or value == 0),
    "time": _matches(_TIME % r"(\.\d+)?"),
    "fraction": _matches(_TIME % r"\.\d{3}"),
    "whole": _matches(_TIME % ""),
}


def misfits(value: Json, shape: Shape, rows: Mapping[str, Shape], where: str = "") -> list[str]:
    """What of an object does not fit a shape, a sentence each; ``rows`` are the shapes by name."""
    found: list[str] = []
    for name, word in shape.items():
        field, at = value.get(name), f"{where}{name}"
        if field is None:
            if not word.endswith("?"):
                found.append(f"{at} is {'null' if name in value else 'missing'}")
            continue
        found += _misfits_of(field, word.rstrip("?"), rows, at)
    return found


def _misfits_of(field: object, word: str, rows: Mapping[str, Shape], at: str) -> list[str]:
    if not word.startswith("["):
        kind = KINDS.get(word)
        fits = kind(field) if kind is not None else field in word.split("|")
        return [] if fits else [f"{at} is {str(field)[:60]!r}, no {word}"]
    if not isinstance(field, list):
        return [f"{at} is no list"]
    found: list[str] = []
    for number, row in enumerate(field):
        here = f"{at}[{number}]"
        if isinstance(row, dict):
            found += misfits(row, rows[word.strip("[]")], rows, f"{here}.")
        else:
            found.append(f"{here} is no object")
    return found
