"""Declarations of a recipe's ``[context]``: the keys that conversations fill, and their types.

A key is declared by the name of its type, by a table, or by the value that it begins with:

    goal = "object"                                        # no value yet
    language = { type = "string", default = "en" }
    notes = []                                             # a list, empty at first
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

KeyType = Literal["string", "integer", "number", "boolean", "list", "object", "any"]

TYPES: Final[dict[str, str]] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list",
    "object": "an object",
    "any": "any value",
}
"""The types, and what a value of each is called."""

DECLARATION: Final = ("type", "default", "description")
"""The keys of a declaration that is a table."""


class Unfit(ValueError):
    """A value, or a call with it, that cannot be taken; the text is for the agent."""


class ContextKey(msgspec.Struct, frozen=True):
    """A declared key; ``default`` is its first value, ``UNSET`` for none."""

    type: KeyType
    default: Any = msgspec.UNSET
    description: str = ""


def declared_key(value: Any) -> ContextKey:
    """Read a key's value in ``[context]`` as a declaration."""
    if isinstance(value, str) and value in TYPES:
        return ContextKey(type=value)  # type: ignore[arg-type]
    if is_declaration(value):
        default = value.get("default", msgspec.UNSET)
        return ContextKey(value["type"], default, value.get("description", ""))
    return ContextKey(type_of(value), value)


def is_declaration(value: Any) -> bool:
    """Say whether a table declares a type and is not a first value itself."""
    return isinstance(value, Mapping) and value.get("type") in [*TYPES]


def declared(context: Mapping[str, Any]) -> dict[str, ContextKey]:
    """Return every key of a recipe's context."""
    return {name: declared_key(value) for name, value in context.items()}


def initial(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a run begins with."""
    keys = declared(context).items()
    return {name: key.default for name, key in keys if key.default is not msgspec.UNSET}


def type_of(value: Any) -> KeyType:
    """Return the type of a value of TOML or JSON."""
    kinds: dict[type, KeyType] = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "list",
        tuple: "list",
        dict: "object",
    }
    return kinds.get(type(value), "any")


def fits(type: KeyType, value: Any) -> bool:
    """Say whether a value is of a type; a whole number is a number too."""
    found = type_of(value)
    return type in ("any", found) or (type == "number" and found == "integer")


def taken(type: KeyType, value: Any) -> Any:
    """Return the value as one of that type: agents write lists and numbers as texts now and then.

    Raises:
        Unfit: it is none, and is no text of one.
    """
    if fits(type, value):
        return value
    if isinstance(value, str):
        try:
            meant = msgspec.json.decode(value.encode("utf-8", "surrogatepass"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            meant = None
        if meant is not None and fits(type, meant):
            return meant
    got = "null" if value is None else TYPES[type_of(value)]
    raise Unfit(f"expected {TYPES[type]}, got {got}")


def is_set(value: Any) -> bool:
    """Say whether a saved value says anything: empty ones do not."""
    return value is not None and value not in ("", [], {})


def as_text(value: Any) -> str:
    """Return a value as it stands in prompts: texts as they are, the rest as JSON in a line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
