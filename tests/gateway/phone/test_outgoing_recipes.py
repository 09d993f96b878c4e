"""What a phone is told of recipes and questions."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.run import facts as f
from podiumd.gateway.phone.protocol import outgoing_recipes as recipes
from tests.gateway.phone.samples import SESSION, a_question, a_recipe, a_run, an_exit, read


def _started(first_prompt: str = "Do it.", **changes: Any) -> dict[str, Any]:
    frame = recipes.recipe_started(
        a_run(**changes), label="Implement & Review", first_prompt=first_prompt
    )
    return read(frame)


def test_the_recipes_that_can_be_started() -> None:
    """P-11.1"""
    listed = [
        a_recipe(id="rebase", label="Rebase", description="On main"),
        a_recipe(id="bare", label="", description=""),
        a_recipe(id="faulty", ok=False),
        a_recipe(id="foreign", trusted=False),
    ]

    assert read(recipes.available_recipes(listed)) == {
        "type": "available_recipes",
        "recipes": [
            {"id": "rebase", "label": "Rebase", "description": "On main"},
            {"id": "bare", "label": "bare", "description": ""},
        ],
    }
    assert read(recipes.available_recipes([]))["recipes"] == []


def test_a_recipe_that_runs() -> None:
    """P-11.3, P-11.5"""
    assert _started() == {
        "type": "recipe_started",
        "session_id": SESSION,
        "recipe_id": "implement-and-review",
        "recipe_label": "Implement & Review",
        "current_step": "code-review",
        "step": "code-review",
        "step_count": 2,
        "max_total_steps": 12,
        "message": "Starting recipe 'Implement & Review'. First prompt: Do it....",
    }


@pytest.mark.parametrize("limits", [None, {"max_total_steps": None}, {}])
def test_a_recipe_without_a_limit_of_steps(limits: dict[str, Any] | None) -> None:
    """P-11.3"""
    started = _started(limits=limits, step_count=0)

    assert (started["max_total_steps"], started["step_count"]) == (None, 1)


def test_the_session_of_the_app_is_repeated() -> None:
    """P-11.3"""
    frame = recipes.recipe_started(a_run(), label="", first_prompt="", ios_session_id="X")

    assert read(frame)["ios_session_id"] == "X"
    assert read(frame)["recipe_label"] == "implement-and-review"


@pytest.mark.parametrize(
    ("prompt", "preview"),
    [
        ("Do it.\n\n  Then\ttest.", "Do it. Then test."),
        ("x" * 121, "x" * 120),
        ("", ""),
    ],
)
def test_the_beginning_of_the_first_prompt(prompt: str, preview: str) -> None:
    """P-11.4"""
    assert _started(first_prompt=prompt)["message"] == (
        f"Starting recipe 'Implement & Review'. First prompt: {preview}..."
    )


def test_a_recipe_that_waits_for_its_first_step() -> None:
    """P-11.7"""
    started = _started(step=None, status="queued", step_count=0)

    assert started["current_step"] == started["step"] == "queued"


def test_the_way_through_the_steps() -> None:
    """P-11.5, P-11.8"""
    assert read(recipes.recipe_step_started(SESSION, "code-review", 2)) == {
        "type": "recipe_step_started",
        "session_id": SESSION,
        "step": "code-review",
        "step_count": 2,
    }
    assert read(recipes.recipe_step_transition(SESSION, "code-review", "fix")) == {
        "type": "recipe_step_transition",
        "session_id": SESSION,
        "from_step": "code-review",
        "to_step": "fix",
    }
    assert read(recipes.orchestration_retry(SESSION, "code-review", "no JSON")) == {
        "type": "orchestration_retry",
        "session_id": SESSION,
        "step": "code-review",
        "error": "no JSON",
    }


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (recipes.NOT_FOUND, "Recipe not found"),
        (recipes.INVALID_JSON, "Invalid JSON response from agent"),
        (recipes.RETRIES_EXCEEDED, "Max retries exceeded"),
    ],
)
@pytest.mark.parametrize("session_id", [SESSION, None])
def test_a_recipe_that_fails(error: str, words: str, session_id: str | None) -> None:
    """P-11.9"""
    failed, *shown = map(read, recipes.recipe_error(session_id, error))
    assert failed == {"type": "recipe_error", "session_id": session_id, "error": words}
    named = {} if session_id is None else {"session_id": session_id}
    alone = error == recipes.NOT_FOUND
    assert shown == ([] if alone else [{"type": "error", "message": words} | named])


def test_a_recipe_that_is_over() -> None:
    """P-11.10"""
    assert read(recipes.recipe_exited(SESSION, an_exit(detail="3 files"))) == {
        "type": "recipe_exited",
        "session_id": SESSION,
        "reason": "changes-committed",
        "category": "completed",
        "class": "completed",
        "message": "Task implementation committed successfully",
    }
    guardrail = an_exit(reason="max-minutes", category="guardrail", detail="120")
    assert "error" not in read(recipes.recipe_exited(SESSION, guardrail))


@pytest.mark.parametrize(
    ("detail", "error"),
    [("exit status 1", "exit status 1"), (None, "Recipe failed: x"), ("", "Rec")],
)
def test_a_recipe_that_ended_by_a_failure_says_its_cause(detail: str | None, error: str) -> None:
    """P-11.10"""
    end = an_exit(category="error", message="Recipe failed: x", detail=detail)

    assert read(recipes.recipe_exited(SESSION, end))["error"].startswith(error)


def test_an_endless_cause_is_cut() -> None:
    end = an_exit(category="error", detail="x" * 90_000)

    assert len(recipes.recipe_exited(SESSION, end)) < 21_000
    assert len(read(recipes.exit_notice(SESSION, end))["message"]) < 600


@pytest.mark.parametrize(
    ("category", "detail", "words"),
    [
        ("guardrail", "120", "Recipe stopped"),
        ("error", "exit status 1", "Recipe stopped: exit status 1"),
        ("error", None, "Recipe stopped"),
    ],
)
def test_what_went_wrong_is_an_error_too(category: str, detail: str | None, words: str) -> None:
    """P-11.12"""
    end = an_exit(category=category, message="Recipe stopped", detail=detail)

    assert read(recipes.exit_notice(SESSION, end)) == {
        "type": "error",
        "message": words,
        "session_id": SESSION,
    }


def test_what_went_well_is_no_error() -> None:
    """P-11.12"""
    assert recipes.exit_notice(SESSION, an_exit()) is None


def test_a_recipe_that_pauses_and_goes_on() -> None:
    """P-11.15"""
    assert read(recipes.recipe_paused(SESSION)) == {
        "type": "recipe_paused",
        "session_id": SESSION,
    }
    assert read(recipes.recipe_resumed(SESSION)) == {
        "type": "recipe_resumed",
        "session_id": SESSION,
    }


@pytest.mark.parametrize("state", ["queued", "too_late"])
def test_words_for_the_turn_that_runs(state: str) -> None:
    """P-11.16"""
    assert read(recipes.steer_result(SESSION, state)) == {
        "type": "steer_result",
        "session_id": SESSION,
        "state": state,
    }


def test_a_question_is_told_with_all_its_fields() -> None:
    """P-12.1"""
    assert read(recipes.question(a_question())) == {"type": "question", **a_question()}


@pytest.mark.parametrize(
    ("answer", "by", "closed"), [("allow", "phone", "answered"), (None, None, "superseded")]
)
def test_a_question_that_is_closed(answer: str | None, by: str | None, closed: Any) -> None:
    """P-12.4"""
    fact = f.QuestionClosed(question_id="q-1", answer=answer, by=by, closed=closed)

    assert read(recipes.question_closed(fact)) == {
        "type": "question_closed",
        "question_id": "q-1",
        "answer": answer,
        "by": by,
        "closed": closed,
    }
