"""A question of a conversation: put at the end of its turn, answered by anybody, told the agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.core.decide.decision import MOST_WAITING
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from podiumd.wire import views
from podiumd.wire.event import data_of
from tests.core.conversations import Conversation
from tests.plain import shown

OPTIONS: list[Any] = ["red", {"id": "b", "label": "Blue", "description": "Like the sky"}]


def asked(**args: Any) -> Conversation:
    """A conversation whose agent has asked something."""
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("ask", **{"question": "Which colour?", **args})
    talk.answers("One question.")
    return talk


def next_prompt(talk: Conversation) -> str:
    talk.begin()
    return talk.turn.prompt


def test_a_question_is_put_when_the_turn_is_over() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("ask", question="Which colour?", options=OPTIONS, free_text=True)
    assert talk.state.open_questions == ()
    talk.answers("One question.")

    question = talk.question
    assert (question.kind, question.turn_id, question.step, question.visit) == (
        *("ask", None),
        *("goal", 1),
    )
    assert question.choices == (("red", "red"), ("b", "Blue"))
    assert (question.free_text, question.detail) == (True, "Blue: Like the sky")
    assert talk.state.status == "waiting"
    assert not talk.state.waits_for_words


def test_an_answer_is_the_next_message() -> None:
    talk = asked(options=OPTIONS)
    kinds = talk.answer("b", note="If it lasts.", by="phone")

    assert kinds == ["question.closed", "message.received"]
    received = talk.last(f.MessageReceived)
    assert (received.uuid, received.by) == (talk.last(f.QuestionClosed).question_id, "phone")
    assert next_prompt(talk) == (
        "You asked: Which colour?\nThe answer: Blue [b]\nNote: If it lasts."
    )
    assert talk.turn.purpose == "say"


def test_an_answer_that_is_none_leaves_the_question_open() -> None:
    talk = asked(options=OPTIONS)

    with pytest.raises(CommandRefused, match="expected one of: red, b"):
        talk.answer("green")
    assert talk.question.closed is None
    talk.answer("red")
    with pytest.raises(CommandRefused, match="already answered"):
        talk.do(c.Answer, question_id=talk.last(f.QuestionClosed).question_id, answer="b")


def test_several_options_may_be_chosen() -> None:
    talk = asked(options=OPTIONS, multi=True)
    assert talk.question.multi
    talk.answer("b,red")

    assert talk.last(f.QuestionClosed).answer == '["red", "b"]'
    assert next_prompt(talk).endswith("The answer: red, Blue [b]")


def test_rows_are_an_answer_too() -> None:
    talk = asked(columns=[{"name": "who", "required": True}, {"name": "age", "type": "number"}])
    rows = json.dumps([{"who": "Ada", "age": 36}])
    with pytest.raises(CommandRefused, match="a JSON list of objects with who, age"):
        talk.answer("Ada")
    talk.answer(rows)

    assert next_prompt(talk).endswith(f"The answer: {rows}")


def test_words_answer_a_question_that_takes_words() -> None:
    talk = asked()
    kinds = talk.tell("Green.", uuid="m2", by="terminal")

    assert kinds == ["question.closed", "message.received"]
    closed = talk.last(f.QuestionClosed)
    assert (closed.closed, closed.answer, closed.by) == ("answered", "Green.", "terminal")
    assert talk.last(f.MessageReceived).uuid == "m2"
    assert next_prompt(talk) == "You asked: Which colour?\nThe answer: Green."
    assert talk.tell("Green.", uuid="m2") == []


def test_words_that_are_no_answer_take_the_place_of_the_question() -> None:
    talk = asked(options=OPTIONS)
    talk.tell("What do they cost?")

    assert talk.last(f.QuestionClosed).closed == "superseded"
    assert next_prompt(talk) == "What do they cost?"


def test_words_that_name_an_option_choose_it() -> None:
    talk = asked(options=OPTIONS)
    talk.tell("b")

    assert talk.last(f.QuestionClosed).answer == "b"
    assert next_prompt(talk).endswith("The answer: Blue [b]")


def test_words_do_not_answer_a_question_of_another_kind() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.approve()
    talk.tell("allow", uuid="m2")

    assert talk.question.kind == "approval"
    assert [steer.uuid for steer in talk.state.steers] == ["m2"]


def test_a_run_that_nobody_attends_ends_instead_of_asking() -> None:
    from tests.core.builders import a_recipe, to
    from tests.core.conversations import a_talk

    recipe = a_recipe({"one": a_talk({"x": to("one")}, opening="Hi.")})
    talk = Conversation(recipe, on_question="fail")
    talk.call("ask", question="Which colour?")
    talk.answers()

    assert talk.state.exit is not None
    assert (talk.reason, talk.state.exit.detail) == ("clarification-needed", "Which colour?")


def test_a_run_that_is_cancelled_lets_its_question_expire() -> None:
    talk = asked()
    talk.do(c.Cancel)

    assert talk.last(f.QuestionClosed).closed == "expired"
    assert talk.reason == "user-requested"


def test_a_paused_run_keeps_the_answer_until_it_goes_on() -> None:
    talk = asked(options=OPTIONS)
    talk.do(c.Pause)
    talk.answer("red")
    assert talk.state.status == "paused"
    talk.do(c.Resume)

    assert next_prompt(talk).endswith("The answer: red")


def test_a_transition_comes_before_a_question() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("transition", to="stop")
    asked = talk.call("ask", question="Sure?")
    talk.answers()

    assert not asked.success  # who is told that it was put to the person would wait for an answer
    assert asked.message == "you go on to 'stop' when you end your turn, so ask there: end it now"

    assert talk.reason == "clarification-needed"
    assert talk.all(f.QuestionOpened) == []


def test_clients_see_where_a_conversation_stands() -> None:
    talk = asked(columns=[{"name": "who"}])
    view = shown(views.snapshot_view, talk.state)

    assert view["phase"] == "goal"
    assert view["ctx"] == {"size": 3, "notes": []} == view["run"]["ctx"]
    assert view["question"]["columns"] == [
        {"name": "who", "type": "text", "required": False, "options": []}
    ]
    assert view["question"] == view["run"]["questions"][0]
    assert (view["run_id"], view["session_id"]) == ("run-1", "session-1")
    talk.answer('[{"who": "Ada"}]')
    assert shown(views.snapshot_view, talk.state)["question"] is None
    opened = shown(data_of, talk.last(f.QuestionOpened))
    assert (opened["columns"][0]["name"], opened["multi"]) == ("who", False)


def test_a_first_prompt_is_shown_with_the_values_that_there_are() -> None:
    from tests.core.builders import a_recipe
    from tests.core.conversations import CONTEXT, a_talk

    talk = Conversation(
        a_recipe({"one": a_talk(opening="{{ctx.goal}}, {{ctx.size}}")}, context=CONTEXT)
    )

    assert data_of(talk.facts[0])["first_prompt"] == "{{ctx.goal}}, 3"
    assert talk.reason == "error"


def test_a_conversation_keeps_as_many_messages_as_may_wait_and_takes_every_answer() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.call("ask", question="Which colour?", options=OPTIONS)
    for number in range(MOST_WAITING):
        talk.tell("More.", uuid=f"m{number}")
    with pytest.raises(CommandRefused, match="256 messages wait"):
        talk.tell("One more.", uuid="one-more")
    talk.over()
    talk.answer("red")

    assert len(talk.state.messages) == MOST_WAITING + 1 and not talk.state.open_questions
    talk.begin()
    assert talk.state.messages == () and "red" in talk.turn.prompt
