"""The protocol as an OpenRPC document (https://spec.open-rpc.org), made from the declarations."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from podiumd import __version__
from podiumd.wire.declared import METHODS, NOTIFICATIONS
from podiumd.wire.event_data import types_of_data
from podiumd.wire.events import Event
from podiumd.wire.fields import JsonObject
from podiumd.wire.method import Method, Notification
from podiumd.wire.schema import REF, Schemas
from podiumd.wire.sessions import Message

OPENRPC: Final = "1.3.2"


@cache
def document() -> JsonObject:
    """Return the document. It is made once, so callers must not change it.

    Notifications, which OpenRPC does not know, stand in ``x-notifications``; ``x-events`` has the
    type of the data of each event.
    """
    schemas = Schemas()
    schemas.of(Message)
    methods = [_method(schemas, one) for one in METHODS]
    notifications = [_notification(schemas, one) for one in NOTIFICATIONS]
    events = {name: schemas.of(kind) for name, kind in types_of_data().items()}
    schemas.of(Event)
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "Podium",
            "description": "JSON-RPC 2.0 over the daemon's Unix socket: a message is a line.",
            "version": __version__,
            "license": {"name": "MIT"},
        },
        "methods": methods,
        "x-notifications": notifications,
        "x-events": events,
        "components": {"schemas": dict(sorted(schemas.components.items()))},
    }


def _method(schemas: Schemas, method: Method[Any, Any]) -> JsonObject:
    return {
        "name": method.name,
        "summary": method.purpose,
        "paramStructure": "by-name",
        "params": _params(schemas, method.params),
        "result": {"name": "result", "schema": schemas.of(method.result)},
        "x-params": schemas.of(method.params),
        "x-needs": method.needs,
        "x-pace": method.pace,
    }


def _notification(schemas: Schemas, notification: Notification[Any]) -> JsonObject:
    return {
        "name": notification.name,
        "summary": notification.purpose,
        "x-params": schemas.of(notification.params),
    }


def _params(schemas: Schemas, kind: Any) -> list[JsonObject]:
    """Return the parameters one by one, those that must be given first, as OpenRPC wants them."""
    schema = schemas.components[schemas.of(kind)["$ref"].removeprefix(REF)]
    found = [
        {"name": name, "required": name in schema["required"], "schema": one}
        for name, one in schema["properties"].items()
    ]
    return sorted(found, key=lambda one: not one["required"])
