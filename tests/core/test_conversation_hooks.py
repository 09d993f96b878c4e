"""Hooks at the end of a turn: their word comes before what the turn has asked for."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.decide import conversation as core
from podiumd.core.prompts.conversation_prompts import NO_TRANSITION, refused
from podiumd.core.recipe.model import Limits, Recipe
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import a_recipe, leave, to
from tests.core.conversations import CONTEXT, Conversation, a_hook, a_talk

HOOKS = (a_hook("./one"), a_hook("./before", event="before-tool"), a_hook("podium:clean-tree"))


def guarded(limits: Limits | None = None, **more: Any) -> Recipe:
    steps = {
        "one": a_talk({"done": to("two")}, hooks=HOOKS, opening="Hi.", **more),
        "two": a_talk({"stop": leave("user-requested")}),
    }
    return a_recipe(steps, limits, context=CONTEXT)


def test_hooks_run_one_after_the_other_when_a_turn_is_over() -> None:
    talk = Conversation(guarded())
    talk.call("transition", to="done")
    talk.answers()
    assert [hook.run for hook in core.turn_end_hooks(talk.state.recipe.steps["one"])] == [  # type: ignore[union-attr]
        *(("./one",), ("podium:clean-tree",)),
    ]
    assert (talk.state.next, talk.state.at_work) == (f.Move(kind="hook", index=0), True)
    assert talk.all(f.EdgeTaken) == []

    talk.hook(seconds=2.0)
    assert talk.state.next == f.Move(kind="hook", index=1)
    talk.hook(1, reason="no such program")
    assert talk.last(f.EdgeTaken).to == "two"
    first, second = talk.all(f.HookEnded)
    assert (first.run, first.refused, first.seconds) == (("./one",), False, 2.0)
    assert (second.exit_status, second.refused, second.reason) == (1, False, "no such program")


def test_the_seconds_of_hooks_are_work() -> None:
    talk = Conversation(guarded(Limits(max_minutes=1.0)))
    talk.answers()
    talk.hook(seconds=90.0)
    talk.hook()
    talk.tell("Go on.")
    talk.go()

    assert talk.reason == "max-minutes"


def test_a_refusal_goes_back_to_the_agent_and_drops_what_the_turn_asked_for() -> None:
    talk = Conversation(guarded())
    talk.call("transition", to="done")
    talk.answers()
    talk.hook(2, reason=" The tree is dirty.\n")

    talk.begin()
    assert (talk.turn.purpose, talk.turn.attempt) == ("retry", 2)
    assert talk.turn.prompt == refused("The tree is dirty.")
    talk.answers("Cleaned.")
    talk.hook()
    talk.hook()
    assert talk.state.waits_for_words


def test_a_hook_without_a_reason_is_given_one() -> None:
    talk = Conversation(guarded())
    talk.answers()
    talk.hook(2)

    assert talk.last(f.HookEnded).reason == "a hook of this step says no"


def test_too_many_refusals_in_a_row_end_the_run() -> None:
    talk = Conversation(guarded(Limits(max_retries=1)))
    talk.answers()
    talk.hook(2, reason="No.")
    talk.answers()
    talk.hook()
    talk.hook(2, reason="Never.")

    assert talk.state.exit is not None
    assert (talk.reason, talk.state.exit.detail) == ("orchestration-error", "Never.")


def test_refusals_that_are_not_in_a_row_are_counted_anew() -> None:
    talk = Conversation(guarded(Limits(max_retries=1)))
    for number in range(3):
        talk.answers()
        talk.hook(2)
        talk.answers()
        talk.hook()
        talk.hook()
        talk.tell(f"And {number}?")

    assert talk.state.exit is None


def test_a_phase_that_goes_on_by_itself_counts_both_kinds_of_faults() -> None:
    talk = Conversation(guarded(Limits(max_retries=1), auto=True))
    talk.answers()
    talk.hook(2)
    talk.answers()
    talk.hook()
    talk.hook()

    assert talk.last(f.OutcomeInvalid).attempt == 2
    assert talk.reason == "orchestration-error"
    once = Conversation(guarded(auto=True))
    once.answers()
    once.hook()
    once.hook()
    once.begin()
    assert once.turn.prompt == NO_TRANSITION


def test_words_that_come_while_hooks_run_are_sent_after_them() -> None:
    talk = Conversation(guarded())
    talk.answers()
    assert talk.tell("And now?") == ["message.received"]
    talk.hook()
    talk.hook()

    talk.begin()
    assert (talk.turn.purpose, talk.turn.prompt) == ("say", "And now?")


def test_a_question_is_put_after_the_hooks_and_words_do_not_hurry_it() -> None:
    talk = Conversation(guarded())
    talk.call("ask", question="Which?")
    talk.answers()
    talk.tell("Well?")
    assert talk.state.open_questions == ()
    talk.hook()
    talk.hook()

    assert talk.question.text == "Which?"
    talk.answer("That.")
    talk.begin()
    assert talk.turn.prompt == "Well?\n\nYou asked: Which?\nThe answer: That."


def test_a_hook_that_is_not_due_decides_nothing() -> None:
    talk = Conversation(guarded())
    assert talk.do(c.ReportHookEnd, index=0, exit_status=2) == []
    talk.answers()

    assert talk.do(c.ReportHookEnd, index=1, exit_status=2) == []
    talk.hook()
    assert talk.do(c.ReportHookEnd, index=0, exit_status=2) == []


def test_a_pause_waits_for_the_hook_that_runs() -> None:
    talk = Conversation(guarded())
    talk.answers()
    talk.do(c.Pause)
    assert talk.state.stop is not None
    talk.hook()
    assert talk.state.paused
    talk.do(c.Resume)
    talk.hook()

    assert talk.state.waits_for_words


def test_a_hook_that_was_stopped_runs_again() -> None:
    talk = Conversation(guarded())
    talk.answers()
    talk.do(c.Interrupt)
    talk.do(c.ReportWorkStopped)
    assert talk.state.paused
    talk.do(c.Resume)

    assert talk.state.next == f.Move(kind="hook", index=0)


@pytest.mark.parametrize("ended", ["stopped", "ended by itself"])
def test_who_speaks_while_a_hook_is_being_stopped_has_the_run_go_on_with_that(ended: str) -> None:
    talk = Conversation(guarded())
    talk.answers()
    talk.do(c.Interrupt)
    talk.tell("And now?")
    if ended == "stopped":
        talk.do(c.ReportWorkStopped)
        talk.hook()
    else:
        talk.hook()
    assert not talk.state.paused
    talk.hook()

    talk.begin()
    assert talk.turn.prompt == "And now?"
    assert not any(words.late for words in talk.state.steers)


def test_hooks_have_no_say_where_the_run_is_cancelled() -> None:
    talk = Conversation(guarded())
    talk.begin()
    talk.do(c.Cancel)
    talk.over(texts=("Bye.",))

    assert talk.reason == "user-requested"
    assert talk.all(f.HookEnded) == []
