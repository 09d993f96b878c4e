"""What a person's words mean where there are choices."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialog import ask

# What these tests name of what is sent is all that they are about.
beyond: Any = ask.beyond
chosen: Any = ask.chosen

COLOURS = [{"id": "red", "label": "Red"}, {"id": "7", "label": "Seven"}]


def question(**more: Any) -> dict[str, Any]:
    return {"kind": "ask", "choices": COLOURS, **more}


@pytest.mark.parametrize(
    ("words", "more", "wrong"),
    [
        ("9", {}, "There is no choice 9: 1 to 2."),
        ("0", {}, "There is no choice 0: 1 to 2."),
        ("1,3", {"multi": True}, "There is no choice 3: 1 to 2."),
        ("9", {"free_text": True}, "There is no choice 9: 1 to 2, or in quotes where you mean"),
        ("2", {}, ""),
        ("7", {}, ""),
        ("1 2", {"multi": True}, ""),
        ("1 3", {"free_text": True}, ""),
        ("nine", {}, ""),
        ("", {}, ""),
        ('"9"', {"free_text": True}, ""),
        ("9", {"choices": []}, ""),
    ],
)
def test_a_number_that_no_choice_has_is_none(words: str, more: dict[str, Any], wrong: str) -> None:
    said = beyond(question(**more), words)
    assert said.startswith(wrong) and bool(said) is bool(wrong)


def test_a_number_in_quotes_is_the_number_itself() -> None:
    assert chosen(question(free_text=True), '"9"') == "9"
    assert chosen(question(free_text=True), '"nine"') == '"nine"'
