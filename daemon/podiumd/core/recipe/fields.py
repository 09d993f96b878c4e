"""Typed reading of a recipe's tables: each value is taken as expected, or noted and replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from podiumd.core.findings import Notes, dotted, nearest
from podiumd.core.toml_lines import Path

# The largest number a limit may be: beyond it a bound is a slip of the pen, and every number
# stays exact in JSON and in the database.
_MOST: Final = 1_000_000_000

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Expected(NamedTuple):
    """A test of a TOML value, its wording ("expected WORDS"), and the same as JSON Schema."""

    holds: Callable[[Any], bool]
    words: str
    schema: Mapping[str, Any]


def is_name(value: object) -> bool:
    """Say whether ``value`` is a kebab-case name of at most 64 characters."""
    return isinstance(value, str) and len(value) <= 64 and bool(_NAME.fullmatch(value))


def is_variable_name(value: str) -> bool:
    """Say whether ``value`` can stand between double braces."""
    return len(value) <= 64 and bool(_VARIABLE_NAME.fullmatch(value))


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST


def _list_of(test: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, list) and all(test(item) for item in value)


def _plain(value: Any, depth: int = 8) -> bool:
    """Say whether JSON can hold the value exactly: no dates, nothing infinite or bottomless."""
    if isinstance(value, (dict, list)):
        members = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_plain(member, depth - 1) for member in members)
    return isinstance(value, str) or (isinstance(value, (int, float)) and abs(value) <= _MOST)


_TEXT_SCHEMA: Final = {"type": "string", "pattern": r"\S"}

#: A kebab-case name, as JSON Schema.
NAME_SCHEMA: Final = {"type": "string", "maxLength": 64, "pattern": f"^{_NAME.pattern}$"}
#: A name that can stand between double braces, as JSON Schema.
VARIABLE_SCHEMA: Final = {
    "type": "string",
    "maxLength": 64,
    "pattern": f"^{_VARIABLE_NAME.pattern}$",
}

TEXT: Final = Expected(_text, "a text that is not empty", _TEXT_SCHEMA)
ANY_TEXT: Final = Expected(lambda value: isinstance(value, str), "a text", {"type": "string"})
FLAG: Final = Expected(lambda value: isinstance(value, bool), "true or false", {"type": "boolean"})
COUNT: Final = Expected(
    lambda value: isinstance(value, int) and _number(value),
    "a whole number from 1 to a thousand million; leave the key out for no limit",
    {"type": "integer", "minimum": 1, "maximum": _MOST},
)
NUMBER: Final = Expected(
    _number,
    "a number above 0, at most a thousand million; leave the key out for no limit",
    {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST},
)
TEXTS: Final = Expected(
    lambda value: _list_of(_text, value),
    'a list of texts, such as ["Bash", "Edit"]',
    {"type": "array", "items": _TEXT_SCHEMA},
)
ARGV: Final = Expected(
    lambda value: (
        _list_of(lambda item: isinstance(item, str) and "\0" not in item, value)
        and bool(value)
        and _text(value[0])
    ),
    'a list of a program and its arguments, such as ["make", "test"]',
    {"type": "array", "prefixItems": [_TEXT_SCHEMA], "items": {"type": "string"}, "minItems": 1},
)
NAMES: Final = Expected(
    lambda value: _list_of(is_name, value) and bool(value) and len(set(value)) == len(value),
    'a list of different names in kebab-case, such as ["no-issues", "issues-found"]',
    {"type": "array", "items": NAME_SCHEMA, "minItems": 1, "uniqueItems": True},
)
TABLES: Final = Expected(
    lambda value: _list_of(lambda item: isinstance(item, dict), value),
    "a list of tables",
    {"type": "array", "items": {"type": "object"}},
)
PLAIN: Final = Expected(_plain, "a text, number, truth value, or a list or table of these", {})
TOOLS: Final = Expected(
    lambda value: value in ("all", "read-only", "none") or _list_of(_text, value),
    '"all", "read-only", "none" or a list of tool names',
    {"anyOf": [{"enum": ["all", "read-only", "none"]}, {"type": "array", "items": _TEXT_SCHEMA}]},
)
TRUE: Final = Expected(lambda value: value is True, "true", {"const": True})
SCALAR: Final = Expected(
    lambda value: isinstance(value, (str, int)),
    "a text, a whole number, true or false",
    {"type": ["string", "integer", "boolean"]},
)


def one_of(*words: str) -> Expected:
    """Expect one of these texts."""
    quoted = ", ".join(f'"{word}"' for word in words)
    return Expected(
        lambda value: isinstance(value, str) and value in words,
        f"one of {quoted}",
        {"enum": list(words)},
    )


def some_of(*words: str) -> Expected:
    """Expect a list of some of these texts."""
    one = one_of(*words)
    return Expected(
        lambda value: _list_of(one.holds, value) and bool(value) and len(set(value)) == len(value),
        f"a list of different names of these: {', '.join(words)}",
        {"type": "array", "items": dict(one.schema), "minItems": 1, "uniqueItems": True},
    )


class Table:
    """A table of the file. Keys outside ``keys`` are noted as soon as it is opened."""

    def __init__(
        self, notes: Notes, data: Mapping[str, Any], path: Path, keys: tuple[str, ...]
    ) -> None:
        self.notes = notes
        self.data = data
        self.path = path
        for key in data:
            if key not in keys:
                where = f" in [{dotted(path)}]" if path else ""
                notes.add(
                    "unknown-key",
                    (*path, key),
                    f"unknown key '{key}'{where}; {nearest(key, keys)}. "
                    "Correct the name or remove the key",
                )

    def has(self, key: str) -> bool:
        """Say whether the file sets ``key``, well or badly."""
        return key in self.data

    def get(self, key: str, expected: Expected, default: Any = None) -> Any:
        """Return the value of ``key``; ``default`` where it is absent, or wrong and noted.

        Lists come as tuples.
        """
        if key not in self.data:
            return default
        value = self.data[key]
        if expected.holds(value):
            return tuple(value) if isinstance(value, list) else value
        self.bad(key, f"expected {expected.words}")
        return default

    def need(self, key: str, expected: Expected, default: Any, what: str) -> Any:
        """Return the value of a key that must be there; ``what`` says what to write."""
        if key not in self.data:
            where = f"[{dotted(self.path)}]" if self.path else "the recipe"
            self.notes.add("missing-key", self.path, f"{where} needs the key '{key}': write {what}")
            return default
        return self.get(key, expected, default)

    def bad(self, key: str, message: str) -> None:
        """Note that the value of ``key`` cannot be; the message ends with what was expected."""
        shown = _shown(self.data[key])
        self.notes.add(
            "bad-value", (*self.path, key), f"{dotted((*self.path, key))} is {shown}: {message}"
        )

    def table(self, key: str, keys: tuple[str, ...]) -> Table:
        """Open the table under ``key``; an absent or wrong one is read as empty."""
        return Table(self.notes, self.mapping(key), (*self.path, key), keys)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return the table under ``key`` as data, for tables whose keys are free names."""
        value = self.data.get(key, {})
        if isinstance(value, dict):
            return value
        self.bad(key, f"expected a table, [{dotted((*self.path, key))}]")
        return {}

    def tables(self, key: str, keys: tuple[str, ...]) -> list[Table]:
        """Open each table of the list under ``key``."""
        members = self.get(key, TABLES, ())
        return [
            Table(self.notes, member, (*self.path, key, index), keys)
            for index, member in enumerate(members)
        ]


def _shown(value: object) -> str:
    """Show a wrong value in a sentence, as TOML writes it where that is short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    # A whole number too long to be written out would be refused by int's own limit.
    if isinstance(value, int) and abs(value) > _MOST**2:
        return "a number too large"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
