"""Played conversations that hold every kind of their facts, as lines for a log that the tests keep.

A release whose facts have another shape adds a file of its own:
``python -m tests.core.played_conversation > tests/core/facts_talk_N.jsonl``.
"""

from __future__ import annotations

from podiumd.core.recipe.model import Recipe
from podiumd.core.run import commands as c
from tests.core.builders import Play, to
from tests.core.conversations import Conversation, a_hook, a_talk, phases
from tests.core.played_log import lines


def _guarded() -> Recipe:
    recipe = phases()
    design = a_talk(
        {"written": to("end")}, opening="Let us design it.", hooks=(a_hook("podium:clean-tree"),)
    )
    return phases(steps={**recipe.steps, "design": design})


def _whole() -> Conversation:
    """All phases: words that are steered, a refused transition, a question, a hook that refuses."""
    talk = Conversation(_guarded())
    talk.tell("A boat, bitte: \u00fc.", by="phone")
    talk.begin()
    talk.tell("For Ada.", uuid="say-2")
    talk.call("transition", to="agreed")
    talk.call("save", key="goal", value="A boat")
    talk.call("mcp__podium__save", key="people", value='["Ada"]')
    talk.call("transition", to="agreed", summary="A boat for Ada.")
    talk.over(texts=("So be it.",), delivered=("say-2",))
    talk.answers("I think it is ready.")
    talk.call("notify", message="It begins.")
    talk.call("transition", to="setup")
    talk.call("transition", to="ready")
    talk.answers("Ready.")
    talk.call("ask", question="Which colours?", options=["red", "blue"], multi=True)
    talk.answers("A question.")
    talk.hook()
    talk.answer("blue,red", note="Both.", by="phone")
    talk.call("transition", to="written")
    talk.answers("Written.")
    talk.hook(2, reason="The tree is dirty.", seconds=0.5)
    talk.call("transition", to="written")
    talk.answers("Now it is.")
    talk.hook(seconds=0.25)
    talk.go()
    return talk


def _asked() -> Conversation:
    """A conversation that waits for rows."""
    talk = Conversation(run_id="run-2")
    talk.tell("A boat.")
    talk.call("ask", question="Who?", columns=[{"name": "who", "required": True}])
    talk.answers("Fill this in.")
    return talk


def _half() -> Conversation:
    """A new agent in the middle of its turn, which has asked for the next phase."""
    talk = Conversation(run_id="run-3")
    talk.tell("A boat.")
    talk.answers("How large?")
    talk.do(c.Pause)
    talk.tell("Small.")
    talk.begin(gone=True)
    talk.call("save", key="goal", value="A small boat")
    talk.call("transition", to="agreed")
    return talk


def played_talks() -> dict[str, Play]:
    """The runs by name."""
    return {"whole": _whole(), "asked": _asked(), "half": _half()}


if __name__ == "__main__":
    print("\n".join(lines(played_talks())))
