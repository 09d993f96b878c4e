"""The protocol's document is made from the declarations, and so are the types of languages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from podiumd.core.run import facts as f
from podiumd.wire import declared
from podiumd.wire.document import document
from podiumd.wire.event import data_of
from podiumd.wire.event_data import types_of_data
from podiumd.wire.fields import JsonObject, Params, Result
from podiumd.wire.forms import Form, printed
from podiumd.wire.schema import REF, Schemas
from tests.core.builders import Play, a_recipe, a_step, leave

RECORDED = Path(__file__).parents[1] / "recorded"
DATA = types_of_data()
SCHEMAS: JsonObject = document()["components"]["schemas"]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def resolved(schema: JsonObject) -> JsonObject:
    """The schema that a reference leads to, or the one itself."""
    return SCHEMAS[schema["$ref"].removeprefix(REF)] if "$ref" in schema else schema


def strays(schema: JsonObject, value: Any, where: str = "$") -> list[str]:
    """What of a recorded value no schema declares, and what of a schema the value lacks. Values
    themselves are names in angle brackets there."""
    whole = resolved(schema)
    if "anyOf" in whole:
        found = [strays(one, value, where) for one in whole["anyOf"] if fits(one, value)]
        return min(found, key=len, default=[] if is_plain(value) else [f"{where}: {value}"])
    if isinstance(value, dict) and "properties" in whole:
        lacks = [f"{where}.{name}: lacks" for name in whole["required"] if name not in value]
        own = whole["properties"]
        more = [f"{where}.{name}: unknown" for name in value if name not in own]
        inner = (strays(own[n], v, f"{where}.{n}") for n, v in value.items() if n in own)
        return [*lacks, *more, *(one for each in inner for one in each)]
    if isinstance(value, dict):
        inside = whole.get("additionalProperties")
        inner = (strays(inside, v, f"{where}.{n}") for n, v in value.items() if inside)
        return [one for each in inner for one in each]
    if isinstance(value, list):
        inside = whole.get("items")
        inner = (strays(inside, v, f"{where}[{n}]") for n, v in enumerate(value) if inside)
        return [one for each in inner for one in each]
    return []


def is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list)


def fits(schema: JsonObject, value: Any) -> bool:
    """Whether a value may be of a schema, by its kind alone."""
    kind = resolved(schema).get("type")
    by_kind: dict[str, type] = {"object": dict, "array": list, "null": type(None)}
    return isinstance(value, by_kind[kind]) if kind in by_kind else is_plain(value)


def test_every_reference_leads_somewhere() -> None:
    assert {one.removeprefix(REF) for one in references(document())} <= SCHEMAS.keys()


def test_it_has_every_method_with_its_parameters_and_what_it_needs() -> None:
    methods = {one["name"]: one for one in document()["methods"]}

    assert [*methods] == [method.name for method in declared.METHODS]
    start = {one["name"]: one["required"] for one in methods["runs.start"]["params"]}
    assert (start["recipe"], start["worktree"]) == (True, False)
    needs = [methods[name]["x-needs"] for name in ("runs.get", "questions.answer", "runs.start")]
    assert needs == ["look", "answer", "work"] and methods["gateway.pair"]["x-needs"] == "all"
    assert methods["runs.cancel"]["x-pace"] == "waiting"


def test_a_parameter_says_what_it_is_when_it_is_left_out_and_a_result_is_there() -> None:
    assert SCHEMAS["ListRuns"]["properties"]["limit"]["default"] == 100
    assert SCHEMAS["RunStart"]["properties"]["params"]["default"] == {}
    assert SCHEMAS["RunStart"]["additionalProperties"] is False
    assert {"limits", "exit"} <= set(SCHEMAS["Run"]["required"])
    assert "ctx" in SCHEMAS["Run"]["properties"] and "ctx" not in SCHEMAS["Run"]["required"]
    assert SCHEMAS["LockHolder"]["required"] == ["kind"]


def test_patterns_are_those_of_json_schema() -> None:
    text = json.dumps(document())
    assert r"\\A" not in text and r"\\Z" not in text
    id_ = SCHEMAS["OneRun"]["properties"]["run_id"]
    assert re.search(id_["pattern"], "1a2b") and not re.search(id_["pattern"], "../x")


@pytest.mark.parametrize("method", declared.METHODS, ids=lambda method: method.name)
def test_what_is_recorded_of_a_method_has_just_the_fields_that_are_declared(method: Any) -> None:
    answers = json.loads((RECORDED / "methods" / f"{method.name}.json").read_text())
    schema = Schemas()
    result = schema.of(method.result)

    told = [one["result"] for one in answers if "result" in one]
    assert [one for value in told for one in strays(result, value)] == []


@pytest.mark.parametrize("kind", DATA)
def test_what_is_recorded_of_an_event_has_just_the_fields_that_are_declared(kind: str) -> None:
    path = RECORDED / "events" / f"{kind}.json"
    if path.exists():
        event = json.loads(path.read_text())
        assert strays(document()["x-events"][kind], event["data"]) == []


def test_there_is_a_type_for_the_data_of_every_fact() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(f.AnyFact)}
    assert DATA.keys() == tags | {"turn.output", "snapshot"}


def test_the_data_of_an_event_has_the_fields_of_its_type_in_their_order() -> None:
    play = Play(a_recipe({"work": a_step("Do it.", {"complete": leave("task-committed")})}))
    play.go()
    play.say("complete")
    for fact in play.facts:
        names = [field.encode_name for field in msgspec.structs.fields(DATA[f.type_of(fact)])]
        data = data_of(fact)
        assert [*data] == names


@pytest.mark.parametrize("form", get_args(Form))
def test_it_is_printed_as_a_document_and_as_types(form: Form) -> None:
    words = printed(form)
    for name in ("WholeRun", "RunStartedData", "Went"):
        assert re.search(rf"\b{name}\b", words)


def test_types_of_typescript_tell_what_may_be_missing() -> None:
    words = printed("typescript")
    assert "  ctx?: { [name: string]: Json };" in words
    assert '  "runs.list": { params: ListRuns; result: Array<Run> };' in words
    assert "  files: Array<[string, string]>;" in words
    assert words.count("{") == words.count("}")


def test_types_of_python_tell_what_may_be_missing() -> None:
    words = printed("python")
    assert "    ctx: NotRequired[dict[str, Any]]\n" in words
    assert "    params: NotRequired[Mapping[str, str | int | float | bool]]\n" in words
    assert 'self, method: Literal["runs.get"], params: OneRun,\n' in words
    assert 'self, method: Literal["runs.list"], params: ListRuns | None = None,\n' in words
    compile(words, "protocol.py", "exec")


class Empty(Result, frozen=True, kw_only=True):
    pass


def test_two_types_of_one_name_are_refused() -> None:
    schemas = Schemas()
    schemas.of(Empty)
    another = msgspec.defstruct("Empty", [], bases=(Params,))
    with pytest.raises(AssertionError, match="two types"):
        schemas.of(another)
