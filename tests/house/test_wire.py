"""What is written down of the protocol is what ``podiumd.wire`` declares: the client's types, and
every method, parameter and field that docs/protocol.md names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from podiumd.wire.document import document
from podiumd.wire.fields import JsonObject
from podiumd.wire.forms import printed
from podiumd.wire.schema import REF
from tests.house import agent_kinds
from tests.house.source import ROOT

PAGE = (ROOT / "docs/protocol.md").read_text(encoding="utf-8").partition("## The phone protocol")[0]
SCHEMAS: JsonObject = document()["components"]["schemas"]
METHODS = {one["name"]: one for one in document()["methods"]}
BRACES = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
VALUES = {"true", "false", "null", "step", "n"}
"""Words in braces that are no fields: values, and keys that are named by others."""


def rows() -> dict[str, tuple[str, str]]:
    """The parameters and the result of each method, as its row says them."""
    found = re.findall(r"^\| `([a-z.]+)` \| (.*?) ?\| (.*?) ?\|$", PAGE, re.MULTILINE)
    return {name: (params, result) for name, params, result in found if name in METHODS}


def without_asides(cell: str) -> str:
    """A cell without what is said in brackets, in code, or of a link."""
    return re.sub(r"\([^()]*\)", "", re.sub(r"`[^`]*`", "", cell))


def named(cell: str) -> set[str]:
    """The names in the braces of a cell."""
    inside = " ".join(BRACES.findall(without_asides(cell)))
    return set(re.findall(r"[{,]\s*([a-z][a-z_]*)", inside)) - VALUES


def fields(schema: Any, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every field that a value of a schema may have in it."""
    if isinstance(schema, list):
        for one in schema:
            yield from fields(one, seen)
    elif isinstance(schema, dict):
        name = str(schema.get("$ref", "")).removeprefix(REF)
        if name and name not in seen:
            yield from fields(SCHEMAS[name], seen | {name})
        yield from schema.get("properties", {})
        for one in schema.values():
            yield from fields(one, seen)


def test_the_client_has_the_types_of_what_it_is_sent() -> None:
    """Written by ``make wire``."""
    kept = (ROOT / "client/podium/protocol.py").read_text(encoding="utf-8")
    assert kept == printed("python")


def test_the_page_has_the_types_that_the_schema_declares() -> None:
    kept = (ROOT / "client/web/types/podium.d.ts").read_text(encoding="utf-8")
    assert kept == printed("typescript"), "write it anew: make wire"


def test_the_client_has_the_kinds_of_agents() -> None:
    """Written by ``make wire``."""
    assert agent_kinds.FILE.read_text(encoding="utf-8") == agent_kinds.printed()


def test_every_method_has_a_row_and_every_row_a_method() -> None:
    assert rows().keys() == METHODS.keys()


@pytest.mark.parametrize("method", METHODS)
def test_the_row_of_a_method_names_its_parameters_and_no_others(method: str) -> None:
    cell = without_asides(rows()[method][0])
    declared = {one["name"]: one["required"] for one in METHODS[method]["params"]}
    if cell == "the same":
        return
    assert {name for name in declared if re.search(rf"\b{name}\b", cell)} == declared.keys()
    optional = set(re.findall(r"([a-z_]+)\?", cell))
    assert {name for name in optional if declared.get(name, True)} == set()


@pytest.mark.parametrize("method", METHODS)
def test_the_row_of_a_method_names_no_field_that_its_result_has_not(method: str) -> None:
    known = set(fields(METHODS[method]["result"]["schema"]))
    assert named(rows()[method][1]) - known == set()


@pytest.mark.parametrize("event", document()["x-events"])
def test_what_is_said_of_an_event_is_in_its_data(event: str) -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| `{event}` |")]
    assert f"`{event}`" in PAGE
    known = set(fields(document()["x-events"][event]))
    assert [name for line in lines for name in named(line) if name not in known] == []


@pytest.mark.parametrize(
    "noun",
    ["WholeRun", "Question", "Turn", "Session", "Message", "MessagesPage", "Event", "DaemonStatus"],
)
def test_the_page_names_every_field_of_what_is_told_most(noun: str) -> None:
    known = SCHEMAS[noun]["properties"]
    assert [name for name in known if not re.search(rf"\b{name}\b", PAGE)] == []
