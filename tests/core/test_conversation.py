"""A conversation in phases: who speaks next, and where it goes when a turn is over."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.prompts.conversation_prompts import BEGIN, NO_TRANSITION
from podiumd.core.recipe.model import Limits
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from tests.core.builders import a_check, a_recipe, a_step, leave, to
from tests.core.conversations import CONTEXT, Conversation, a_talk, phases


def in_design(**start: Any) -> Conversation:
    """A conversation in which the goal is known and the design has been opened."""
    talk = Conversation(**start)
    talk.tell("I want a boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed", summary="A boat it is.")
    talk.answers("Fine.")
    talk.call("transition", to="ready")
    talk.answers("All set.")
    talk.answers("What colour?")
    return talk


def test_a_phase_without_opening_waits_for_the_first_word() -> None:
    talk = Conversation()

    assert (talk.state.status, talk.state.step, talk.state.turn) == ("waiting", "goal", None)
    assert talk.state.waits_for_words
    assert not talk.state.ready


def test_what_a_person_says_is_the_prompt_word_for_word() -> None:
    talk = Conversation()
    talk.tell("  {{ctx.goal}}\nA boat, bitte: \u00fc ", by="phone")
    talk.begin()

    assert talk.turn.prompt == "  {{ctx.goal}}\nA boat, bitte: \u00fc "
    assert (talk.turn.purpose, talk.turn.step, talk.turn.outcomes) == ("say", "goal", ())
    assert talk.turn.system == "You ask for the goal."
    assert talk.last(f.MessageReceived).by == "phone"


def test_the_answer_stands_and_the_phase_waits_for_the_next_word() -> None:
    talk = Conversation()
    talk.tell("Hi.")
    talk.answers("What do you want?")

    assert talk.state.status == "waiting"
    assert [(one.said, one.answered) for one in talk.state.exchanges] == [
        ("Hi.", "What do you want?")
    ]


def test_a_phase_with_an_opening_has_its_agent_speak_first() -> None:
    talk = in_design()

    assert talk.prompts[2:] == ["Let us design it."]
    assert talk.all(f.TurnIntended)[2].purpose == "opening"
    assert (talk.state.step, talk.state.status) == ("design", "waiting")
    assert talk.state.exchanges[-1].said == ""


def test_each_turn_is_prompted_with_what_is_saved_by_then() -> None:
    steps = {"one": a_talk({"x": to("one")}, opening="Size {{ctx.size}}", system="{{ctx.notes}}")}
    talk = Conversation(a_recipe(steps, Limits(max_total_steps=9), context=CONTEXT))
    talk.call("save", key="notes", value=["{{ctx.size}}", "ä"])
    talk.call("save", key="size", value=7)
    assert (talk.turn.prompt, talk.turn.system) == ("Size 3", "[]")
    talk.call("transition", to="x")
    talk.answers()

    talk.begin()
    assert (talk.turn.prompt, talk.turn.system) == ("Size 7", '["{{ctx.size}}", "ä"]')


def test_a_transition_takes_effect_at_the_end_of_the_turn() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed", summary="A boat it is.")
    assert talk.state.step == "goal"
    talk.answers()

    edge = talk.last(f.EdgeTaken)
    assert (edge.outcome, edge.source, edge.to, edge.detail) == (
        *("agreed", "tool"),
        *("setup", "A boat it is."),
    )
    talk.begin()
    assert (talk.state.step, talk.turn.system) == ("setup", "The goal: A boat")


def test_the_last_valid_transition_wins() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed")
    talk.call("transition", to="stop", summary="No boat.")
    talk.call("transition", to="nowhere")
    talk.answers()

    assert talk.reason == "clarification-needed"
    assert talk.state.exit is not None
    assert talk.state.exit.detail == "No boat."


def test_a_phase_that_goes_on_by_itself_is_told_to_until_it_has_been_told_often_enough() -> None:
    recipe = a_recipe(
        {"one": a_talk({"done": to("two")}, auto=True), "two": a_talk()}, Limits(max_retries=2)
    )
    talk = Conversation(recipe)
    for _ in range(3):
        talk.answers("Done, I think.")

    assert talk.prompts == [BEGIN, NO_TRANSITION, NO_TRANSITION]
    assert [turn.attempt for turn in talk.all(f.TurnIntended)] == [1, 2, 3]
    invalid = talk.last(f.OutcomeInvalid)
    assert (invalid.error, invalid.attempt, invalid.expected) == ("no-transition", 3, ("done",))
    assert talk.reason == "orchestration-error"


def test_a_person_who_speaks_in_between_begins_the_count_anew() -> None:
    recipe = a_recipe(
        {"one": a_talk({"done": to("two")}, auto=True), "two": a_talk()}, Limits(max_retries=1)
    )
    talk = Conversation(recipe)
    talk.begin()
    talk.tell("Hurry.")
    talk.over(texts=("Hm.",))
    assert talk.state.next == f.Move(kind="turn", purpose="say")
    talk.answers("Hm.")
    talk.call("transition", to="done")
    talk.answers()
    talk.go()

    assert [turn.attempt for turn in talk.all(f.TurnIntended)] == [1, 1, 2]
    assert talk.reason == "conversation-complete"


def test_the_last_phase_ends_the_run() -> None:
    talk = in_design()
    talk.tell("Blue.")
    talk.call("transition", to="written")
    talk.answers("There it is.")
    talk.go()

    assert talk.state.exit is not None
    assert (talk.reason, talk.state.exit.message) == (
        "conversation-complete",
        "Conversation complete",
    )
    assert [visit.outcome for visit in talk.history] == [
        *("agreed", "ready", "written"),
        "conversation-complete",
    ]


def test_the_last_phase_plays_its_opening_and_sends_what_waits_before_it_ends() -> None:
    talk = Conversation(a_recipe({"one": a_talk(opening="Say goodbye.")}))
    talk.begin()
    talk.tell("Wait!")
    talk.over(texts=("Goodbye.",))
    assert talk.state.exit is None
    talk.answers("I waited.")

    assert talk.prompts == ["Say goodbye.", "Wait!"]
    assert talk.last(f.EdgeTaken).detail == "I waited."
    assert talk.reason == "conversation-complete"


def test_a_run_that_nobody_attends_does_not_wait_for_words() -> None:
    talk = Conversation(on_question="fail")

    assert talk.reason == "clarification-needed"
    assert talk.state.exit is not None
    assert talk.state.exit.detail == "Step 'goal' waits for a person's message."
    assert in_opening(on_question="fail").reason == "clarification-needed"


def in_opening(**start: Any) -> Conversation:
    talk = Conversation(a_recipe({"one": a_talk({"x": to("one")}, opening="Hi.")}), **start)
    talk.answers("Hello. What now?")
    return talk


def test_a_turn_step_uses_the_context_too_and_lacks_it_by_name() -> None:
    steps = {"one": a_step("Build {{ctx.goal}}."), "two": a_step()}
    talk = Conversation(a_recipe(steps, context={"goal": "string"}))

    assert talk.state.exit is not None
    assert (talk.reason, talk.state.exit.detail) == (
        "error",
        "Step 'one' needs '{{ctx.goal}}', and nothing has saved that.",
    )
    assert [f.type_of(fact) for fact in talk.facts] == ["run.started", "step.entered", "run.ended"]


def test_what_a_gate_lacks_ends_the_run_before_its_step_is_entered() -> None:
    recipe = a_recipe({"one": a_step(gate="Build {{ctx.goal}}?")}, context={"goal": "string"})
    talk = Conversation(recipe)

    assert talk.state.exit is not None
    assert talk.state.exit.detail == "Step 'one' needs '{{ctx.goal}}', and nothing has saved that."
    assert talk.all(f.StepEntered) == []


def test_what_a_check_lacks_ends_the_run_when_the_check_is_due() -> None:
    step = a_step(checks=(a_check("test", "{{ctx.goal}}"),))
    talk = Conversation(a_recipe({"one": step}, context={"goal": "string"}))
    talk.say("complete")
    assert talk.reason == "error"

    saved = Conversation(a_recipe({"one": step}, context={"goal": "string"}))
    saved.call("save", key="goal", value="x")
    saved.over(texts=('{"outcome": "complete"}',))
    saved.check()
    assert saved.last(f.CheckEnded).run == ("test", "x")
    assert saved.reason == "changes-committed"


def test_a_gate_comes_before_the_first_word() -> None:
    talk = Conversation(a_recipe({"one": a_talk({"x": to("one")}, gate="Shall we?")}))
    assert talk.state.status == "waiting"
    assert not talk.state.waits_for_words
    talk.tell("Let us talk.")
    assert talk.state.turn is None
    talk.answer("yes")
    talk.begin()

    assert talk.turn.prompt == "Let us talk."


def test_after_a_gate_the_phase_waits_or_the_last_one_ends() -> None:
    waiting = Conversation(a_recipe({"one": a_talk({"x": to("one")}, gate="Shall we?")}))
    waiting.answer("yes")
    last = Conversation(a_recipe({"one": a_talk(gate="Shall we?")}))
    last.answer("yes")
    declined = Conversation(a_recipe({"one": a_talk(gate="Shall we?")}))
    declined.answer("no")

    assert waiting.state.waits_for_words
    assert (last.reason, declined.reason) == ("conversation-complete", "gate-declined")


def test_beginning_again_begins_with_the_context_of_the_recipe() -> None:
    steps = {"one": a_talk({"again": to("@restart")}, opening="Size {{ctx.size}}.")}
    talk = Conversation(a_recipe(steps, context=CONTEXT))
    talk.call("save", key="size", value=9)
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="again")
    talk.answers()

    assert talk.state.ctx == {"size": 3, "notes": []}
    assert talk.state.exchanges == ()


def test_a_way_leads_from_a_phase_to_a_turn_and_carries_what_waits() -> None:
    steps = {
        "one": a_talk({"go": to("work")}, opening="Hi."),
        "work": a_step("Build {{ctx.goal}}."),
    }
    talk = Conversation(a_recipe(steps, context=CONTEXT))
    talk.call("save", key="goal", value="a boat")
    talk.call("transition", to="go")
    talk.tell("In red!")
    talk.over(texts=("Off we go.",))
    talk.begin()

    assert talk.turn.prompt.startswith("Build a boat.\n\nWhile you were working, the person")
    assert "In red!" in talk.turn.prompt
    talk.say("complete")
    assert talk.reason == "changes-committed"


def test_words_that_nothing_carries_any_more_are_told_at_the_end() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("transition", to="stop")
    talk.tell("No, wait.")
    talk.over(texts=("Bye.",))

    assert talk.last(f.RunEnded).undelivered == ("No, wait.",)
    with pytest.raises(CommandRefused, match="The run has ended"):
        talk.tell("Hello?")
    assert talk.tell("A boat.") == []


def test_the_limits_of_a_run_hold_in_its_conversations() -> None:
    talk = Conversation(phases(Limits(max_total_steps=1)))
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed")
    talk.answers()
    talk.go()

    assert talk.reason == "max-total-steps"


def test_people_may_talk_as_long_as_they_like() -> None:
    talk = Conversation(phases(Limits(max_total_steps=1, max_retries=1)))
    for number in range(30):
        talk.tell(f"Word {number}")
        talk.answers("I see.")

    assert talk.state.status == "waiting"
    assert len(talk.state.exchanges) == 20
    assert {turn.attempt for turn in talk.all(f.TurnIntended)} == {1}


def test_a_long_exchange_is_kept_short() -> None:
    talk = Conversation()
    talk.tell("x" * 3000)
    talk.answers("y")

    assert talk.state.exchanges[0].said == f"{'x' * 2000}… (3000 characters)"


def test_an_interrupted_run_that_is_in_no_step_is_no_conversation() -> None:
    talk = Conversation(phases())
    talk.do(c.Pause)

    assert (talk.state.status, talk.state.waits_for_words) == ("paused", False)
    talk.do(c.Resume)
    assert talk.state.status == "waiting"


def test_a_phase_is_added_by_data_alone() -> None:
    """The routing holds no logic: a recipe with one phase more is walked through all of them."""
    recipe = phases()
    steps = {
        **recipe.steps,
        "design": a_talk({"written": to("review")}, opening="Let us design it."),
        "review": a_talk(
            {"good": to("end"), "bad": to("design")},
            system="You review {{ctx.goal}}.",
            opening="Look at it with fresh eyes.",
        ),
    }
    talk = Conversation(phases(steps=steps))
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    for way in ("agreed", "ready", "written", "bad", "written", "good"):
        talk.call("transition", to=way)
        talk.answers()
    talk.go()

    assert [visit.step for visit in talk.history] == [
        *("goal", "setup", "design", "review", "design", "review", "end"),
    ]
    assert talk.all(f.TurnIntended)[3].system == "You review A boat."
    assert talk.reason == "conversation-complete"


def test_leaving_by_an_exit_says_what_the_recipe_says_of_it() -> None:
    edge = leave("odd", "blocked", "Nobody knows.")
    talk = Conversation(a_recipe({"one": a_talk({"stuck": edge}, opening="Hi.")}))
    talk.call("transition", to="odd", summary="No idea.")
    talk.answers()

    assert talk.state.exit is not None
    assert (talk.state.exit.class_, talk.state.exit.message, talk.state.exit.detail) == (
        *("blocked", "Nobody knows."),
        "No idea.",
    )
