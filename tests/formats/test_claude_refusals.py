"""What a person is told where Claude Code gets no answer; the cases are those of the real CLI."""

from __future__ import annotations

import pytest

from podiumd.formats.claude_refusals import NOT_LOGGED_IN, refusal, trying_again


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (None, "unknown", "claude cannot reach its provider"),
        (401, "authentication_failed", "claude's provider does not accept its key or login (401)"),
        (429, "rate_limit", "claude's provider limits how much may be asked (429)"),
        (500, "server_error", "claude's provider failed (500)"),
        (529, "overloaded", "claude's provider is overloaded (529)"),
        (418, "teapot", "claude's provider answered 418 teapot"),
        (418, "", "claude's provider answered 418"),
    ],
)
def test_a_further_try_says_why_and_which_one_it_is(
    status: int | None, error: str, words: str
) -> None:
    said = trying_again(status, error, 34.3, 7, 10)

    assert said == f"{words}; it tries again in 34 s (try 7 of 10)"


def test_a_try_that_comes_at_once_names_no_time() -> None:
    assert trying_again(None, "unknown", 0.6, 1, 10).endswith(
        "; it tries again at once (try 1 of 10)"
    )


CASES = [
    (None, "authentication_failed", "", "Not logged in · Please run /login", NOT_LOGGED_IN),
    (
        401,
        "authentication_failed",
        "",
        "Failed to authenticate. API Error: 401 OAuth token has expired",
        (
            "claude's provider does not accept its key or login (401): 401 OAuth token has "
            "expired; run 'claude' in a terminal of the daemon's machine and log in anew; a key"
        ),
    ),
    (
        403,
        "authentication_failed",
        "",
        "Failed to authenticate. API Error: 403 Your account is disabled",
        "claude's provider does not let this account in (403): 403 Your account is disabled; run",
    ),
    (
        404,
        "model_not_found",
        "",
        "There's an issue with the selected model (claude-nope).",
        (
            "claude's provider has no such model, or not for this account (404): There's an issue "
            "with the selected model (claude-nope); name another one"
        ),
    ),
    (
        400,
        "billing_error",
        "",
        "Credit balance is too low",
        "claude's account has no credit left (400): Credit balance is too low",
    ),
    (
        None,
        "server_error",
        "connection_failed",
        "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
        (
            "claude cannot reach its provider: Connection refused — a firewall or proxy may be "
            "blocking it (ECONNREFUSED); check the network, and ANTHROPIC_BASE_URL"
        ),
    ),
    (
        529,
        "server_error",
        "",
        "API Error: 529 Overloaded.",
        "claude's provider is overloaded (529): 529 Overloaded; try again in some minutes",
    ),
    (
        429,
        "rate_limit",
        "",
        "API Error: Request rejected (429)",
        "claude's provider limits how much may be asked (429): Request rejected (429); try again",
    ),
    (400, "invalid_request", "", "API Error: 400 No.", "API Error: 400 No."),
]


@pytest.mark.parametrize(("status", "error", "cause", "said", "words"), CASES)
def test_each_refusal_says_what_to_do(
    status: int | None, error: str, cause: str, said: str, words: str
) -> None:
    assert refusal(status, error, cause, said).startswith(words)


def test_who_is_not_logged_in_is_told_of_both_ways_and_of_no_command_of_the_cli() -> None:
    assert "run 'claude' in a terminal of the daemon's machine and log in" in NOT_LOGGED_IN
    assert "only in the environment that the daemon was started in" in NOT_LOGGED_IN
    assert "podium down && podium up" in NOT_LOGGED_IN
    assert "/login" not in NOT_LOGGED_IN


def test_a_refusal_without_words_of_its_own_is_one_all_the_same() -> None:
    assert refusal(401, "x", "", "").startswith(
        "claude's provider does not accept its key or login (401); run 'claude'"
    )
