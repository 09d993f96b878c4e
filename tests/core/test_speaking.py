"""People see a reply's words as they come, and not the blocks of its actions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.reply.visible_text import Speaking

ACTION = '```json\n{"action": "done"}\n```\n'
OUTCOME = '```json\n{"outcome": "complete"}\n```\n'


def shown(text: str, size: int = 1) -> str:
    speaking = Speaking()
    said = [speaking.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(said) + speaking.end()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello.\nMore.", "Hello.\nMore."),
        (f"Before.\n{ACTION}After.", "Before.\nAfter."),
        (f"{OUTCOME}", OUTCOME),
        (f"Look.\n{ACTION[:-1]}", "Look.\n"),
        (OUTCOME[:-1], None),
        ("~~~ACTION\n[1]\n~~~\nx", "x"),
        ('  ````Json\n{"action": 1}\n```\n````\nx', "x"),
        (f"```python\n{ACTION.replace('```', '~~~')}```\nx", None),
        ("Say `code` and ``more``.\n", None),
        ("```\nplain\n```\nx", None),
        ('```json\n{"action": "cut', None),
        ("", ""),
    ],
)
def test_words_are_shown_and_actions_are_not(text: str, words: str | None) -> None:
    expected = text if words is None else words
    assert {shown(text, size) for size in (1, 2, 3, 7, 1000)} == {expected}


def test_words_are_shown_at_once_and_not_line_by_line() -> None:
    speaking = Speaking()
    assert [speaking.feed(piece) for piece in ("He", "llo", "\n", "`", "`x", "``")] == [
        "He",
        "llo",
        "\n",
        "",
        "``x",
        "``",
    ]


def test_a_block_that_turns_out_to_be_prose_is_shown_when_it_is_closed() -> None:
    speaking = Speaking()
    assert speaking.feed(OUTCOME[:-4]) == ""
    assert speaking.feed("```\n") == OUTCOME


@given(st.lists(st.sampled_from(["a", "`", "```", "~~~", "json", "action", "\n", " ", '"', "{"])))
def test_how_a_reply_is_cut_into_pieces_makes_no_difference(parts: list[str]) -> None:
    text = "".join(parts)
    speaking = Speaking()
    assert "".join(map(speaking.feed, parts)) + speaking.end() == shown(text, 1)
