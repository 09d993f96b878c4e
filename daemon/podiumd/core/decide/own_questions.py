"""Questions that an agent asks a person with a tool of its own: with options, or a plan.

Such a call is shown as what it is, not as the JSON that it comes in.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from podiumd.core.run.questions import chosen_of

_BETWEEN_ANSWERS: Final = re.compile(r"[;\n]")
HOW_SEVERAL: Final = "Answer one after the other, with ';' between: numbers, or your own words."


class OwnQuestion(msgspec.Struct, frozen=True):
    """A question of a call: its options as label and description."""

    text: str
    options: tuple[tuple[str, str], ...] = ()
    several: bool = False


def questions_of(given: dict[str, Any]) -> tuple[OwnQuestion, ...]:
    """Read the questions of a call; empty where it has none, as a plan has."""
    asked = given.get("questions")
    if not (isinstance(asked, list) and asked and isinstance(asked[0], dict)):
        return ()
    return tuple(_question(each) for each in asked if isinstance(each, dict))


def text_of(questions: tuple[OwnQuestion, ...]) -> str:
    """Return what is asked, a line a question; numbered where there are several."""
    if len(questions) == 1:
        return questions[0].text
    return "\n".join(f"{number}. {one.text}" for number, one in enumerate(questions, 1))


def choices_of(questions: tuple[OwnQuestion, ...]) -> tuple[tuple[str, str], ...]:
    """Return the choices that a person has; several questions are answered in words."""
    if not questions:
        return (("yes", "Yes"), ("no", "No"))
    if len(questions) > 1:
        return ()
    return tuple((label, label) for label, _ in questions[0].options)


def detail_of(questions: tuple[OwnQuestion, ...]) -> str:
    """Return what the options mean: ``Red: warm``, under its question where there are several."""
    if len(questions) == 1:
        return "\n".join(f"{label}: {means}" for label, means in questions[0].options if means)
    lines: list[str] = []
    for number, one in enumerate(questions, 1):
        lines.append(f"{number}. {one.text}")
        for option, (label, means) in enumerate(one.options, 1):
            lines.append(f"   {option}) {label}: {means}" if means else f"   {option}) {label}")
    return "\n".join([*lines, HOW_SEVERAL])


def answers_of(given: dict[str, Any], answer: str, note: str) -> dict[str, str]:
    """Return each question's text with its answer, from a person's one answer.

    As many parts as there are questions are one for each, in their order; else every question has
    the whole answer.
    """
    questions = questions_of(given)
    parts = [part.strip() for part in _BETWEEN_ANSWERS.split(answer) if part.strip()]
    if len(questions) == 1 or len(parts) != len(questions):
        parts = [answer] * len(questions)
    ending = f" ({note})" if note else ""
    return {
        one.text: _meant(one, part) + ending for one, part in zip(questions, parts, strict=True)
    }


def _question(asked: dict[str, Any]) -> OwnQuestion:
    options = asked.get("options")
    return OwnQuestion(
        text=str(asked.get("question", "")),
        options=tuple(
            (str(option["label"]), str(option.get("description") or ""))
            for option in (options if isinstance(options, list) else [])
            if isinstance(option, dict) and option.get("label")
        ),
        several=asked.get("multiSelect") is True,
    )


def _meant(question: OwnQuestion, said: str) -> str:
    """Return an answer in the question's labels: of several choices all, of a number its option."""
    labels = [label for label, _ in question.options]
    if question.several:
        picked = [_labelled(labels, one) for one in chosen_of(said)]
        return ", ".join(picked) if picked and set(picked) <= set(labels) else said
    return _labelled(labels, said)


def _labelled(labels: list[str], said: str) -> str:
    if said not in labels and said.isdecimal() and 0 < int(said) <= len(labels):
        return labels[int(said) - 1]
    return said
