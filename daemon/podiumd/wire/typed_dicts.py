"""The types of what the daemon sends, as ``TypedDict``s for a client in Python."""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword
from typing import Any

from podiumd.wire.fields import JsonObject
from podiumd.wire.schema import REF

HEADER = '''\
"""Types of what the daemon sends. Made from ``podiumd.wire`` by ``make wire``; do not edit.

For the type checker alone: nothing imports it when the client runs.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
'''

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def typed_dicts(document: JsonObject) -> str:
    """Return a module with the type of every result, notification and event."""
    schemas = document["components"]["schemas"]
    sent = [one["result"]["schema"] for one in document["methods"]]
    sent += [one["x-params"] for one in document["x-notifications"]]
    sent += document["x-events"].values()
    names = sorted({name for schema in sent for name in _named(schema, schemas, set())})
    return HEADER + "".join(
        "\n\n" + "\n".join(_typed_dict(name, schemas[name])) + "\n" for name in names
    )


def _named(schema: Any, schemas: JsonObject, seen: set[str]) -> Iterator[str]:
    """Yield the structs that a schema refers to, and those that these do."""
    if isinstance(schema, list):
        for one in schema:
            yield from _named(one, schemas, seen)
    elif isinstance(schema, dict):
        name = str(schema.get("$ref", "")).removeprefix(REF)
        if name and name not in seen:
            seen.add(name)
            yield name
            yield from _named(schemas[name], schemas, seen)
        for one in schema.values():
            yield from _named(one, schemas, seen)


def _typed_dict(name: str, schema: JsonObject) -> Iterator[str]:
    required, fields = schema["required"], schema["properties"].items()
    types = {
        field: _type(one) if field in required else f"NotRequired[{_type(one)}]"
        for field, one in fields
    }
    if any(map(iskeyword, types)):
        yield f"{name} = TypedDict("
        yield f'    "{name}",'
        yield "    {"
        yield from (f'        "{field}": {type_},' for field, type_ in types.items())
        yield "    },"
        yield ")"
        return
    yield f"class {name}(TypedDict):"
    yield from (f"    {field}: {type_}" for field, type_ in types.items())
    if not types:
        yield "    pass"


def _type(schema: JsonObject) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REF)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "const" in schema:
        return f"Literal[{_quoted(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(_quoted, schema['enum']))}]"
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:  # JSON has no tuples
            return f"list[{' | '.join(dict.fromkeys(map(_type, schema['prefixItems'])))}]"
        return f"list[{_type(schema.get('items', {}))}]"
    if kind == "object":
        return f"dict[str, {_type(schema.get('additionalProperties', {}))}]"
    return _PLAIN[kind] if kind is not None else "Any"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
