"""Podium's own tools: which exist in a step, how they are offered, and what a call does."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.prompts import tools
from podiumd.core.recipe.model import Recipe, Step
from podiumd.core.recipe.served_tools import changes
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_command, a_recipe, a_step, leave, review_loop, to
from tests.core.conversations import CONTEXT, Conversation, a_talk, phases


def names(step: Step, context: dict[str, Any] | None = None) -> tuple[str, ...]:
    recipe = a_recipe({"one": step}, context=context or {})
    return tools.served(recipe, step)


def talking(recipe: Recipe | None = None) -> Conversation:
    """A conversation whose first turn runs."""
    talk = Conversation(recipe)
    talk.tell("Hello.")
    talk.begin()
    return talk


def test_a_phase_has_the_tools_that_mean_something_in_it() -> None:
    on = {"done": leave("changes-committed")}

    assert names(a_talk()) == ("ask", "notify")
    assert names(a_talk(on)) == ("ask", "transition", "notify")
    assert names(a_talk(on), CONTEXT) == ("ask", "save", "transition", "notify")
    assert names(a_step(), CONTEXT) == ("report_outcome", "save", "notify")
    assert names(a_step()) == ("report_outcome", "notify")
    assert names(a_command()) == ()


def test_a_list_of_tools_names_those_of_podium_too() -> None:
    on = {"done": leave("changes-committed")}

    assert names(a_talk(on, tools=("Read", "transition")), CONTEXT) == ("transition",)
    assert names(a_talk(on, tools=("mcp__podium__save", "ask")), CONTEXT) == ("ask", "save")
    for word in ("all", "read-only", "none"):
        assert names(a_talk(on, tools=word)) == ("ask", "transition", "notify")


def test_the_turn_says_which_tools_it_has_and_a_plain_prompt_has_none() -> None:
    assert talking().turn.served == ("ask", "save", "transition", "notify")
    assert Play().begin().turn.served == ()


def test_tools_are_offered_with_what_the_recipe_declares() -> None:
    ask, save, transition, notify = tools.specs(talking().state)

    assert (ask.name, notify.name) == ("ask", "notify")
    assert save.schema["properties"] == {
        "key": {"type": "string", "enum": ["goal", "people", "size", "notes"]},
        "value": {"type": ["string", "array", "integer"]},
    }
    assert "- size: a whole number. How large it is" in save.description
    assert "- goal: a text\n" in save.description
    assert transition.schema["properties"]["to"]["enum"] == ["agreed", "stop"]
    assert "- agreed: leads to 'setup'; first save: goal" in transition.description
    assert "- stop: ends the conversation (clarification-needed)" in transition.description
    for spec in (ask, save, transition, notify):
        assert spec.schema["type"] == "object"
        assert spec.schema["additionalProperties"] is False


def test_one_type_for_all_keys_or_any_at_all_is_offered_as_such() -> None:
    def value(context: dict[str, Any]) -> Any:
        state = talking(phases(context={"goal": "string", **context})).state
        return tools.specs(state)[1].schema["properties"]["value"]

    assert value({}) == {"type": "string"}
    assert value({"more": "any"}) == {}


def test_a_turn_is_offered_its_outcomes_and_a_way_back_to_the_start() -> None:
    play = Play(a_recipe()).begin()
    report, notify = tools.specs(play.state)
    again = talking(a_recipe({"one": a_talk({"again": to("@restart")})}))

    assert (report.name, notify.name) == ("report_outcome", "notify")
    assert report.schema["properties"]["outcome"]["enum"] == ["complete", "other"]
    assert "- again: begins again" in tools.specs(again.state)[1].description


def test_steps_of_turns_are_offered_the_same_so_that_a_session_can_keep_its_tools() -> None:
    loop = review_loop()
    turns = [step for step in loop.steps.values() if step.kind == "turn"]
    reports = [tools._spec("report_outcome", loop, step) for step in turns]
    [report] = {repr(spec.schema) for spec in reports}
    assert "'no-issues'" in report and "'complete'" in report
    assert not changes(loop)

    def with_tools(*tools: str) -> Recipe:
        return a_recipe({"one": a_step(on={"complete": to("two")}), "two": a_step(tools=tools)})

    assert not changes(with_tools("Read"))
    assert changes(with_tools("Read", "notify"))
    assert changes(phases())


def test_nothing_is_offered_where_there_is_no_step() -> None:
    assert tools.specs(Play().state) == ()
    assert tools.specs(Play(a_recipe()).state) == ()


def test_a_call_is_recorded_once_and_answered_from_what_was_recorded() -> None:
    talk = talking()
    used = talk.call("mcp__podium__save", call_id="c1", key="goal", value="A boat")

    assert (used.tool, used.success, used.message) == ("save", True, "'goal' is saved")
    assert talk.call("save", call_id="c1", key="goal", value="A car") == used
    assert talk.state.ctx["goal"] == "A boat"
    assert len(talk.all(f.ToolUsed)) == 1


def test_a_call_of_another_turn_decides_nothing() -> None:
    talk = talking()
    fields = {"call_id": "c1", "tool": "notify", "args": {"message": "Look."}}
    turn_id = talk.turn.turn_id

    assert talk.do(c.ReportToolCall, turn_id="turn-0", **fields) == []
    talk.answers()
    assert talk.do(c.ReportToolCall, turn_id=turn_id, **fields) == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"key": "gaol", "value": "x"}, "no key 'gaol'; the keys are: goal, people, size, notes"),
        ({"key": 7, "value": "x"}, "'key' has to be a text"),
        ({"key": "goal"}, "'value' is missing"),
        ({"key": "people", "value": 7}, "'people' cannot have this value: expected a list, got a"),
        ({"key": "goal", "value": "x", "more": 1}, "no parameter 'more'; there are: key, value"),
        ({"key": "goal", "value": "x" * 300_000}, "over 262144 bytes"),
        ({"key": "goal", "value": "\ud800"}, "holds characters that are none"),
        ({"key": "goal", "value": "a\0b"}, "the call holds a NUL, which no program is handed"),
        ({"key": "people", "value": ["a\\\0"]}, "the call holds a NUL"),
    ],
)
def test_what_cannot_be_saved_is_refused_with_the_reason(args: dict[str, Any], words: str) -> None:
    talk = talking()
    used = talk.call("save", **args)

    assert not used.success
    assert words in used.message
    assert talk.state.ctx == {"size": 3, "notes": []}


def test_a_text_that_speaks_of_nul_can_be_saved() -> None:
    assert talking().call("save", key="goal", value="\\u0000 and \\0").success


def test_a_call_too_large_is_recorded_without_what_it_holds() -> None:
    assert talking().call("save", key="goal", value="x" * 300_000).args == {}


def test_a_text_of_a_list_is_saved_as_the_list() -> None:
    talk = talking()

    assert talk.call("save", key="people", value='["Ada"]').args == {
        "key": "people",
        "value": ["Ada"],
    }
    assert talk.state.ctx["people"] == ["Ada"]


def test_a_tool_that_does_not_exist_in_the_step_is_refused() -> None:
    used = Conversation(a_recipe({"one": a_talk(opening="Hi.")})).call("transition", to="end")

    assert (used.success, used.message) == (
        False,
        "there is no tool 'transition' in this step; it has: ask, notify",
    )
    bare = Conversation(a_recipe({"one": a_talk(opening="Hi.", tools=("Read",))})).call(
        "ask", question="Hm?"
    )
    assert bare.message == "there is no tool 'ask' in this step; it has: none"


def test_a_hook_may_refuse_a_call() -> None:
    talk = talking()
    talk.do(
        c.ReportToolCall,
        turn_id=talk.turn.turn_id,
        call_id="c1",
        tool="save",
        args={"key": "goal", "value": "A boat"},
        refused="not on Sundays",
    )

    assert talk.last(f.ToolUsed).message == "not on Sundays"
    assert not talk.last(f.ToolUsed).success
    assert "goal" not in talk.state.ctx


def test_a_transition_is_named_by_outcome_target_or_exit_reason() -> None:
    steps = {
        "one": a_talk({"done": to("two"), "two": to("three"), "stop": leave("user-requested")}),
        "two": a_talk(),
        "three": a_talk(),
    }
    talk = talking(a_recipe(steps))

    for named, outcome in (("done", "done"), ("two", "two"), ("three", "two"), ("stop", "stop")):
        assert talk.call("transition", to=named).args == {"to": outcome, "summary": ""}
    used = talk.call("transition", to="user-requested", summary="Enough.")
    assert used.args == {"to": "stop", "summary": "Enough."}
    assert used.message == "'stop' takes effect when you end your turn: end it now"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"to": "nowhere"}, "no way leads to 'nowhere'; the ways are: agreed, stop"),
        ({"to": ""}, "'to' has to be a text"),
        ({"to": "agreed"}, "'agreed' needs 'goal': save that first"),
        ({"to": "stop", "summary": 7}, "'summary' has to be a text"),
        ({"to": "stop", "why": "x"}, "no parameter 'why'"),
    ],
)
def test_a_transition_that_is_none_is_refused_with_the_reason(
    args: dict[str, Any], words: str
) -> None:
    used = talking().call("transition", **args)

    assert not used.success
    assert words in used.message


def test_a_key_is_set_when_something_is_saved_under_it() -> None:
    talk = talking()
    talk.call("save", key="goal", value="")
    assert not talk.call("transition", to="agreed").success

    talk.call("save", key="goal", value="A boat")
    assert talk.call("transition", to="agreed").success


def test_what_a_transition_needs_cannot_be_emptied_after_it() -> None:
    talk = talking()
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed")

    used = talk.call("save", key="goal", value="")
    assert used.message == "'goal' cannot be empty: the transition you asked for needs it"
    assert talk.call("save", key="notes", value=[]).success
    assert talk.call("save", key="goal", value="A ship").success
    talk.call("transition", to="stop")
    assert talk.call("save", key="goal", value="").success


def test_a_transition_waits_for_what_the_texts_of_its_target_use() -> None:
    steps = {
        "one": a_talk({"go": to("two"), "again": to("@restart")}, opening="Hi."),
        "two": a_step("Build {{ctx.goal}} for {{ctx.people}}."),
    }
    talk = Conversation(a_recipe(steps, context=CONTEXT)).begin()
    assert isinstance(talk, Conversation)
    talk.call("save", key="goal", value="a boat")

    used = talk.call("transition", to="go")
    assert used.message == "'two' needs 'ctx.people', which nothing has saved: save it first"
    assert talk.call("transition", to="again").success
    talk.call("save", key="people", value=[])
    assert talk.call("transition", to="go").success


def test_after_a_question_every_other_tool_is_refused() -> None:
    talk = talking()
    assert talk.call("ask", question="Which colour?").message == (
        "your question is put to the person: end your turn now"
    )

    for tool, args in (("save", {"key": "goal", "value": "x"}), ("ask", {"question": "And?"})):
        used = talk.call(tool, **args)
        assert used.message == "you have asked 'Which colour?': end your turn now"


@pytest.mark.parametrize("args", [{"question": ""}, {"question": "What?", "why": "x"}])
def test_a_question_that_is_none_is_refused_and_the_turn_goes_on(args: dict[str, Any]) -> None:
    talk = talking()

    assert not talk.call("ask", **args).success
    assert talk.call("save", key="goal", value="x").success


def test_a_person_is_told_something() -> None:
    talk = talking()

    assert talk.call("notify", message="Look.").success
    assert "'message' has to be a text" in talk.call("notify", message=None).message
    assert "no parameter 'to'" in talk.call("notify", message="Look.", to="me").message


def test_an_outcome_is_reported_once() -> None:
    play = Conversation(
        a_recipe({"one": a_step(on={"complete": to("two"), "stuck": to("two")}), "two": a_step()})
    )
    wrong = play.call("report_outcome", outcome="finished")
    assert not wrong.success
    assert "the outcomes are: complete, stuck, other" in wrong.message

    right = play.call("report_outcome", outcome="complete", detail="All of it.")
    assert right.message == "'complete' is recorded: end your turn now"
    assert play.call("report_outcome", outcome="complete", detail="All of it.").success
    other = play.call("report_outcome", outcome="stuck")
    assert other.message == "you have reported 'complete' already: that stands"
    assert "no parameter 'why'" in play.call("report_outcome", outcome="stuck", why="x").message

    play.answers('{"outcome": "stuck"}')
    parsed = play.last(f.OutcomeParsed)
    assert (parsed.outcome, parsed.source, parsed.detail) == ("complete", "tool", "All of it.")


def test_structured_output_comes_before_the_tool() -> None:
    play = Conversation(
        a_recipe(
            {
                "one": a_step(
                    on={
                        "complete": leave("changes-committed"),
                        "stuck": leave("implementation-blocked"),
                    }
                )
            }
        )
    )
    play.call("report_outcome", outcome="complete")
    play.over(structured={"outcome": "stuck"})

    assert play.last(f.OutcomeParsed).source == "structured"
    assert play.reason == "implementation-blocked"


def test_what_was_reported_in_a_turn_that_was_cut_off_does_not_stand() -> None:
    play = Conversation(a_recipe())
    play.call("report_outcome", outcome="complete")
    play.over("broken")
    play.begin().over(texts=("Hm.",))

    assert play.last(f.OutcomeInvalid).error == "no-json"
