"""One phase played with a script: tool calls as action blocks, and lines of the person."""

from __future__ import annotations

import json

import msgspec
import pytest

from podiumd.core.analysis.rehearse import PhasePlay, ToolPlayed, play_step
from podiumd.core.recipe.model import Recipe
from tests.core.builders import a_recipe, to
from tests.core.conversations import CONTEXT, a_hook, a_talk, phases

SAVE = 'Good.\n```json\n{"action": "save", "key": "goal", "value": "A boat"}\n```'
AGREED = 'Fine.\n\n```json\n{"action": "transition", "to": "agreed", "summary": "So."}\n```'


def played(*script: str, step: str = "goal", recipe: Recipe | None = None) -> PhasePlay:
    play = play_step(recipe or phases(), step, script)
    assert isinstance(play, PhasePlay)
    return play


def test_words_and_replies_take_turns() -> None:
    play = played("> A boat.\n> For two.\n\nWhich colour?\n> Red.\n" + SAVE, AGREED)

    first, second, third = play.replies
    assert (first.prompt, first.text, first.tools) == ("A boat.\nFor two.", "Which colour?", ())
    assert (second.prompt, second.text, second.ctx["goal"]) == ("Red.", "Good.", "A boat")
    assert second.tools == (
        ToolPlayed("save", {"key": "goal", "value": "A boat"}, True, "'goal' is saved"),
    )
    assert (third.prompt, third.transition) == ("simulated", "agreed")
    assert (play.outcome, play.to, play.exit, play.unused, play.waits) == (
        *("agreed", "setup", None),
        *(0, False),
    )


def test_what_a_tool_refuses_is_shown_and_the_phase_goes_on() -> None:
    play = played("> Hi.", AGREED)

    (reply,) = play.replies
    assert not reply.ok
    assert reply.tools[0].message == "'agreed' needs 'goal': save that first"
    assert (reply.transition, play.outcome, play.waits) == (None, None, True)


def test_a_reply_that_cannot_be_read_does_nothing() -> None:
    play = played("> Hi.", 'Hm.\n```json\n{"action": "save",\n```')

    assert play.replies[0].fault is not None
    assert "not valid JSON" in play.replies[0].fault
    assert (play.replies[0].ok, play.replies[0].tools) == (False, ())


def test_a_quote_within_a_block_is_none_of_the_persons_words() -> None:
    play = played("> Hi.", "Look:\n```\n> quoted\n```\nDone.")

    assert play.replies[0].text == "Look:\n```\n> quoted\n```\nDone."


def test_the_agent_begins_where_the_phase_has_an_opening() -> None:
    play = played("Hello.", "More.", step="design")

    assert [reply.prompt for reply in play.replies] == ["Let us design it.", "simulated"]


ASK = '```json\n{"action": "ask", "question": "Which?", "options": ["red", "blue"]}\n```'
FREE = '```json\n{"action": "ask", "question": "What?"}\n```'


@pytest.mark.parametrize(
    ("asked", "said", "prompt"),
    [
        (ASK, "> blue\nFine.", "You asked: Which?\nThe answer: blue"),
        (ASK, "Fine.", "You asked: Which?\nThe answer: red"),
        (ASK, "> Why?\nFine.", "Why?"),
        (FREE, "Fine.", "You asked: What?\nThe answer: simulated"),
    ],
)
def test_a_question_is_answered_by_the_script_or_by_its_first_option(
    asked: str, said: str, prompt: str
) -> None:
    play = played("> Hi.", asked, said)

    assert play.replies[0].question in ("Which?", "What?")
    assert play.replies[1].prompt == prompt


def test_hooks_let_all_pass_and_what_comes_after_the_end_is_counted() -> None:
    steps = {
        "goal": a_talk({"done": to("end")}, hooks=(a_hook(), a_hook()), gate="Shall we?"),
        "end": a_talk(),
    }
    done = '```json\n{"action": "transition", "to": "done"}\n```'
    play = played("> Hi.", done, "More.\n> Well?\nMore.", recipe=a_recipe(steps, context=CONTEXT))

    assert (play.outcome, play.to, play.unused) == ("done", "end", 2)


def test_the_last_phase_is_over_by_itself() -> None:
    play = played("Anything.", step="end")

    assert play.exit is not None
    assert (play.replies, play.outcome, play.exit.reason, play.unused) == (
        *((), "conversation-complete"),
        *("conversation-complete", 1),
    )


def test_a_prompt_that_comes_to_nothing_ends_the_play() -> None:
    blank = {"about": {"type": "string", "default": ""}}
    steps = {"one": a_talk({"x": to("two")}, opening="{{ctx.about}}"), "two": a_talk()}
    play = played("Hello.", "More.", step="one", recipe=a_recipe(steps, context=blank))

    assert play.exit is not None
    assert (play.exit.reason, play.replies, play.unused) == ("no-prompt", (), 2)


def test_an_empty_script_leaves_the_phase_as_it_begins() -> None:
    play = played("", " \n")

    assert (play.replies, play.outcome, play.waits) == ((), None, True)


def test_the_wire_shape() -> None:
    told = json.loads(msgspec.json.encode(played("> Hi.", SAVE)))

    assert told.keys() == {"replies", "outcome", "to", "exit", "unused", "waits"}
    assert told["replies"] == [
        {
            "ok": True,
            "prompt": "Hi.",
            "text": "Good.",
            "fault": None,
            "tools": [
                {
                    "tool": "save",
                    "args": {"key": "goal", "value": "A boat"},
                    "success": True,
                    "message": "'goal' is saved",
                }
            ],
            "ctx": {"size": 3, "notes": [], "goal": "A boat"},
            "transition": None,
            "question": None,
        }
    ]
