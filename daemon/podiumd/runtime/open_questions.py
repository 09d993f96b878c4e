"""The questions that are open, and finding one by its id or a unique beginning of it."""

from __future__ import annotations

from collections.abc import Sequence

from podiumd.core.run import facts as f
from podiumd.core.voice.grammar import asked_of
from podiumd.runtime.api import OpenQuestion
from podiumd.runtime.errors import AlreadyEnded, NotFound
from podiumd.runtime.run.actor import RunActor
from podiumd.store.facts import Store


def open_questions(live: Sequence[RunActor]) -> list[OpenQuestion]:
    """List the open questions of runs, the oldest first."""
    found = [(actor.state, question) for actor in live for question in actor.state.open_questions]
    found.sort(key=lambda pair: pair[1].opened_at)
    return [
        OpenQuestion(asked_of(state, question), (state.session_id, state.main_session))
        for state, question in found
    ]


async def find_question(
    store: Store, live: Sequence[RunActor], question_id: str
) -> tuple[RunActor, str]:
    """Find the run that asks, and the question's full id.

    Raises:
        NotFound: there is none, or more than one.
        AlreadyEnded: its run is over.
    """
    found = [
        (actor, name)
        for actor in live
        for name in actor.state.questions
        if name.startswith(question_id)
    ]
    exact = [(actor, name) for actor, name in found if name == question_id]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        words = f"More than one question's id begins with '{question_id}'; give more of it."
        raise NotFound("question", question_id, words)
    for stored in await store.named("question.closed", question_id, 1):
        closed = f.decode(bytes(stored.data))
        if isinstance(closed, f.QuestionClosed):
            raise AlreadyEnded(
                f"The question was already {closed.closed}.", id=closed.question_id, by=closed.by
            )
    raise NotFound("question", question_id)
