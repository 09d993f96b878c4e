from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.recipe.exits import Exit
from podiumd.core.run import facts as f
from podiumd.core.voice.summary import number, plain, short, summary, words
from tests.plain import some

ANSWER = """## Done

I fixed `session_lock` in `src/podium/locks/session_lock.py` (3f2a9bc12d). See [the docs](https://a.b/c).
- **Tests**: 12 passed, run with `pytest -q tests/core && make -j2`.
* [x] And/or maybe this. It is in /home/me/x.py.

<!-- hidden -->
```python
def secret(): pass
```
| a | b |
|---|---|
{"outcome": "complete"}
$ make test
Danke für alles! https://foo.bar/baz?x=1 ist der Link.
"""


def test_an_answer_is_read_without_code_paths_hashes_and_marks() -> None:
    assert plain(ANSWER) == (
        "Done. I fixed session lock in session lock.py. See the docs. "
        "Tests: 12 passed, run with …. And or maybe this. It is in x.py. "
        "Danke für alles! foo.bar ist der Link."
    )


def test_a_short_answer_is_its_first_sentences() -> None:
    assert short("One. Two is longer. Three.", 20) == "One. Two is longer."
    assert short("word " * 100, 20) == "word word word…"
    assert short("x" * 100, 20) == "x" * 19 + "…"
    assert short("x" * 1000) == "…"
    assert short("") == ""
    assert short("```\ncode\n```") == ""


def test_a_fence_that_is_never_closed_is_code_to_the_end() -> None:
    assert plain("Look:\n~~~sh\nrm -rf /\nmore") == "Look:"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It is ~/notes/today.md", "It is today.md."),
        ("It is in src/core/.", "It is in core."),
        ("Read C:\\Users\\me\\x.txt now", "Read x.txt now."),
        ("Commit `abc1234def`", "Commit."),
        ("Run 8c1f2d3e-0a4b-4c5d-9e6f-7a8b9c0d1e2f ended", "Run ended."),
        ("The parseConfig of HTTPServer", "The parse Config of HTTPServer."),
        ("A feedback of 5 deadbeef tries", "A feedback of 5 deadbeef tries."),
        ("これで終わりです。", "これで終わりです。"),
        ("*Really* _fine_ `now`", "Really fine now."),
        ("bell\x07 and \u202eover", "bell and over."),
    ],
)
def test_what_is_said_of_a_line(text: str, said: str) -> None:
    assert plain(text) == said


@given(st.text(max_size=300))
def test_any_text_can_be_read_and_is_bounded(text: str) -> None:
    assert len(plain(text, 100)) <= 100
    assert "```" not in plain(text)


CHOICES = (("allow", "Allow once"), ("deny", "Deny"))


class Over(NamedTuple):
    """A run that has ended."""

    kind: str = "recipe"
    recipe: str | None = "implement-and-review"
    step_count: int = 1


def ended(message: str = "", reason: str = "x") -> f.RunEnded:
    return f.RunEnded(exit=some(Exit, reason=reason, message=message))


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (
            some(f.EdgeTaken, step="code-review", outcome="no-issues", to="commit"),
            "Step code review is done: no issues.",
        ),
        (
            some(f.EdgeTaken, step="fix", outcome="other", description="Needs `x`. Then more."),
            "Step fix is done: other. Needs x. Then more.",
        ),
        (some(f.EdgeTaken, step="commit", outcome="committed", exit="changes-committed"), ""),
        (
            some(f.QuestionOpened, kind="approval", tool="Bash", text="rm -rf x", choices=CHOICES),
            "A question: may the agent use Bash? Allow once or Deny?",
        ),
        (
            some(
                f.QuestionOpened,
                kind="ask",
                text="Welche Datenbank?",
                choices=(("a", ""), ("b", ""), ("c", "")),
            ),
            "A question: Welche Datenbank? a, b or c?",
        ),
        (some(f.QuestionOpened, kind="ask", text="Why?"), "A question: Why?"),
        (
            some(f.RunParked),
            "The agent's usage limit is reached. The run goes on when it is over.",
        ),
        (ended("The run has ended"), "The run has ended."),
        (some(f.TurnEnded, text="whatever"), ""),
        (some(f.QuestionClosed), ""),
    ],
)
def test_what_is_said_of_a_fact(fact: f.AnyFact, said: str) -> None:
    assert summary(fact) == said


@pytest.mark.parametrize(
    ("run", "message", "said"),
    [
        (
            Over(step_count=12345),
            "Task implementation committed successfully",
            "implement and review: Task implementation committed successfully. 12 thousand steps.",
        ),
        (Over(), "x", "implement and review: x."),
        (Over("prompt", None), "x", "x."),
    ],
)
def test_what_is_said_of_the_end_of_a_run(run: Over, message: str, said: str) -> None:
    assert summary(ended(message), run) == said


def test_the_end_of_a_plain_prompt_is_told_by_its_answer() -> None:
    fact, run = ended(reason="turn-complete"), Over("prompt", None)
    assert summary(fact, run, "All `tests` pass.\n```\n1\n```") == "All tests pass."
    assert summary(fact, run) == "Done."


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "3"),
        (9999, "9999"),
        (52341, "52 thousand"),
        (1_000_000, "1 million"),
        (1_234_567, "1.2 million"),
    ],
)
def test_a_number_is_readable(value: int, said: str) -> None:
    assert number(value) == said


def test_an_identifier_is_said_as_words() -> None:
    assert words("code-review") == "code review"
    assert words("mcp__forge__mergePr") == "mcp forge merge Pr"
    assert words(None) == ""
