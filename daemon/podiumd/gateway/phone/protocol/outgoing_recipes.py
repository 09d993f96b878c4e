"""Server messages about recipes, and the questions that runs ask. Pure.

``exit`` and ``question`` are those of the public contract. Names of recipes and steps
stand as they are written, with their hyphens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podiumd.core.recipe.exits import Exit
from podiumd.core.run import facts as f
from podiumd.gateway.phone.protocol import budget, outgoing
from podiumd.gateway.phone.protocol.wire import Json, frame
from podiumd.wire.recipes import RecipeRow

NOT_FOUND: Final = "Recipe not found"
INVALID_JSON: Final = "Invalid JSON response from agent"
RETRIES_EXCEEDED: Final = "Max retries exceeded"
SWITCHED_OFF: Final = "Recipes are switched off"

QUESTION_BYTES: Final = 48 * budget.KB
"""One frame of a question is for all phones, and no app asks for smaller ones."""

_PREVIEW_CHARACTERS: Final = 120
_DETAIL_BYTES: Final = 500


def available_recipes(
    recipes: Iterable[RecipeRow], frame_bytes: int = budget.DEFAULT_BYTES
) -> bytes:
    """Build the list of the recipes that can be started.

    ``recipes`` are those of ``recipes.list``; what is faulty or not trusted stays out.
    """
    rows = [
        {
            "id": recipe.id,
            "label": recipe.label or recipe.id,
            "description": recipe.description,
        }
        for recipe in recipes
        if recipe.ok and recipe.trusted
    ]
    return budget.listed({"type": "available_recipes", "recipes": []}, "recipes", rows, frame_bytes)


def recipe_started(
    session_id: str,
    recipe_id: str,
    step: str,
    *,
    step_count: int,
    max_total_steps: int | None,
    label: str,
    first_prompt: str,
    ios_session_id: str | None = None,
) -> bytes:
    """Report where a recipe stands: at its start, at each step, and for a phone that just came.

    ``first_prompt`` is that of the recipe; only its beginning is sent. A run that has come to no
    step yet has its status as ``step``: an app drops the message without one.
    """
    label = label or recipe_id
    echo = {} if ios_session_id is None else {"ios_session_id": ios_session_id}
    return frame(
        "recipe_started",
        session_id=session_id,
        recipe_id=recipe_id,
        recipe_label=label,
        current_step=step,
        step=step,
        step_count=max(1, step_count),
        max_total_steps=max_total_steps,
        message=starting(label, first_prompt),
        **echo,
    )


def starting(label: str, first_prompt: str) -> str:
    """Say which recipe starts, and the beginning of its first prompt on one line."""
    preview = " ".join(first_prompt.split())[:_PREVIEW_CHARACTERS]
    return f"Starting recipe '{label}'. First prompt: {preview}..."


def recipe_step_started(session_id: str, step: str, step_count: int) -> bytes:
    return frame("recipe_step_started", session_id=session_id, step=step, step_count=step_count)


def recipe_step_transition(session_id: str, from_step: str, to_step: str) -> bytes:
    return frame(
        "recipe_step_transition", session_id=session_id, from_step=from_step, to_step=to_step
    )


def orchestration_retry(session_id: str, step: str, error: str) -> bytes:
    return frame("orchestration_retry", session_id=session_id, step=step, error=error)


def recipe_exited(session_id: str, exit: Exit) -> bytes:
    """Report that the recipe has ended, its agent has stopped, and the session is free."""
    failed = exit.category == "error"
    cause = exit.detail or exit.message
    return frame(
        "recipe_exited",
        session_id=session_id,
        reason=exit.reason,
        category=exit.category,
        **{"class": exit.class_},
        message=exit.message,
        **({"error": budget.cut(cause, budget.MESSAGE_BYTES)} if failed else {}),
    )


def exit_notice(session_id: str, exit: Exit) -> bytes | None:
    """Build the error beside ``recipe_exited`` that apps show; ``None`` if nothing went wrong."""
    if exit.category == "completed":
        return None
    detail = exit.detail if exit.category == "error" else None
    words = f"{exit.message}: {budget.cut(detail, _DETAIL_BYTES)}" if detail else exit.message
    return outgoing.error(words, session_id=session_id)


def recipe_error(session_id: str | None, error: str) -> list[bytes]:
    """Report that a recipe could not be started, or an answer in it could not be read.

    The apps that exist show an ``error`` and know nothing of the other: they would wait for the
    recipe's start until they take the connection for broken.
    """
    failed = frame("recipe_error", session_id=session_id, error=error)
    if error == NOT_FOUND:
        return [failed]
    return [failed, outgoing.error(error, session_id=session_id)]


def recipe_paused(session_id: str) -> bytes:
    return frame("recipe_paused", session_id=session_id)


def recipe_resumed(session_id: str) -> bytes:
    return frame("recipe_resumed", session_id=session_id)


def steer_result(session_id: str, state: str) -> bytes:
    """``state``: ``queued``, or ``too_late`` where the turn was over."""
    return frame("steer_result", session_id=session_id, state=state)


def question(question: Json, frame_bytes: int = QUESTION_BYTES) -> bytes:
    """Build an open question; what it is about is cut where it is too long for the phone."""
    return budget.shrink({"type": "question", **question}, frame_bytes, ("input", "detail"))


def question_closed(closed: f.QuestionClosed, frame_bytes: int = QUESTION_BYTES) -> bytes:
    """Build the close of a question: it has an answer, or ``closed`` says what became of it."""
    return budget.shrink(
        {
            "type": "question_closed",
            "question_id": closed.question_id,
            "answer": closed.answer,
            "by": closed.by,
            "closed": closed.closed,
        },
        frame_bytes,
    )
