"""A request's body in JSON, made out field by field. Pure."""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.structs import fields

from podiumd.gateway.http.exchange import Problem
from podiumd.runtime.errors import InvalidParameter
from podiumd.wording import convert, expected, quoted

T = TypeVar("T", bound=msgspec.Struct)


def decoded(raw: bytes, struct: type[T], *, tolerant: bool = False) -> T:
    """Decode the body as ``struct``. A field that may be left out may be null or empty as well;
    ``tolerant``: it may have more fields.

    Raises:
        Problem: 400, it is no JSON object.
        InvalidParameter: a field is missing, unknown, or not what it has to be.
    """
    return made_out(_object(raw), struct, tolerant=tolerant)


def made_out(
    message: dict[str, Any], struct: type[T], *, tolerant: bool = False, where: str = ""
) -> T:
    """Convert an object like ``decoded``; ``where`` comes before the names of its fields in
    messages. Raises ``InvalidParameter``."""
    known = {field.encode_name: field for field in fields(struct)}
    unknown = next((name for name in message if name not in known), None)
    if unknown is not None and not tolerant:
        words = f"There is no field {quoted(unknown)}; there are: {', '.join(known)}."
        raise InvalidParameter(unknown[:64], words)
    values: dict[str, Any] = {}
    for name, field in known.items():
        value = message.get(name)
        if field.required and name not in message:
            words = f"'{where}{name}' is missing: expected {expected(field.type)}."
            raise InvalidParameter(f"{where}{name}", words)
        if not field.required and (value is None or value == ""):
            continue
        try:  # null leaves a field out: the error of a given one does not name it
            values[field.name] = convert(value, field.type if value is None else _there(field.type))
        except ValueError as error:
            words = f"'{where}{name}': {error}."
            raise InvalidParameter(f"{where}{name}", words) from None
    return struct(**values)


def _there(kind: Any) -> Any:
    """Return the type of a field that is not null."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return reduce(or_, (one for one in get_args(kind) if one is not NoneType))


def _object(raw: bytes) -> dict[str, Any]:
    try:
        message = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Problem(400, detail="The body is not valid JSON in UTF-8.") from None
    if not isinstance(message, dict):
        raise Problem(400, detail="The body has to be a JSON object.")
    return message
