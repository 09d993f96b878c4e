"""Questions as interrupts, and what resumes them as answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.gateway.agui.interrupts import Reply, interrupt, reply_to, response_schema
from podiumd.runtime.errors import InvalidParameter
from tests.gateway.agui.samples import question
from tests.plain import plain

Json = dict[str, Any]

APPROVAL = [{"id": each, "label": each.title()} for each in ("allow", "deny", "always")]
LIMIT = [{"id": "more", "label": "More"}, {"id": "stop", "label": "Stop"}]


def answer_schema(**fields: Any) -> Json:
    schema = response_schema(question(**fields))
    assert schema["type"] == "object" and schema["required"] == ["answer"]
    assert schema["properties"]["note"] == {"type": "string"}
    return dict(schema["properties"]["answer"])


@pytest.mark.parametrize("kind", ["approval", "gate", "limit", "recover", "ask"])
def test_the_reason_of_an_interrupt_is_the_kind_of_its_question(kind: str) -> None:
    asked = question(kind=kind)
    shown = interrupt(asked)
    assert (shown["id"], shown["reason"], shown["message"]) == ("q-1", kind, "Which one?")
    assert plain(shown["metadata"]) == {"podium": plain(asked)}


def test_choices_are_the_values_of_an_answer() -> None:
    assert answer_schema() == {
        "type": "string",
        "oneOf": [{"const": "a", "title": "Alpha"}, {"const": "b", "title": "Beta"}],
    }


def test_where_other_words_are_allowed_choices_are_examples() -> None:
    assert answer_schema(free_text=True) == {"type": "string", "examples": ["a", "b"]}
    assert answer_schema(free_text=True, choices=[]) == {"type": "string"}


def test_several_choices_are_a_list() -> None:
    schema = answer_schema(multi=True)
    assert (schema["type"], schema["minItems"], schema["uniqueItems"]) == ("array", 1, True)
    assert [choice["const"] for choice in schema["items"]["oneOf"]] == ["a", "b"]


def test_rows_are_a_list_of_objects() -> None:
    columns = [
        {"name": "name", "type": "text", "required": True, "options": []},
        {"name": "count", "type": "number", "required": False, "options": []},
        {"name": "kind", "type": "enum", "required": True, "options": ["x", "y"]},
        {"name": "due", "type": "date"},
        {"name": "page", "type": "url"},
    ]
    assert answer_schema(columns=columns, choices=[]) == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "count": {"type": "number"},
                "kind": {"type": "string", "enum": ["x", "y"]},
                "due": {"type": "string", "format": "date"},
                "page": {"type": "string", "format": "uri"},
            },
            "required": ["name", "kind"],
        },
    }


@pytest.mark.parametrize(
    ("payload", "reply"),
    [
        ("a", Reply("a")),
        ({"answer": "a"}, Reply("a")),
        ({"answer": "a", "note": "soon", "more": 1}, Reply("a", "soon")),
        ({"answer": "a", "note": None}, Reply("a")),
        (["a", "b"], Reply('["a","b"]')),
        ({"answer": ["a", "b"], "note": "both"}, Reply('["a","b"]', "both")),
        ([{"name": "x"}], Reply('[{"name":"x"}]')),
        ({"name": "x"}, Reply('{"name":"x"}')),
    ],
)
def test_an_answer_is_a_text_or_what_stands_in_json(payload: object, reply: Reply) -> None:
    assert reply_to(question(), "resolved", payload, "resume[0].payload") == reply


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (None, "'resume[0].payload': expected a string, a list or an object, got null."),
        (True, "'resume[0].payload': expected a string, a list or an object, got true."),
        ({"answer": 7}, "'resume[0].payload.answer': expected a string, a list or an object, got"),
        ({"answer": "a", "note": 7}, "'resume[0].payload.note': expected a string, got"),
    ],
)
def test_what_is_no_answer_is_refused_by_its_name(payload: object, words: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        reply_to(question(), "resolved", payload, "resume[0].payload")
    assert refusal.value.message.startswith(words)
    assert f"'{plain(refusal.value.data)['parameter']}'" in words


@pytest.mark.parametrize(
    ("choices", "answer"),
    [
        (APPROVAL, "deny"),
        ([{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}], "no"),
        (LIMIT, "stop"),
    ],
)
def test_who_cancels_declines(choices: list[Json], answer: str) -> None:
    asked = question(choices=choices)
    assert reply_to(asked, "cancelled", "whatever", "resume[0].status") == Reply(answer)


def test_a_question_that_cannot_be_declined_cannot_be_cancelled() -> None:
    with pytest.raises(InvalidParameter, match=r"'resume\[0\].status': this question has no"):
        reply_to(question(), "cancelled", None, "resume[0].status")


def test_the_schema_is_json() -> None:
    assert json.loads(json.dumps(response_schema(question(multi=True))))
