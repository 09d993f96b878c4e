"""The types of what the daemon takes and sends, as ``TypedDict``s for a client in Python."""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword
from typing import Any

from podiumd.wire.fields import JsonObject
from podiumd.wire.schema import REF

HEADER = '''\
"""Types of what the daemon takes and sends. Made from ``podiumd.wire`` by ``make wire``; do not
edit.

For the type checker alone: nothing imports it when the client runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, Protocol, TypedDict, overload
'''

CALL = """

Heed = Callable[[dict[str, Any]], object]


class Call(Protocol):
    \"\"\"Calls a method: its name, its parameters, how many seconds to wait, and what takes the
    notifications that come meanwhile.\"\"\"

"""

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def typed_dicts(document: JsonObject) -> str:
    """Return a module with the types of everything that is sent, of parameters, and of a call."""
    schemas, methods = document["components"]["schemas"], document["methods"]
    sent = [one["result"]["schema"] for one in methods]
    sent += [one["x-params"] for one in document["x-notifications"]]
    sent += document["x-events"].values()
    names = {name for schema in sent for name in _named(schema, schemas, set())}
    taken = {name for one in methods for name in _named(one["x-params"], schemas, set())} - names
    types = {name: _typed_dict(name, schemas[name], taken=name in taken) for name in names | taken}
    calls = "\n".join(_call(one, schemas) for one in methods)
    bodies = ("\n\n" + "\n".join(types[name]) + "\n" for name in sorted(types))
    return HEADER + "".join(bodies) + CALL + calls


def _call(method: JsonObject, schemas: JsonObject) -> str:
    """Return the overload of a method."""
    params = _type(method["x-params"])
    params = params if schemas[params]["required"] else f"{params} | None = None"
    result = _type(method["result"]["schema"])
    return (
        "    @overload\n    def __call__(\n"
        f'        self, method: Literal["{method["name"]}"], params: {params},\n'
        "        seconds: float | None = ..., meanwhile: Heed | None = ...,\n"
        f"    ) -> {result}: ...\n"
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


def _typed_dict(name: str, schema: JsonObject, *, taken: bool) -> Iterator[str]:
    """Yield the lines of a struct's type; what is ``taken`` alone may be anything that is read as
    its lists and tables."""
    required, fields = schema["required"], schema["properties"].items()
    types = {
        field: type_ if field in required else f"NotRequired[{type_}]"
        for field, type_ in ((field, _type(one, taken=taken)) for field, one in fields)
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


def _type(schema: JsonObject, *, taken: bool = False) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REF)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one, taken=taken) for one in schema["anyOf"]))
    if "const" in schema:
        return f"Literal[{_quoted(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(_quoted, schema['enum']))}]"
    kind = schema.get("type")
    if kind == "array":
        some = "Sequence" if taken else "list"
        if "prefixItems" in schema:  # JSON has no tuples
            return f"{some}[{' | '.join(dict.fromkeys(map(_type, schema['prefixItems'])))}]"
        return f"{some}[{_type(schema.get('items', {}), taken=taken)}]"
    if kind == "object":
        value = _type(schema.get("additionalProperties", {}), taken=taken)
        return f"{'Mapping' if taken else 'dict'}[str, {value}]"
    return _PLAIN[kind] if kind is not None else "Any"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
