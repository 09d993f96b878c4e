"""A JSON value of a peer as a struct: the members that are read, and no others. Pure.

A member that is missing, or of another type, is read as its default: ``read`` never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec


class Said(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A definition of a protocol. Every member has a default."""


Shape = TypeVar("Shape", bound=Said)


def read(shape: type[Shape], value: Any) -> Shape:
    """Return what is wanted of a JSON value; of anything but an object, nothing but defaults."""
    if not isinstance(value, dict):
        return shape()
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        fitting = {
            field.encode_name: value[field.encode_name]
            for field in msgspec.structs.fields(shape)
            if field.encode_name in value and _fits(shape, field.encode_name, value)
        }
        return msgspec.convert(fitting, shape)


def _fits(shape: type[Said], name: str, value: Mapping[str, Any]) -> bool:
    try:
        msgspec.convert({name: value[name]}, shape)
    except msgspec.ValidationError:
        return False
    return True
