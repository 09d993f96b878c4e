"""How a run ended: every reason has a class of its own, and nothing unforeseen is green."""

from __future__ import annotations

import pytest

from podiumd.core.recipe.exits import (
    KNOWN,
    RESERVED,
    Exit,
    ExitClass,
    classify,
    is_known,
    is_reserved,
)

STOPPED = "Recipe stopped on request"
COMMITTED = "Task implementation committed successfully"
SAFETY = "Recipe stopped by safety limit: "

TABLE = [
    ("changes-committed", "completed", "completed", COMMITTED),
    ("task-committed", "completed", "completed", COMMITTED),
    ("design-committed", "completed", "completed", "Design document committed successfully"),
    ("tasks-committed", "completed", "completed", "Implementation tasks created and committed"),
    ("no-changes-to-commit", "completed", "completed", "No changes to commit"),
    ("no-tasks-available", "completed", "completed", "No tasks are ready"),
    ("clarification-needed", "completed", "needs-user", "Needs clarification before continuing"),
    (
        "implementation-blocked",
        "completed",
        "blocked",
        "Implementation blocked - cannot proceed",
    ),
    ("no-design-document-found", "completed", "blocked", "Design document not found"),
    ("user-provided-other", "completed", "needs-user", "Recipe exited by user choice"),
    ("gate-declined", "completed", "needs-user", "Recipe stopped: declined at commit"),
    ("turn-complete", "completed", "completed", "Turn complete"),
    ("conversation-complete", "completed", "completed", "Conversation complete"),
    ("user-requested", "completed", "cancelled", STOPPED),
    ("orchestration-disabled", "completed", "cancelled", STOPPED),
    (
        "max-total-steps",
        "guardrail",
        "guardrail",
        "Recipe stopped: reached maximum step limit (12 steps)",
    ),
    (
        "max-step-visits-exceeded:code-review",
        "guardrail",
        "guardrail",
        "Recipe stopped: step 'code-review' visited too many times",
    ),
    ("max-minutes", "guardrail", "guardrail", SAFETY + "max-minutes"),
    ("max-cost", "guardrail", "guardrail", SAFETY + "max-cost"),
    ("max-restarts", "guardrail", "guardrail", SAFETY + "max-restarts"),
    ("max-iterations", "guardrail", "guardrail", "max iterations (12) reached"),
    ("checks-failed", "error", "checks-failed", "Recipe failed: checks failed"),
    (
        "orchestration-error",
        "error",
        "error",
        "Recipe failed: could not parse agent response",
    ),
    ("error", "error", "error", "Recipe failed: agent invocation error"),
    ("internal-error", "error", "error", "Recipe failed: internal error"),
    ("no-prompt", "error", "error", "Recipe failed: no prompt available"),
    ("session-locked", "error", "error", "Recipe failed: the session is in use"),
]


@pytest.mark.parametrize(("reason", "category", "class_", "message"), TABLE)
def test_each_reason_has_its_category_class_and_message(
    reason: str, category: str, class_: str, message: str
) -> None:
    end = classify(reason, step="commit", limit=12)
    assert (end.reason, end.category, end.class_, end.message) == (
        reason,
        category,
        class_,
        message,
    )
    assert is_known(reason)
    assert is_reserved(reason) == (category != "completed")


def test_the_table_of_this_test_is_the_whole_table() -> None:
    assert {reason.partition(":")[0] for reason, *_ in TABLE} == KNOWN
    assert {reason.partition(":")[0] for reason, c, *_ in TABLE if c != "completed"} == RESERVED


@pytest.mark.parametrize("reason", [row[0] for row in TABLE if row[1] != "completed"])
def test_no_edge_changes_a_reserved_reason(reason: str) -> None:
    assert classify(reason, "completed", "all is well") == classify(reason)


@pytest.mark.parametrize(
    ("class_", "category", "message"),
    [
        ("completed", "completed", "Completed: shipped"),
        ("needs-user", "completed", "Completed: shipped"),
        ("blocked", "completed", "Completed: shipped"),
        ("error", "error", "Recipe failed: shipped"),
    ],
)
def test_an_edge_classifies_a_reason_of_its_own(
    class_: ExitClass, category: str, message: str
) -> None:
    assert classify("shipped", class_) == Exit("shipped", category, class_, message)  # type: ignore[arg-type]
    assert classify("shipped", class_, "Done!").message == "Done!"


def test_an_edge_wins_over_the_table() -> None:
    end = classify("changes-committed", "needs-user", "Please push")
    assert (end.category, end.class_, end.message) == ("completed", "needs-user", "Please push")
    assert classify("changes-committed", "needs-user").message == COMMITTED


def test_a_failure_never_reads_like_a_success() -> None:
    end = classify("changes-committed", "error")
    assert (end.category, end.message) == ("error", "Recipe failed: changes-committed")


@pytest.mark.parametrize("reason", ["shipped", "max-step-visits-exceeded-not", "max-turns", ""])
def test_an_unknown_reason_is_an_error(reason: str) -> None:
    end = classify(reason)
    assert (end.category, end.class_) == ("error", "error")
    assert end.message == f"Recipe failed: {reason}"
    assert not is_known(reason)
    assert classify(reason, None, "said the edge").message == "said the edge"


def test_a_message_does_without_a_number_or_step_that_nobody_knows() -> None:
    assert classify("max-total-steps").message == "Recipe stopped: reached maximum step limit"
    assert classify("max-iterations").message == "max iterations reached"
    assert classify("gate-declined").message == "Recipe stopped: declined at a gate"


def test_the_detail_is_kept() -> None:
    assert classify("error", detail="timeout").detail == "timeout"
    assert classify("error").detail is None
