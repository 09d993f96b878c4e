"""A recipe that calls recipes: one machine, whose called part comes back where the caller says."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.recipe.expand import (
    MAX_CALL_DEPTH,
    MOST_CALLED_STEPS,
    MOST_CALLED_TEXT,
    CallError,
    expand,
)
from podiumd.core.recipe.model import Edge, Limits, Param, Recipe, Step
from podiumd.core.run import facts as f
from podiumd.core.structs import replace
from tests.core.builders import (
    Play,
    a_check,
    a_command,
    a_question,
    a_recipe,
    a_step,
    leave,
    to,
)
from tests.core.conversations import Conversation, a_hook, a_talk


def a_call(recipe: str, on: dict[str, Edge], **more: Any) -> Step:
    fields = {"params": {}, **more}
    return Step(kind="call", recipe=recipe, on=on, outcomes=tuple(on), **fields)


def reviewing(**more: Any) -> Recipe:
    """Reviews until there is nothing to fix."""
    steps = {
        "review": a_step(
            "Review {{what}}. {{last.fix.detail}}",
            on={"no-issues": leave("reviewed", "completed"), "issues-found": to("fix")},
        ),
        "fix": a_step("Fix: {{last.review.detail}}", on={"complete": to("review")}),
    }
    params = {"what": Param(type="string", default="the diff")}
    return a_recipe(steps, id="reviewing", params=params, **more)


def calling(call: Step, **called: Recipe) -> Recipe:
    steps = {
        "work": a_step("Work.", on={"complete": to("check")}),
        "check": call,
        "commit": a_step(
            "Commit: {{last.check.detail}}", on={"complete": leave("done", "completed")}
        ),
    }
    return expand(a_recipe(steps, Limits(max_step_visits=3)), called.__getitem__)


def test_a_recipe_without_calls_is_itself() -> None:
    recipe = a_recipe()
    assert expand(recipe, lambda _id: recipe) is recipe


def test_the_called_steps_come_in_and_their_exit_leads_where_the_caller_says() -> None:
    recipe = calling(a_call("reviewing", {"reviewed": to("commit")}), reviewing=reviewing())
    assert list(recipe.steps) == ["work", "check.review", "check.fix", "commit"]
    play = Play(recipe)
    play.say("complete")
    play.begin()
    assert play.turn.prompt.startswith("Review the diff.")
    play.say("issues-found", "A typo.")
    play.begin()
    assert play.turn.prompt.startswith("Fix: A typo.")
    play.say("complete", "Mended.")
    play.begin()
    assert play.turn.prompt.startswith("Review the diff. Mended.")
    play.say("no-issues", "All is well.")
    assert play.last(f.EdgeTaken).returns == ("check",)
    play.begin()
    assert play.turn.prompt.startswith("Commit: All is well.")
    play.say("complete")
    assert play.reason == "done"


def test_an_exit_that_the_caller_says_nothing_about_ends_the_run() -> None:
    play = Play(calling(a_call("reviewing", {"aborted": to("commit")}), reviewing=reviewing()))
    play.say("complete")
    play.say("no-issues")
    assert play.reason == "reviewed"


def test_what_nobody_planned_in_the_called_recipe_can_be_handled_by_the_caller() -> None:
    called = a_recipe(
        {
            "a": a_step(on={"complete": to("b")}, checks=(a_check(),), gate="Go?"),
            "b": Step(
                kind="gate",
                ask="Well?",
                choices=("yes", "no"),
                outcomes=("yes",),
                on={"yes": to("c")},
            ),
            "c": a_command(on={"passed": leave("reviewed", "completed")}),
        }
    )
    on = {
        "user-provided-other": to("work"),
        "checks-failed": to("commit"),
        "gate-declined": leave("given-up", "completed"),
    }
    recipe = calling(a_call("called", on), called=called)
    assert recipe.steps["check.a"].on["other"] == Edge(to="work", returns=("check",))
    assert recipe.steps["check.a"].on["checks-failed"] == Edge(to="commit", returns=("check",))
    assert recipe.steps["check.a"].on["declined"].exit == "given-up"
    assert recipe.steps["check.b"].on["declined"].exit == "given-up"
    assert not {"other", "checks-failed", "declined"} & set(recipe.steps["check.c"].on)


def test_parameters_are_values_or_the_callers_own_variables() -> None:
    called = a_recipe(
        {
            "a": a_step("{{text}} {{number}} {{flag}} {{ctx.goal}}", on={"complete": to("b")}),
            "b": a_command("echo", "{{text}}"),
        },
        params={
            "text": Param(type="string"),
            "number": Param(type="integer", default=3),
            "flag": Param(type="boolean", default=True),
        },
        context={"goal": ""},
    )
    call = a_call("called", {}, params={"text": "about {{issue}}"})
    recipe = expand(
        a_recipe({"check": call}, params={"issue": Param(type="string")}, context={"other": ""}),
        lambda _id: called,
    )
    assert recipe.initial == "check.a"
    assert recipe.steps["check.a"].prompt == "about {{issue}} 3 true {{ctx.goal}}"
    assert recipe.steps["check.b"].run == ("echo", "about {{issue}}")
    assert recipe.context == {"goal": "", "other": ""}


def test_agents_are_handed_on_and_what_is_needed_of_them_with_them() -> None:
    steps = {
        "review": a_step(agent="{{reviewer}}", needs=("steer",), on={"complete": to("sum-up")}),
        "sum-up": a_step(agent="{{own}}", on={"complete": to("check")}),
        "check": a_command(on={"passed": leave("reviewed", "completed")}),
    }
    called = replace(
        a_recipe(steps, id="reviewing"),
        params={"reviewer": Param(type="agent"), "own": Param(type="agent", default="")},
        needs=("cost", "steer"),
    )
    call = a_call("reviewing", {"reviewed": to("commit")}, params={"reviewer": "{{critic}}"})
    inside = calling(call, reviewing=called).steps
    assert {name: (step.agent, step.needs) for name, step in inside.items() if "." in name} == {
        "check.review": ("{{critic}}", ("steer", "cost")),
        "check.sum-up": (None, ("cost", "steer")),
        "check.check": (None, ()),
    }


def test_the_texts_of_questions_and_conversations_are_filled_too() -> None:
    talk = Step(kind="talk", system="On {{what}}", opening="Hi, {{what}}?", on={"ok": to("q")})
    question = a_question("Is {{what}} right?", yes=leave("fine", "completed"))
    checked = a_step(checks=(a_check("test", "{{what}}"),), gate="Begin with {{what}}?")
    steps = {"t": talk, "q": question, "s": checked}
    called = a_recipe(steps, params={"what": Param(type="string", default="it")})
    recipe = expand(a_recipe({"c": a_call("called", {})}), lambda _id: called)
    assert (recipe.steps["c.t"].system, recipe.steps["c.t"].opening) == ("On it", "Hi, it?")
    assert recipe.steps["c.q"].ask == "Is it right?"
    assert recipe.steps["c.s"].gate == "Begin with it?"
    assert recipe.steps["c.s"].checks[0].run == ("test", "it")


def test_a_conversation_can_be_called_and_shares_what_it_saves() -> None:
    steps = {
        "talk": a_talk({"done": to("rest")}, opening="Hi.", hooks=(a_hook(),)),
        "rest": a_talk(opening="Bye."),
    }
    called = a_recipe(steps, id="called", context={"goal": "string"})
    ends = {"conversation-complete": to("work")}
    caller = a_recipe(
        {"talk": a_call("called", ends), "work": a_step("Build {{ctx.goal}}.")},
        context={"goal": {"type": "string"}, "size": 3},
    )
    talk = Conversation(expand(caller, lambda _id: called))
    talk.call("save", key="goal", value="a boat")
    talk.call("transition", to="done")
    talk.answers("Well.")
    talk.hook()
    talk.answers("Bye.")
    talk.begin()

    assert (talk.state.step, talk.turn.prompt.splitlines()[0]) == ("work", "Build a boat.")
    assert [visit.step for visit in talk.history] == ["talk.talk", "talk.rest"]
    assert talk.last(f.EdgeTaken).returns == ("talk",)
    assert talk.state.details["talk"] == "Bye."


def test_a_conversation_that_was_called_ends_the_run_where_the_caller_says_nothing() -> None:
    called = a_recipe({"rest": a_talk(opening="Bye.")}, id="called")
    talk = Conversation(expand(a_recipe({"talk": a_call("called", {})}), lambda _id: called))
    talk.answers("Bye.")

    assert talk.reason == "conversation-complete"


def test_a_key_of_the_context_has_one_type() -> None:
    called = a_recipe(id="called", context={"goal": "list"})
    caller = a_recipe({"talk": a_call("called", {})}, context={"goal": ""})

    with pytest.raises(CallError, match=r"'called' declares 'goal' in .* with another type"):
        expand(caller, lambda _id: called)


def test_a_gate_before_a_call_is_asked_once_at_each_entry() -> None:
    call = a_call("reviewing", {"reviewed": to("commit")}, gate="Review it?", irreversible=True)
    recipe = calling(call, reviewing=reviewing())
    assert recipe.steps["check"].kind == "gate"
    assert recipe.steps["check.fix"].irreversible
    play = Play(recipe)
    play.say("complete")
    play.go()
    assert play.question.text == "Review it?"
    play.answer("yes")
    play.say("issues-found")
    play.say("complete")
    play.begin()
    assert play.turn.step == "check.review"
    play = Play(recipe)
    play.say("complete")
    play.go().answer("no")
    assert play.reason == "gate-declined"


def test_calls_in_calls_come_back_one_after_the_other() -> None:
    middle = a_recipe(
        {"deep": a_call("reviewing", {"reviewed": leave("checked", "completed")})}, id="middle"
    )
    recipe = calling(
        a_call("middle", {"checked": to("commit")}), middle=middle, reviewing=reviewing()
    )
    assert list(recipe.steps) == ["work", "check.deep.review", "check.deep.fix", "commit"]
    play = Play(recipe)
    play.say("complete")
    play.say("no-issues", "Deep and good.")
    assert play.last(f.EdgeTaken).returns == ("check.deep", "check")
    play.begin()
    assert play.turn.prompt.startswith("Commit: Deep and good.")


def test_a_recipe_that_calls_itself_is_refused_and_the_way_is_named() -> None:
    itself = a_recipe({"again": a_call("sample", {})})
    with pytest.raises(CallError, match=f"more than {MAX_CALL_DEPTH} deep: sample > sample") as e:
        expand(itself, lambda _id: itself)
    assert e.value.step == "again"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "needs the parameter 'n'"),
        ({"n": 1, "m": 2}, "has no parameter 'm'"),
        ({"n": "one"}, "'n' cannot be 'one'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, object], message: str) -> None:
    called = a_recipe(params={"n": Param(type="integer")}, id="called")
    with pytest.raises(CallError, match=message):
        expand(a_recipe({"c": a_call("called", {}, params=params)}), lambda _id: called)


def test_one_that_begins_again_by_itself_cannot_be_called() -> None:
    called = a_recipe({"work": a_step(on={"complete": to("@restart")})}, id="endless")
    with pytest.raises(CallError, match="'endless' begins again by @restart"):
        expand(a_recipe({"c": a_call("endless", {})}), lambda _id: called)


def test_calls_in_calls_cannot_multiply_into_more_steps_than_there_is_room_for() -> None:
    """Ten calls each, six deep, would be a million steps."""
    recipes = {"5": a_recipe(id="5")}
    for level in range(5):
        calls = {f"c{n}": a_call(str(level + 1), {}) for n in range(10)}
        recipes[str(level)] = a_recipe(calls, id=str(level))
    with pytest.raises(CallError, match=f"more than {MOST_CALLED_STEPS} steps"):
        expand(recipes["0"], recipes.__getitem__)


def test_parameters_in_parameters_cannot_multiply_into_more_text_than_there_is_room_for() -> None:
    many = "{{x}}" * 1000
    params = {"x": Param(type="string", default="")}
    recipes = {"3": a_recipe({"work": a_step(many)}, id="3", params=params)}
    for level in range(3):
        call = a_call(str(level + 1), {}, params={"x": many})
        recipes[str(level)] = a_recipe({"c": call}, id=str(level), params=params)
    with pytest.raises(CallError, match=f"more than {MOST_CALLED_TEXT} characters"):
        expand(recipes["0"], recipes.__getitem__)


def test_one_text_called_often_counts_as_often() -> None:
    called = a_recipe({"work": a_step("x" * (MOST_CALLED_TEXT // 4))}, id="called")
    calls = {f"c{n}": a_call("called", {}) for n in range(5)}
    with pytest.raises(CallError, match="characters of text") as caught:
        expand(a_recipe(calls), lambda _id: called)
    assert caught.value.step == "c4"


def test_steps_that_come_in_through_many_levels_count_once() -> None:
    many = {f"s{n}": a_step(on={"complete": to("s0")}) for n in range(MOST_CALLED_STEPS)}
    recipes = {"0": a_recipe(many, id="0")}
    for level in range(1, MAX_CALL_DEPTH):
        recipes[str(level)] = a_recipe({"c": a_call(str(level - 1), {})}, id=str(level))
    whole = expand(recipes[str(MAX_CALL_DEPTH - 1)], recipes.__getitem__)
    assert len(whole.steps) == MOST_CALLED_STEPS
