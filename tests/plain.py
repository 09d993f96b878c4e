"""What the service answers, as clients get it: plain values, to be compared as a whole."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from podiumd.wire.event import Event
from podiumd.wire.runs import Run

S = TypeVar("S", bound=msgspec.Struct)


def plain(value: object) -> Any:
    """The value as JSON has it: objects are dicts, lists are lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


def shown(make: Callable[..., object], *given: object) -> Any:
    """What ``make`` makes of this, as JSON has it."""
    return plain(make(*given))


def made(kind: type[S], value: object) -> S:
    """A struct of the wire from what it is as JSON."""
    return msgspec.convert(value, kind)


def told(event: Event) -> Any:
    """An event as clients are told it."""
    return msgspec.json.decode(event.written)


def some(struct: type[S], /, **fields: Any) -> S:
    """A struct with these fields; of the others those that it needs are as empty as can be."""
    needed = [one for one in msgspec.structs.fields(struct) if one.required]
    return struct(**{one.name: _empty(one.type) for one in needed} | fields)


def _empty(kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return some(kind)
    origin = get_origin(kind)
    if origin is Literal:
        return get_args(kind)[0]
    if origin in (Union, UnionType):
        return None if type(None) in get_args(kind) else _empty(get_args(kind)[0])
    return (origin or kind)()


def reason(run: Run) -> str | None:
    """Why a run has ended."""
    return None if run.exit is None else run.exit.reason
