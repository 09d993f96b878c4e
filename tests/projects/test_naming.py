"""A session's title from its first message: short, on one line, never empty."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects.naming import LONGEST, NO_NAME, cleaned_name, heuristic_name
from tests.work import at_most_lines, ending


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("fix the login bug", "Fix the login bug"),
        ("Hi Claude, could you please fix the login bug? It is old.", "Fix the login bug"),
        ("Hello!\n\nI'd like you to help me to write docs.", "Write docs"),
        ("Good morning team - let's refactor the parser", "Refactor the parser"),
        ("Why does this fail?", "Why does this fail?"),
        ("Why? I do not know", "Why? I do not know"),
        ("```python\nimport os\n```\nWhy does this print 1?", "Why does this print 1?"),
        ("~~~\ncode\n~~~\nrun it\n```\nunclosed", "Run it"),
        ("```\nimport os\n```", "Import os"),
        ("Look at /home/ada/src/app/test_login.py please", "Look at test_login.py please"),
        ("see src/app/models/user.py line 3", "See user.py line 3"),
        ("open ~/a/b/c and ../x/y/z.txt", "Open c and z.txt"),
        ("read C:\\Users\\ada\\notes.txt now", "Read notes.txt now"),
        ("https://example.org/a/b?c=d is down", "example.org is down"),
        ("and/or either/or are words", "and/or either/or are words"),
        ("# Task\n\nAdd a dark mode", "Add a dark mode"),
        ("Context:\n- the server\n- the client", "The server"),
        ("1. Do this\n2. Do that", "Do this"),
        ("> quoted\n\nreply", "Quoted"),
        ("**Important:** run `make test`", "Important: run make test"),
        ("[the docs](https://x.org/y) are wrong", "The docs are wrong"),
        ('"Add a dark mode"\n', "Add a dark mode"),
        ("\u201cAdd a \u2018dark\u2019 mode\u201d", "Add a \u2018dark\u2019 mode"),
        ('say "hi" and "ho"', 'Say "hi" and "ho"'),
        ("user.py has a bug", "user.py has a bug"),
        ("iPhone app crashes", "iPhone app crashes"),
        ("Fix v1.2.3 release. Then go on.", "Fix v1.2.3 release"),
        ("<command-name>/compact</command-name>", "/compact"),
        ("<!-- note\n\nto self -->do it now", "Do it now"),
        ("line one\r\nline two", "Line one"),
        ("a\u2028b c\x1b[31m d", "B c [31m d"),
        ("hello", "Hello"),
        ("please", "Please"),
        ("Überprüfe die Tests", "Überprüfe die Tests"),
        ("", NO_NAME),
        (" \n\t\n", NO_NAME),
        ("?!...", NO_NAME),
        ("👍", NO_NAME),
        ("```\n```", NO_NAME),
    ],
)
def test_a_message_has_its_title(message: str, title: str) -> None:
    assert heuristic_name(message) == title


def test_a_long_sentence_is_cut_between_words() -> None:
    title = heuristic_name(
        "implement logging in with Google and GitHub, refresh tokens and sessions"
    )
    assert title == "Implement logging in with Google and GitHub, refresh tokens…"
    assert len(title) == LONGEST
    assert heuristic_name("x" * 1000) == "x".upper() + "x" * 58 + "…"


@given(st.text(max_size=400))
def test_any_message_has_a_title_of_one_short_visible_line(message: str) -> None:
    title = heuristic_name(message)
    assert 1 <= len(title) <= LONGEST
    assert title == title.strip()
    assert not any(unicodedata.category(one) in ("Cc", "Cs", "Cf", "Zl", "Zp") for one in title)


MARKS = [
    "`", "```", "<", "<a", "[", "](", "/", "a/", "*", "_", " ", "\n", "please ", "hi ", "!", ".",
    ": ", '"', "x", "<!--",
]  # fmt: skip


@given(st.lists(st.sampled_from(MARKS), max_size=200))
def test_any_mixture_of_marks_has_a_title(pieces: list[str]) -> None:
    assert 1 <= len(heuristic_name("".join(pieces))) <= LONGEST


@pytest.mark.parametrize(
    "piece",
    ["`", "<", "[", "/a", "a/", "**", "__", "please ", "hi, ", "- ", "<!--", "](", "> ", "a."],
)
def test_a_huge_message_costs_little(piece: str) -> None:
    with ending(), at_most_lines(100_000):
        heuristic_name(piece * 100_000)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the login bug", "Fix the login bug"),
        ('"Fix the login bug"\n', "Fix the login bug"),
        ("\n\n**Fix the login bug.**\n\nBecause it is about that.", "Fix the login bug"),
        ("Title: 'Fix it'", "Fix it"),
        ("# Session name: Fix it", "Fix it"),
        ("`fix_it()` fails", "fix_it() fails"),
        ("", ""),
        ('""\n', ""),
        ("...", ""),
        ("word " * 30, "word " * 11 + "word…"),
    ],
)
def test_a_model_s_answer_is_cleaned(answer: str, title: str) -> None:
    assert cleaned_name(answer) == title


@given(st.text(max_size=300))
def test_any_answer_gives_a_short_line_or_nothing(answer: str) -> None:
    title = cleaned_name(answer)
    assert len(title) <= LONGEST
    assert "\n" not in title
