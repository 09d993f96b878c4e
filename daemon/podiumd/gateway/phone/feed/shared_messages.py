"""Messages to phones that are made in more than one place. Pure."""

from __future__ import annotations

from typing import Final

from podiumd.core.recipe.exits import Exit
from podiumd.core.run import facts as f
from podiumd.gateway.phone.feed.recipe_board import Shown
from podiumd.gateway.phone.protocol import outgoing_recipes as recipes
from podiumd.gateway.phone.protocol.wire import Json
from podiumd.wire.event import Event

NOT_STORED = "The daemon cannot store anything just now; try again."

NONE_RAN: Final = Exit(
    reason="user-requested",
    category="completed",
    class_="completed",
    message="No recipe runs in this session",
)
"""Exit reported where a phone believes in a recipe that is not there."""


SAID: Final = {
    "sent": "Processing prompt...",
    "queued": "Prompt queued: the session is busy, it is sent next",
    "steered": "Delivered into the running turn",
    "next prompt": "Queued: the recipe's next prompt carries it",
    "phase": "Delivered: the conversation's next prompt",
}
"""Note to a phone whose words were taken, by where they went."""


def started(shown: Shown, ios_session_id: str | None = None, status: str = "running") -> bytes:
    """Build ``recipe_started`` of a recipe as it stands now; ``status`` stands in before its first
    step."""
    run = {
        "session_id": shown.session_id,
        "recipe": shown.recipe_id,
        "step": shown.step or None,
        "status": status,
        "step_count": shown.step_count,
        "limits": {"max_total_steps": shown.max_total_steps},
    }
    return recipes.recipe_started(
        run, label=shown.label, first_prompt=shown.first_prompt, ios_session_id=ios_session_id
    )


def ended(session_id: str, exit: Exit) -> list[bytes]:
    """Build the messages of a recipe's end; apps of today show only the ``error``."""
    frames = [recipes.recipe_exited(session_id, exit)]
    if exit.reason == "orchestration-error":
        frames = [*recipes.recipe_error(session_id, recipes.RETRIES_EXCEEDED), *frames]
    notice = recipes.exit_notice(session_id, exit)
    return frames if notice is None else [*frames, notice]


def question_of(fact: f.QuestionOpened, event: Event, session_id: str) -> Json:
    """Build the public question that an event opened, as phones get it."""
    return {
        "question_id": fact.question_id,
        "run_id": event.run_id,
        "session_id": session_id,
        "kind": fact.kind,
        "text": fact.text,
        "choices": [{"id": choice, "label": label} for choice, label in fact.choices],
        "free_text": fact.free_text,
        "detail": fact.detail,
        "tool": fact.tool,
        "input": fact.input,
        "opened_at": event.at,
        "answer": None,
        "note": None,
        "by": None,
        "closed": None,
    }
