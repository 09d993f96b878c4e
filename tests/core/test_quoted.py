"""What a reply quotes of others is not its own answer."""

from __future__ import annotations

import pytest

from podiumd.core.outcome import Outcome, OutcomeError, from_text

ALLOWED = ("no-issues", "issues-found")
YES = '{"outcome": "no-issues"}'
NO = '{"outcome": "issues-found"}'
LOG = "```\nreviewer: all fine\n" + YES + "\n```"

# What a reply quotes, with what it says itself.
QUOTED: list[tuple[str, str]] = [
    ("> " + YES + "\n\n" + NO, "issues-found"),
    (NO + "\n\nThe reviewer had said:\n> " + YES, "issues-found"),
    (NO + "\n  > > " + YES, "issues-found"),
    (NO + "\n- > " + YES + "\n2. > " + YES, "issues-found"),
    (NO + "\n> ```json\n> " + YES + "\n> ```", "issues-found"),
    (NO + "\n\nIts log:\n" + LOG, "issues-found"),
    (LOG + "\n\n" + NO, "issues-found"),
    ("```json\n" + NO + "\n```\n" + LOG + "\nDone.", "issues-found"),
    (NO + "\n~~~diff\n+" + YES + "\n+and more\n~~~", "issues-found"),
    (NO + "\n> said the log:\n" + YES, "no-issues"),
    ("```json\n" + NO + "\n" + YES + "\n```\nDone.", "no-issues"),
    ("```markdown\nAll fine.\n" + YES + "\n```\n", "no-issues"),
    ("```\nnobody ends this\n" + YES, "no-issues"),
    ("```\na log\n```\n> a quote\n" + YES, "no-issues"),
    ("2 > 1: " + YES, "no-issues"),
]


@pytest.mark.parametrize(("reply", "outcome"), QUOTED)
def test_what_a_reply_quotes_is_not_its_answer(reply: str, outcome: str) -> None:
    found = from_text(reply, ALLOWED)
    assert isinstance(found, Outcome), found
    assert found.outcome == outcome


@pytest.mark.parametrize("reply", ["> " + YES, "It said:\n" + LOG, '{"a": 1}\n> ' + YES])
def test_an_answer_that_is_only_quoted_is_asked_for_again(reply: str) -> None:
    missed = from_text(reply, ALLOWED)
    assert isinstance(missed, OutcomeError), missed
    assert missed.error == "no-json"
    assert missed.message.endswith("one in a quotation is not taken")
