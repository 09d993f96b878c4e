"""What the daemon sends, made whole: the wire sends every field, a test names those it is about."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from podium import protocol
from podiumd.wire.declared import METHODS, NOTIFICATIONS

Json = Any

RESULTS: Final = {method.name: method.result for method in METHODS}
USUAL: Final = {"ok": True, "trusted": True}
"""What is so unless a test says otherwise."""

SENT: Final = {notification.name: notification.params for notification in NOTIFICATIONS}


def answer(method: str, given: Any) -> Any:
    """The result of a method, with the fields that the test left out. A recipe is drawn as it
    stands."""
    if method not in RESULTS or method == "recipes.get":
        return given
    return _whole(_named(RESULTS[method]), given)


def notification(method: str, given: Json) -> Any:
    """The parameters of a notification, with the fields that the test left out."""
    if method == "run.event":
        return event(given)
    return _whole(_named(SENT[method]), given) if method in SENT else given


def event(given: Json) -> Json:
    """An event whose data has all fields of its type; where a piece of output stands depends on
    those before it."""
    if given["type"] == "turn.output":
        return given
    name = "".join(part.capitalize() for part in given["type"].split("."))
    kind = getattr(protocol, f"{name}Data", getattr(protocol, name, None))
    data = given["data"]
    if given["type"] == "run.ended":
        data = {**data, "exit": data["run"]["exit"]}
    whole = data if kind is None else _whole(kind, data)
    if given["type"] == "run.ended":
        whole["exit"] = whole["run"]["exit"]
    return {**given, "data": whole}


def _named(declared: Any) -> Any:
    """The generated type of what a method declares."""
    if get_origin(declared) is list:
        return list[_named(get_args(declared)[0])]  # type: ignore[misc]
    if get_origin(declared) is UnionType:
        first, *others = map(_named, get_args(declared))
        for other in others:
            first = first | other
        return first
    return getattr(protocol, getattr(declared, "__name__", ""), Any)


def _whole(kind: Any, given: Any) -> Any:
    if get_origin(kind) in (UnionType, Union):
        kind = _of_union(get_args(kind), given)
    if get_origin(kind) is NotRequired:
        return _whole(get_args(kind)[0], given)
    if get_origin(kind) is list and isinstance(given, list):
        return [_whole(get_args(kind)[0], one) for one in given]
    if get_origin(kind) is dict and isinstance(given, dict):
        return {name: _whole(get_args(kind)[1], one) for name, one in given.items()}
    if not (is_typeddict(kind) and isinstance(given, dict)):
        return given
    hints = get_type_hints(kind, include_extras=True)
    named = {name: _whole(hints.get(name, Any), value) for name, value in given.items()}
    lacking = {name: hint for name, hint in hints.items() if name not in given}
    always = {name: hint for name, hint in lacking.items() if get_origin(hint) is not NotRequired}
    return named | {name: USUAL.get(name, _nothing(hint)) for name, hint in always.items()}


def _of_union(kinds: tuple[Any, ...], given: Any) -> Any:
    """The one of several types that is meant: that of the same kind, or with the same fields."""
    known = [kind for kind in kinds if is_typeddict(kind)]
    if not (known and isinstance(given, dict)):
        return next((one for one in kinds if get_origin(one) in (list, dict)), Any)
    for kind in known:
        tag = get_type_hints(kind).get("kind")
        if tag is not None and given.get("kind") in get_args(tag):
            return kind
    return max(known, key=lambda kind: len(given.keys() & get_type_hints(kind).keys()))


def _nothing(kind: Any) -> Any:
    options = get_args(kind)
    if NoneType in options:
        return None
    if get_origin(kind) is Literal:
        return options[0]
    if get_origin(kind) in (UnionType, Union):
        return _nothing(options[0])
    if is_typeddict(kind):
        return _whole(kind, {})
    return None if kind is Any else (get_origin(kind) or kind)()
