"""TypeScript declarations of the types of the protocol, from its document."""

from __future__ import annotations

import json
from collections.abc import Iterator

from podiumd.wire.fields import JsonObject
from podiumd.wire.schema import REF

_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def typescript(document: JsonObject) -> str:
    """Return a module of types: every struct, and tables of methods, notifications and events."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: JsonObject) -> Iterator[str]:
    yield f"// Podium {document['info']['version']}: what is said over its JSON-RPC socket."
    yield "// Made by 'podium schema --typescript'; do not edit."
    yield ""
    yield "export type Json ="
    yield "  | null | boolean | number | string | Json[] | { [name: string]: Json };"
    for name, schema in document["components"]["schemas"].items():
        yield from _interface(name, schema)
    yield from _table(
        "Methods",
        {
            one["name"]: f"{{ params: {_type(one['x-params'])}; "
            f"result: {_type(one['result']['schema'])} }}"
            for one in document["methods"]
        },
    )
    told = {one["name"]: _type(one["x-params"]) for one in document["x-notifications"]}
    yield from _table("Notifications", told)
    events = {name: _type(one) for name, one in document["x-events"].items()}
    yield from _table("EventData", events)


def _interface(name: str, schema: JsonObject) -> Iterator[str]:
    yield ""
    yield f"/** {schema['description'].replace('*/', '* /')} */"
    yield f"export interface {name} {{"
    for field, one in schema["properties"].items():
        needed = "" if field in schema["required"] else "?"
        yield f"  {field}{needed}: {_type(one)};"
    yield "}"


def _table(name: str, rows: dict[str, str]) -> Iterator[str]:
    yield ""
    yield f"export interface {name} {{"
    for key, type_ in rows.items():
        yield f"  {json.dumps(key)}: {type_};"
    yield "}"


def _type(schema: JsonObject) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REF)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(map(_type, schema['prefixItems']))}]"
        return f"Array<{_type(schema.get('items', {}))}>"
    if kind == "object":
        return f"{{ [name: string]: {_type(schema.get('additionalProperties', {}))} }}"
    return _PLAIN[kind] if kind is not None else "Json"
