"""Questions of a conversation: what they may look like, and which answers fit them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.core.recipe.context import Unfit
from podiumd.core.run import questions
from podiumd.core.run.state import Question

COLUMNS = [
    {"name": "who", "required": True},
    {"name": "age", "type": "number"},
    {"name": "role", "type": "enum", "options": ["dev", "ops"]},
    {"name": "since", "type": "date"},
    {"name": "page", "type": "url"},
]


def a_question(**args: Any) -> Question:
    """The question that these parameters come to."""
    taken = questions.taken({"question": "Which?", **args})
    return Question(
        question_id="q",
        kind="ask",
        text=taken["question"],
        opened_at="",
        choices=tuple((one["id"], one["label"]) for one in taken["options"]),
        free_text=taken["free_text"],
        multi=taken["multi"],
        columns=tuple(taken["columns"]),
    )


def test_what_may_be_left_out_is_said() -> None:
    assert questions.taken({"question": "What?"}) == {
        "question": "What?",
        "options": [],
        "multi": False,
        "free_text": True,
        "columns": [],
    }


def test_options_are_texts_or_have_an_id() -> None:
    long = "x" * 81
    given = ["red", "one, two", {"id": "b", "label": "Blue", "description": "The sky"}, long, " a"]
    taken = questions.taken({"question": "Which?", "options": given, "multi": True})

    assert [(one["id"], one["label"]) for one in taken["options"]] == [
        ("red", "red"),
        ("2", "one, two"),
        ("b", "Blue"),
        ("4", long),
        ("5", " a"),
    ]
    assert (taken["free_text"], taken["multi"]) == (False, True)
    assert questions.details(taken["options"]) == "Blue: The sky"


def test_a_column_says_what_its_cells_may_be() -> None:
    assert questions.taken({"question": "Who?", "columns": COLUMNS[:2]})["columns"] == [
        {"name": "who", "type": "text", "required": True, "options": []},
        {"name": "age", "type": "number", "required": False, "options": []},
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"question": " "}, "'question' has to be a text"),
        ({"question": 7}, "'question' has to be a text"),
        ({"options": []}, "'options' has to be a list of 1 to 50"),
        ({"options": "a"}, "'options' has to be a list"),
        ({"options": ["a"] * 51}, "'options' has to be a list"),
        ({"options": ["a", "a"]}, "the same id"),
        ({"options": [""]}, "option 1 has to be a text"),
        ({"options": [{"id": "a", "label": "A", "icon": "x"}]}, "option 1 has to be a text, or"),
        ({"options": [{"label": "A"}]}, "option 1: 'id' has to be a text"),
        ({"options": [{"id": "a", "label": " "}]}, "option 1: 'label' has to be"),
        ({"options": [{"id": "a,b", "label": "A"}]}, "without commas"),
        ({"options": [{"id": "a" * 81, "label": "A"}]}, "an id is short"),
        ({"options": [{"id": " a", "label": "A"}]}, "outer spaces"),
        ({"options": [{"id": "a", "label": "A", "description": 1}]}, "'description' has to be"),
        ({"options": ["a"], "columns": COLUMNS}, "not both"),
        ({"multi": True}, "'multi' is for questions with 'options'"),
        ({"multi": 1}, "'multi' has to be true or false"),
        ({"free_text": "yes"}, "'free_text' has to be true or false"),
        ({"columns": ["who"]}, "column 1 has to be an object"),
        ({"columns": [{"name": "a", "kind": "text"}]}, "column 1 has to be an object"),
        ({"columns": [{"name": ""}]}, "column 1: 'name' has to be"),
        ({"columns": [{"name": "a", "type": "colour"}]}, "'type' has to be one of text, number"),
        ({"columns": [{"name": "a", "options": [1]}]}, "'options' has to be a list of texts"),
        ({"columns": [{"name": "a", "options": "b"}]}, "'options' has to be a list of texts"),
        ({"columns": [{"name": "a", "type": "enum"}]}, "'options' belong to the type enum"),
        ({"columns": [{"name": "a", "options": ["b"]}]}, "'options' belong to the type enum"),
        ({"columns": [{"name": "a", "required": 1}]}, "'required' has to be true or false"),
        ({"columns": [{"name": "a"}, {"name": "a"}]}, "the same name"),
    ],
)
def test_what_is_no_question_is_refused_with_the_reason(args: dict[str, Any], words: str) -> None:
    with pytest.raises(Unfit, match=words):
        questions.taken({"question": "Which?", **args})


@pytest.mark.parametrize(
    ("args", "answer", "kept"),
    [
        ({}, "Anything", "Anything"),
        ({}, "  ", None),
        ({"options": ["a", "b"]}, "b", "b"),
        ({"options": ["a", "b"]}, "c", None),
        ({"options": ["a", "b"]}, "a,b", None),
        ({"options": ["a", "b"], "free_text": True}, "c", "c"),
        ({"options": ["a", "b"], "multi": True}, "b, a", '["a", "b"]'),
        ({"options": ["a", "b"], "multi": True}, '["b"]', '["b"]'),
        ({"options": ["a", "b"], "multi": True}, "a, c", None),
        ({"options": ["a", "b"], "multi": True}, "[]", None),
        ({"options": ["a", "b"], "multi": True}, "[1]", None),
        ({"options": ["a", "b"], "multi": True}, "[a", None),
        ({"options": ["a", "b"], "multi": True}, "", None),
        ({"options": ["a", "b"], "multi": True, "free_text": True}, "a and c", "a and c"),
    ],
)
def test_an_answer_fits_its_question_or_does_not(
    args: dict[str, Any], answer: str, kept: str | None
) -> None:
    assert questions.checked(a_question(**args), answer) == kept


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        ({"who": "Ada"}, True),
        ({"who": "Ada", "age": 36, "role": "dev"}, True),
        ({"who": "Ada", "since": "1833-06-05", "page": "https://a.example/x"}, True),
        ({"who": "Ada", "age": "", "role": None}, True),
        ({"who": ""}, False),
        ({"age": 36}, False),
        ({"who": 7}, False),
        ({"who": "Ada", "age": "36"}, False),
        ({"who": "Ada", "age": True}, False),
        ({"who": "Ada", "role": "boss"}, False),
        ({"who": "Ada", "since": "yesterday"}, False),
        ({"who": "Ada", "since": "18330605"}, False),
        ({"who": "Ada", "since": 1833}, False),
        ({"who": "Ada", "page": "ftp://a.example"}, False),
        ({"who": "Ada", "page": 1}, False),
        ({"who": "Ada", "more": 1}, False),
        ("Ada", False),
    ],
)
def test_rows_are_checked_by_their_columns(row: Any, *, fits: bool) -> None:
    question = a_question(columns=COLUMNS)
    answer = json.dumps([row])

    assert questions.checked(question, answer) == (answer if fits else None)


@pytest.mark.parametrize("answer", ["[]", "{}", "who: Ada", "[" * 5000])
def test_what_are_no_rows_is_no_answer(answer: str) -> None:
    assert questions.checked(a_question(columns=COLUMNS), answer) is None


def test_where_words_are_possible_too_rows_need_not_be_given() -> None:
    question = a_question(columns=COLUMNS, free_text=True)

    assert questions.checked(question, "Nobody.") == "Nobody."
    assert questions.expected(question) == [
        "a JSON list of objects with who, age, role, since, page",
        "a text",
    ]


def test_what_was_expected_is_named() -> None:
    assert questions.expected(a_question(options=["a", "b"])) == ["a", "b"]


def test_the_agent_is_told_labels_ids_and_note() -> None:
    options = ["red", {"id": "b", "label": "Blue"}]
    one, several = a_question(options=options), a_question(options=options, multi=True)

    assert questions.told(one, "red", None) == "You asked: Which?\nThe answer: red"
    assert questions.told(one, "b", "If it lasts.") == (
        "You asked: Which?\nThe answer: Blue [b]\nNote: If it lasts."
    )
    assert questions.told(several, '["red", "b"]', None).endswith("The answer: red, Blue [b]")


def test_words_of_the_person_come_as_they_are() -> None:
    several = a_question(options=["red", "blue"], multi=True, free_text=True)

    assert questions.told(a_question(), "Green, please", None).endswith("answer: Green, please")
    assert questions.told(several, "red, or not", None).endswith("The answer: red, or not")
    assert questions.told(several, '[{"red": 1}]', None).endswith('The answer: [{"red": 1}]')
