"""Another version of Codex's protocol, compared with what is used of the pinned one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podiumd.formats.codex import drift
from podiumd.formats.codex.drift import RECEIVED, SENT, definitions_of, lacking

USED = json.loads(Path(drift.__file__).with_name("used.json").read_text())
TEXT = {"type": "string"}
OPTIONAL = {"type": ["string", "null"]}


def thing(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


def test_what_is_used_covers_itself() -> None:
    assert lacking(USED, {**USED[SENT], **USED[RECEIVED]}) == ()
    assert {"TurnStartParams", "UserInput"} <= USED[SENT].keys()
    assert {"ThreadItem", "TurnCompletedNotification"} <= USED[RECEIVED].keys()


@pytest.mark.parametrize("section", [SENT, RECEIVED])
def test_each_definition_that_is_gone_is_named(section: str) -> None:
    every = {**USED[SENT], **USED[RECEIVED]}
    for name in USED[section]:
        rest = {other: one for other, one in every.items() if other != name}
        assert lacking(USED, rest) == (name,)


def test_each_property_that_is_gone_is_named_by_its_definition() -> None:
    every = {**USED[SENT], **USED[RECEIVED]}
    for name, one in every.items():
        for gone in one.get("properties", ()):
            left = {key: value for key, value in one["properties"].items() if key != gone}
            assert lacking(USED, {**every, name: {**one, "properties": left}}) == (name,)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (TEXT, OPTIONAL),
        (TEXT, {"anyOf": [TEXT, {"type": "null"}]}),
        ({}, TEXT),
        (TEXT, {}),
        (TEXT, True),
        ({"enum": ["a"], "type": "string"}, {"enum": ["a", "b"], "type": "string"}),
        ({"enum": ["a"], "type": "string"}, TEXT),
        ({"$ref": "#/definitions/v2/A"}, {"$ref": "#/definitions/A"}),
        ({"allOf": [{"$ref": "#/definitions/A"}]}, {"$ref": "#/definitions/A"}),
        (thing(a=TEXT), thing(a=OPTIONAL, b=TEXT)),
        (thing(a={"type": "array", "items": TEXT}), thing(a={"type": "array", "items": OPTIONAL})),
        (
            {"oneOf": [thing(("b",), b=TEXT)], "properties": {"a": TEXT}, "required": ["a"]},
            thing(("a", "b"), a=TEXT, b=TEXT),
        ),
        ({"oneOf": [TEXT], "properties": {}}, TEXT),
    ],
)
def test_what_takes_as_much_or_more_is_covered(ours: Any, theirs: Any) -> None:
    for used in ({SENT: {"X": ours}, RECEIVED: {}}, {SENT: {}, RECEIVED: {"X": ours}}):
        assert lacking(used, {"X": theirs}) == ()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (OPTIONAL, TEXT),
        (TEXT, {"type": "integer"}),
        ({"enum": ["a", "b"], "type": "string"}, {"enum": ["a"], "type": "string"}),
        (TEXT, {"enum": ["a"], "type": "string"}),
        ({"$ref": "#/definitions/A"}, {"$ref": "#/definitions/B"}),
        ({"$ref": "#/definitions/A"}, TEXT),
        (thing(a=TEXT), thing(b=TEXT)),
        (thing(a=TEXT), {"type": "object"}),
        (thing(a=OPTIONAL), thing(a=TEXT)),
        (thing(a={"type": "array", "items": OPTIONAL}), thing(a={"type": "array", "items": TEXT})),
        ({"oneOf": [thing(a=TEXT), thing(b=TEXT)]}, {"oneOf": [thing(a=TEXT)]}),
    ],
)
def test_what_takes_less_is_named(ours: Any, theirs: Any) -> None:
    assert lacking({SENT: {}, RECEIVED: {"X": ours}}, {"X": theirs}) == ("X",)
    assert lacking({SENT: {"X": ours}, RECEIVED: {}}, {"X": theirs}) == ("X",)


def test_what_is_demanded_anew_counts_where_it_is_sent() -> None:
    ours, theirs = thing(("a",), a=TEXT), thing(("a", "b"), a=TEXT, b=TEXT)
    assert lacking({SENT: {"X": ours}, RECEIVED: {}}, {"X": theirs}) == ("X",)
    assert lacking({SENT: {}, RECEIVED: {"X": ours}}, {"X": theirs}) == ()


def test_the_newer_half_of_a_written_schema_goes_first() -> None:
    written = {"definitions": {"A": {"type": "null"}, "B": TEXT, "v2": {"A": TEXT}}}
    found = definitions_of(written)
    assert (found["A"], found["B"]) == (TEXT, TEXT)
    assert definitions_of({"definitions": 3}) == definitions_of({}) == {}
