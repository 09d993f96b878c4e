"""Words for people on a typed value: what it should have been and what it was.

One vocabulary for the configuration file and the parameters of a request, so that the same fault
reads the same everywhere. Names of the decoding library never reach a person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from podiumd.core.findings import nearest
from podiumd.observe.redaction import redact

FaultPath = tuple[str | int, ...]
"""A place within plain data: names of tables and numbers of lists, from 0."""

_SHOWN_CHARACTERS: Final = 40
_LOOKED_THROUGH: Final = 512
"""Enough to know any secret that begins in what is shown; a client that sends a thousand long names
waits for all of them."""


def expected(kind: Any) -> str:
    """Say what values the type annotation ``kind`` takes, for example ``an integer from 1 to 9``.

    A ``msgspec.Meta(description=...)`` on the type is taken as the words for it.
    """
    return _describe(inspect.type_info(kind))


def shown(value: object) -> str:
    """Say what a decoded JSON or TOML value is: scalars with their value, cut after 40 characters.

    Control characters come escaped, so the words can go to a terminal or a log.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "a table of values"
    return f"a {type(value).__name__}"


def quoted(text: str) -> str:
    """Put quotes around a string of unknown origin, escaped and cut after 40 characters.

    Secrets are removed before the cut: half of one is recognized by no later search.
    """
    if len(text) > _SHOWN_CHARACTERS:
        text = redact(text[:_LOOKED_THROUGH])
    rest = "..." if len(text) > _SHOWN_CHARACTERS else ""
    escaped = text[:_SHOWN_CHARACTERS].encode("unicode_escape").decode("ascii")
    return f"'{escaped}{rest}'"


def sentence(words: str) -> str:
    """Make a sentence of a refusal: what is meant for programs before it left out, begun with a
    capital where a word begins it, and ended; a command at its end is left to be copied."""
    said = words.strip().removeprefix("Invalid params: ")
    if said.partition(" ")[0].isalpha():  # a name, a path or a number is left as it is written
        said = said[:1].upper() + said[1:]
    ended = said.endswith((".", "!", "?")) or said.rpartition(". ")[2].startswith("Run: ")
    return said if ended else f"{said}."


def convert(value: object, kind: Any) -> Any:
    """Check ``value`` strictly against the type ``kind``.

    Raises ValueError with the words ``expected ..., got ...``.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError):
        raise ValueError(f"expected {expected(kind)}, got {_got(value, kind)}") from None


class Misfit(ValueError):
    """A value does not fit its type: ``path`` is where, which the text names too, with what was
    expected and came, or what is missing or unknown."""

    def __init__(self, path: FaultPath, words: str) -> None:
        parts = (f"[{one}]" if isinstance(one, int) else f".{quoted(one)[1:-1]}" for one in path)
        place = "".join(parts).removeprefix(".")
        super().__init__(f"{place}: {words}" if place else words)
        self.path = path


def convert_file(data: object, kind: Any) -> Any:
    """Check the whole content of a file strictly against the type ``kind``, its tables of fields.

    Raises ``Misfit`` for the first fault.
    """
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, OverflowError):
        raise Misfit(*_find_fault(data, kind)) from None


def _find_fault(value: object, kind: Any) -> tuple[FaultPath, str]:
    """Find the first fault of a value that does not fit: where it is, and what is wrong there."""
    for one in _alternatives(kind):
        for path, item, its_kind in _parts(value, one):
            if not _fits(item, its_kind):
                inner, words = _find_fault(item, its_kind)
                return (*path, *inner), words
        if isinstance(value, dict) and _is_struct(one):
            kinds = get_type_hints(one, include_extras=True)
            for name in value:
                if name not in kinds:
                    return (str(name),), f"it is unknown; {nearest(str(name), kinds)}"
            for field in msgspec.structs.fields(one):
                if field.required and field.name not in value:
                    return (), f"'{field.name}' is missing; expected {expected(kinds[field.name])}"
    return (), f"expected {expected(kind)}, got {shown(value)}"


def _parts(value: object, kind: Any) -> Iterator[tuple[FaultPath, object, Any]]:
    """Yield what a list or table holds: where, what, and of which type it is to be."""
    if isinstance(value, list) and get_origin(kind) in (list, tuple):
        yield from (((at,), item, get_args(kind)[0]) for at, item in enumerate(value))
    elif isinstance(value, dict) and get_origin(kind) is dict:
        yield from (((str(name),), item, get_args(kind)[1]) for name, item in value.items())
    elif isinstance(value, dict) and _is_struct(kind):
        kinds = get_type_hints(kind, include_extras=True)
        yield from (((name,), item, kinds[name]) for name, item in value.items() if name in kinds)


def _alternatives(kind: Any) -> Iterator[Any]:
    """Yield the types that a type is one of, without what is noted of them."""
    if get_origin(kind) is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _alternatives(one)
    else:
        yield kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _got(value: object, kind: Any) -> str:
    """Say what a value is; of a list or table where one was expected, what is wrong in it."""
    if get_origin(kind) is Annotated:
        return _got(value, get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return next((got for one in get_args(kind) if (got := _inside(value, one))), shown(value))
    return _inside(value, kind) or shown(value)


def _inside(value: object, kind: Any) -> str:
    """Describe the first fault in a list or table; empty for all else."""
    if get_origin(kind) is Annotated:
        return _inside(value, get_args(kind)[0])
    if isinstance(value, list) and get_origin(kind) in (list, tuple):
        for number, item in enumerate(value, 1):
            if not _fits(item, get_args(kind)[0]):
                return f"a list whose item {number} is {_got(item, get_args(kind)[0])}"
        return f"a list of {len(value)}"
    if isinstance(value, dict) and get_origin(kind) is dict:
        for key, item in value.items():
            if not _fits(item, get_args(kind)[1]):
                return f"a table whose {quoted(str(key))} is {_got(item, get_args(kind)[1])}"
    return ""


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError):
        return False
    return True


def _number(value: int | float) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number with more than 38 digits"
    return f"the number {value}"


def _describe(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        description = (info.extra_json_schema or {}).get("description")
        return str(description) if description else _describe(info.type)
    describe = _WORDS.get(type(info))
    return describe(info) if describe else "another kind of value"


def _describe_number(info: Any) -> str:
    noun = "an integer" if isinstance(info, inspect.IntType) else "a number"
    if info.gt is not None:
        noun += f" above {_bound(info.gt)}"
    if info.ge is not None and info.le is not None:
        return f"{noun} from {_bound(info.ge)} to {_bound(info.le)}"
    if info.ge is not None:
        noun += f" of at least {_bound(info.ge)}"
    if info.le is not None:
        noun += f" of at most {_bound(info.le)}"
    return noun


def _bound(value: float) -> str:
    return str(math.trunc(value)) if value == math.trunc(value) else str(value)


def _describe_string(info: Any) -> str:
    return "a string that is not empty" if info.min_length else "a string"


def _describe_choice(info: Any) -> str:
    return "one of " + ", ".join(f"'{value}'" for value in info.values)


def _describe_list(info: Any) -> str:
    most = "" if info.max_length is None else f" of at most {info.max_length}"
    return f"a list{most}, each {_describe(info.item_type)}"


def _describe_table(info: Any) -> str:
    if isinstance(info.value_type, inspect.AnyType):
        return "a table"
    return f"a table, each value {_describe(info.value_type)}"


def _describe_union(info: Any) -> str:
    return " or ".join(_describe(kind) for kind in info.types)


_WORDS: Final[dict[type, Callable[[Any], str]]] = {
    inspect.NoneType: lambda _: "null",
    inspect.BoolType: lambda _: "true or false",
    inspect.IntType: _describe_number,
    inspect.FloatType: _describe_number,
    inspect.StrType: _describe_string,
    inspect.LiteralType: _describe_choice,
    inspect.ListType: _describe_list,
    inspect.VarTupleType: _describe_list,
    inspect.DictType: _describe_table,
    inspect.StructType: lambda _: "a table",
    inspect.UnionType: _describe_union,
    inspect.AnyType: lambda _: "any value",
}


def restart_command(kind: str | None) -> str:
    """Return the command that restarts a daemon started by a service manager of this kind.

    Without a kind it is the command for a daemon that the person started.
    """
    return "podium service restart" if kind else "podium down && podium up"
