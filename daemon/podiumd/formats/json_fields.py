"""Read a line of an agent's JSON without ever raising, and pick typed fields from it."""

from __future__ import annotations

import json
import math
from typing import Any, Final, Literal

import msgspec

_BOM: Final = b"\xef\xbb\xbf"
_DIGITS_LIMIT: Final = 400
_decoder = msgspec.json.Decoder()


def read_object(
    line: bytes, *, errors: Literal["strict", "replace"] = "strict"
) -> dict[str, Any] | str:
    """Return the line's JSON object, or the reason why it holds none.

    The agent's JavaScript writes half a surrogate pair as an escape, which strict decoders
    refuse: such a line is read once more by a lenient one, the halves replaced by ``?``. That one
    also takes a byte order mark and numbers beyond all bounds (as ``None``).

    Parameters:
        errors: what becomes of bytes that are not UTF-8: ``strict``, the line is no object;
            ``replace``, they are replaced, as is right for a file that stays as it is.
    """
    try:
        value = read_value(line, errors=errors)
    except ValueError as error:
        return f"not JSON: {error}"
    if not isinstance(value, dict):
        return f"a JSON {type(value).__name__}, no object"
    return value


def read_value(line: bytes, *, errors: Literal["strict", "replace"] = "strict") -> Any:
    """Return a line's JSON value of any type; as lenient as ``read_object``.

    Raises ``ValueError`` with the kind of fault as its text: no JSON, or too deeply nested.
    """
    try:
        return _decoder.decode(line)
    except (ValueError, RecursionError):
        try:
            return whole_text(_lenient(line, errors))
        except (ValueError, RecursionError) as error:
            raise ValueError(type(error).__name__) from None


def _lenient(line: bytes, errors: str) -> Any:
    # As text: given bytes, ``json`` would guess at UTF-16 and UTF-32.
    text = line.removeprefix(_BOM).decode("utf-8", errors)
    return json.loads(
        text, parse_int=_bounded_int, parse_float=_bounded_float, parse_constant=_no_constant
    )


def _bounded_int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS_LIMIT else None


def _bounded_float(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def whole_text(value: Any) -> Any:
    """Return the value with half surrogate pairs, which UTF-8 cannot hold, replaced by ``?``."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [whole_text(item) for item in value]
    if isinstance(value, dict):
        return {whole_text(key): whole_text(item) for key, item in value.items()}
    return value


def string(values: dict[str, Any], key: str, default: str = "") -> str:
    """Return a string field, or the default for anything else."""
    value = values.get(key)
    return value if isinstance(value, str) else default


def optional(values: dict[str, Any], key: str) -> str | None:
    """Return a string field, or ``None``."""
    value = values.get(key)
    return value if isinstance(value, str) else None


def mapping(values: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object field, or an empty one."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def objects(values: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in a list field."""
    value = values.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(values: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return the strings in a list field."""
    value = values.get(key)
    return tuple(i for i in value if isinstance(i, str)) if isinstance(value, list) else ()


def number(values: dict[str, Any], key: str) -> float | None:
    """Return a finite number field, or ``None``."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def integer(values: dict[str, Any], key: str) -> int | None:
    """Return a number field as an integer, or ``None``."""
    found = number(values, key)
    return None if found is None else int(found)
