"""An agent's own questions are questions: texts, options with what they mean, and answers."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.decide.own_questions import HOW_SEVERAL, answers_of, questions_of
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_recipe

COLOUR = {
    "question": "Which colour?",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}],
}
SIZE = {
    "question": "Which sizes?",
    "options": [{"label": "S"}, {"label": "L"}],
    "multiSelect": True,
}


def asked(*questions: dict[str, Any]) -> f.QuestionOpened:
    play = Play(a_recipe()).begin()
    given = {"questions": list(questions)}
    play.approve("AskUserQuestion", input=given, asks_person=True, description="")
    return play.last(f.QuestionOpened)


def test_one_question_is_its_text_its_options_and_what_they_mean() -> None:
    question = asked(COLOUR)
    assert question.text == "Which colour?"
    assert question.choices == (("Red", "Red"), ("Blue", "Blue"))
    assert question.detail == "Red: warm"
    assert question.free_text and not question.multi and not question.rule


def test_a_question_with_several_choices_takes_several() -> None:
    assert asked(SIZE).multi
    assert not asked({"question": "Why?", "multiSelect": True}).multi


def test_several_questions_are_numbered_each_with_its_options() -> None:
    question = asked(COLOUR, SIZE)
    assert question.text == "1. Which colour?\n2. Which sizes?"
    assert (question.choices, question.multi) == ((), False)
    assert question.detail.splitlines() == [
        "1. Which colour?",
        "   1) Red: warm",
        "   2) Blue",
        "2. Which sizes?",
        "   1) S",
        "   2) L",
        HOW_SEVERAL,
    ]


@pytest.mark.parametrize(
    ("questions", "answer", "answers"),
    [
        ([COLOUR], "Red", ["Red"]),
        ([COLOUR], "2", ["Blue"]),
        ([COLOUR], "3", ["3"]),
        ([COLOUR], "neither; green", ["neither; green"]),
        ([SIZE], '["S", "L"]', ["S, L"]),
        ([SIZE], "1, L", ["S, L"]),
        ([SIZE], "one of each", ["one of each"]),
        ([COLOUR, SIZE], "2; 1,2", ["Blue", "S, L"]),
        ([COLOUR, SIZE], "Red\nS", ["Red", "S"]),
        ([COLOUR, SIZE], "whatever you like", ["whatever you like"] * 2),
        ([COLOUR, SIZE], "1; 2; 3", ["1; 2; 3"] * 2),
        ([COLOUR, SIZE], ";", [";", ";"]),
    ],
)
def test_an_answer_is_put_in_the_words_of_each_question(
    questions: list[dict[str, Any]], answer: str, answers: list[str]
) -> None:
    texts = [one["question"] for one in questions]
    given = {"questions": questions}
    assert answers_of(given, answer, "") == dict(zip(texts, answers, strict=True))
    noted = answers_of(given, answer, "soon")
    assert all(one.endswith(" (soon)") for one in noted.values())


@pytest.mark.parametrize("given", [{}, {"questions": "?"}, {"questions": []}, {"questions": ["?"]}])
def test_what_is_no_question_is_none(given: dict[str, Any]) -> None:
    assert questions_of(given) == () and answers_of(given, "yes", "") == {}


def test_options_in_another_form_are_left_out() -> None:
    odd = {"question": "Why?", "options": ["A", {"label": ""}, {"label": "B"}, 3]}
    assert questions_of({"questions": [odd, None]})[0].options == (("B", ""),)
    assert questions_of({"questions": [{"options": "none"}]})[0].options == ()
