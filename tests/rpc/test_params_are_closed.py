"""No byte of a request is passed over unread: what may stand in its parameters is declared."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec import inspect

from podiumd.rpc.adapter import Method
from podiumd.rpc.context import RequestContext
from podiumd.rpc.methods import METHODS
from podiumd.rpc.params import fault_of
from podiumd.wire.runs import ReadHistory


def _structs(known: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    if isinstance(known, inspect.StructType):
        yield known.cls
        for field in known.fields:
            yield from _structs(field.type)
    for name in ("types", "item_types", "item_type", "key_type", "value_type"):
        within = getattr(known, name, ())
        for one in within if isinstance(within, tuple) else (within,):
            yield from _structs(one)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_parameters_and_what_stands_in_them_take_no_unknown_members(
    method: Method[RequestContext],
) -> None:
    """The adapter relies on it: msgspec skips an unknown member as it is, UTF-8 or not."""
    for struct in _structs(inspect.type_info(method.params)):
        assert struct.__struct_config__.forbid_unknown_fields, struct


def test_what_does_not_fit_is_told_in_the_words_of_json() -> None:
    """An object is no table here, but what a client has sent is told as it is."""
    given = {"run_id": "r", "after": "a table"}
    assert fault_of(ReadHistory, given) == (
        "after",
        "parameter 'after': expected an object or null, got 'a table'",
    )
