"""Reading JSON as a strict decoder does, and what is wrong with a frame that it cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

Json = dict[str, Any]

FRAME_DROPPED = "frame dropped"
ROW_DROPPED = "row dropped"
MESSAGE_SKIPPED = "message skipped"
MISREAD = "misread"

STR, INT, BOOL, NUMBER, LIST, OBJECT = "string", "integer", "boolean", "number", "array", "object"

_FRACTIONAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:?\d\d)", re.ASCII)
_WHOLE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


class Fault(NamedTuple):
    """Something the real app would drop or misread: the ``frame``'s type, the ``field``, what is
    wrong with it, and the ``effect`` in the app."""

    frame: str
    field: str
    reason: str
    effect: str

    def __str__(self) -> str:
        return f"{self.frame}.{self.field}: {self.reason} ({self.effect})"


class Unusable(Exception):
    """A field cannot be decoded, and what holds it neither."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Field(NamedTuple):
    """What a decoder demands of one field. ``must``: it may be neither missing nor null."""

    name: str
    kind: str = STR
    must: bool = True
    filled: bool = False


def optional(name: str, kind: str = STR) -> Field:
    """A field that may be missing or null."""
    return Field(name, kind, must=False)


def is_kind(value: object, kind: str) -> bool:
    """Whether a JSON value is of this kind; a boolean is no number."""
    if isinstance(value, bool):
        return kind == BOOL
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int)
        case "number":
            return isinstance(value, int | float)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return False


def require(holder: object, fields: Iterable[Field], where: str = "") -> Json:
    """The object, when every field is as demanded.

    Raises:
        Unusable: it is no object, or a field is missing or of another type.
    """
    if not isinstance(holder, dict):
        raise Unusable(where or "frame", "is no object")
    for field in fields:
        name = f"{where}.{field.name}" if where else field.name
        value = holder.get(field.name)
        if value is None:
            if field.must:
                found = "null" if field.name in holder else "missing"
                raise Unusable(name, f"is {found}, {field.kind} is needed")
        elif not is_kind(value, field.kind):
            raise Unusable(name, f"is {shown(value)}, {field.kind} is needed")
        elif field.filled and (value == "" or (field.kind == INT and value < 1)):
            raise Unusable(name, f"is {shown(value)}, which counts as missing")
    return holder


def shown(value: object) -> str:
    """A value in a few characters."""
    said = repr(value)
    return said if len(said) <= 60 else f"{said[:57]}..."


def is_uuid(value: object) -> bool:
    """Whether it is a UUID in its usual form, of either case."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def has_fraction(stamp: str) -> bool:
    """Whether it is an ISO 8601 time with fractional seconds."""
    return _FRACTIONAL.fullmatch(stamp) is not None


def is_whole(stamp: str) -> bool:
    """Whether it is an ISO 8601 time without fractional seconds."""
    return _WHOLE.fullmatch(stamp) is not None


def is_time(stamp: str) -> bool:
    """Whether it is an ISO 8601 time of either form."""
    return has_fraction(stamp) or is_whole(stamp)
