"""JSON Schema of the wire's types.

``msgspec.json.schema`` knows single values; structs are walked here: it takes no union of structs
without tags, and calls a field with a default one that may be left out, which of a result is wrong.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UnsetType

from podiumd.wire.fields import Json, JsonObject, Params

REF: Final = "#/components/schemas/"

_UNIONS: Final = (Union, types.UnionType)


class Schemas:
    """The schemas of structs by their names, as far as they were asked for."""

    def __init__(self) -> None:
        self.components: dict[str, JsonObject] = {}
        self._named: dict[str, type[msgspec.Struct]] = {}

    def of(self, kind: Any) -> JsonObject:
        """Return the schema of a type; structs in it become components, named by their class."""
        if _is_struct(kind):
            self._add(kind)
            return {"$ref": REF + kind.__name__}
        if not any(map(_is_struct, _parts(kind))):
            plain: JsonObject = _as_ecma(msgspec.json.schema(kind))
            return plain
        origin, args = get_origin(kind), get_args(kind)
        if origin in _UNIONS:
            return {"anyOf": [self.of(one) for one in args]}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(args[1])}
        assert origin is list or args[1:] == (...,), kind
        return {"type": "array", "items": self.of(args[0])}

    def _add(self, kind: type[msgspec.Struct]) -> None:
        known = self._named.setdefault(kind.__name__, kind)
        assert known is kind, f"two types of the wire are called {kind.__name__}"
        if kind.__name__ in self.components:
            return
        description = " ".join((kind.__doc__ or "").split())
        schema: JsonObject = {"type": "object", "description": description}
        self.components[kind.__name__] = schema  # before its fields: they may lead back to it
        properties: JsonObject = {}
        required: list[str] = []
        config = kind.__struct_config__
        if config.tag_field is not None:
            properties[config.tag_field] = {"const": config.tag}
            required.append(config.tag_field)
        hints = get_type_hints(kind, include_extras=True)
        for field in msgspec.structs.fields(kind):
            type_, unset = _without_unset(hints[field.name])
            properties[field.encode_name] = self._field(kind, field, type_)
            if not unset and not _is_left_out(kind, field):
                required.append(field.encode_name)
        schema["properties"], schema["required"] = properties, required
        if config.forbid_unknown_fields:
            schema["additionalProperties"] = False

    def _field(
        self, kind: type[msgspec.Struct], field: msgspec.structs.FieldInfo, type_: Any
    ) -> JsonObject:
        schema = self.of(type_)
        if issubclass(kind, Params) and not field.required:
            default = _default(field)
            schema = {**schema, "default": default}
        return schema


def _as_ecma(schema: Json) -> Json:
    """Return a schema with its patterns as JSON Schema has them, which knows ``^`` and ``$``."""
    if isinstance(schema, list):
        return [_as_ecma(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {name: _as_ecma(one) for name, one in schema.items()}
    if isinstance(pattern := schema.get("pattern"), str):
        whole["pattern"] = pattern.replace(r"\A", "^").replace(r"\Z", "$")
    return whole


def _is_left_out(kind: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> bool:
    """Return whether a message may do without a field: parameters and what leaves defaults out."""
    left_out = issubclass(kind, Params) or kind.__struct_config__.omit_defaults
    return left_out and not field.required


def _default(field: msgspec.structs.FieldInfo) -> Json:
    made = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return msgspec.to_builtins(made)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _parts(kind: Any) -> Iterator[Any]:
    """Yield a type and all that it is made of."""
    yield kind
    for one in get_args(kind):
        yield from _parts(one)


def _without_unset(kind: Any) -> tuple[Any, bool]:
    """Return a field's type without what stands for its absence, and whether that was there."""
    if get_origin(kind) not in _UNIONS or UnsetType not in get_args(kind):
        return kind, False
    left = tuple(one for one in get_args(kind) if one is not UnsetType)
    return Union[left], True  # noqa: UP007  (made at run time)
