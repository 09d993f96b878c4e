"""A person's words: none is lost, none is sent twice, whatever the run is doing."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.decide import conversation as core
from podiumd.core.prompts.prompts import INTERRUPTED, ORIGINAL, PLAIN_GO_ON, STEERED
from podiumd.core.reply.report import EndKind
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from tests.core.builders import WORKTREE, Play, a_recipe, a_step, to
from tests.core.conversations import Conversation, a_talk

ASK: dict[str, Any] = {"question": "Which?", "options": ["red", "blue"]}
MESSAGE = f.Move(kind="turn", purpose="say")


def test_the_same_message_counts_once() -> None:
    talk = Conversation()
    talk.tell("Hi.", uuid="m1")

    assert talk.tell("Hi again.", uuid="m1") == []
    assert [(one.uuid, one.text) for one in talk.state.messages] == [("m1", "Hi.")]


def test_an_empty_message_is_refused() -> None:
    with pytest.raises(CommandRefused, match="nothing in this message"):
        Conversation().tell(" \n", uuid="m1")


def test_several_messages_that_waited_are_one_prompt() -> None:
    talk = Conversation()
    talk.tell("One.", uuid="m1")
    talk.tell("Two.", uuid="m2")
    talk.begin()

    assert (talk.turn.prompt, talk.turn.carried) == ("One.\n\nTwo.", ("m1", "m2"))
    assert talk.state.messages == ()


def test_more_than_a_prompt_can_hold_is_sent_in_several() -> None:
    talk = Conversation()
    texts = ["a" * 600_000, "b" * 300_000, "c" * 200_000, "d" * 100_000]
    for text in texts:
        talk.tell(text, uuid=text[0])
    carried = []
    while not talk.state.waits_for_words:
        talk.begin()
        carried.append(talk.turn.carried)
        talk.over(texts=("I see.",))

    assert carried == [("a",), ("b", "c"), ("d",)]


def test_words_during_a_turn_go_to_its_agent() -> None:
    talk = Conversation()
    talk.tell("Hi.")
    talk.begin()

    assert talk.tell("In red.", uuid="m2") == ["message.received", "steer.intended"]
    (steer,) = talk.state.steers
    assert (steer.uuid, steer.turn_id) == ("m2", talk.turn.turn_id)
    talk.over(texts=("Red.",), delivered=("m2",))
    assert (talk.state.messages, talk.state.status) == ((), "waiting")


def test_what_the_agent_did_not_take_is_the_next_message() -> None:
    talk = Conversation()
    talk.tell("Hi.")
    talk.begin()
    talk.tell("In red.", uuid="m2")
    talk.tell("And large.", uuid="m3")
    talk.do(c.ReportEffectEnd, effect="steer:m2", state="too_late")
    talk.over(texts=("Hm.",), undelivered=("m3",))

    assert talk.state.next == MESSAGE
    talk.begin()
    assert talk.turn.prompt == "In red.\n\nAnd large."


def test_a_steer_in_a_conversation_is_a_message() -> None:
    talk = Conversation()

    assert talk.do(c.Steer, uuid="s1", text="Hi.") == ["message.received"]
    assert talk.do(c.Steer, uuid="s1", text="Hi.") == []
    talk.begin()
    assert (talk.turn.purpose, talk.turn.prompt) == ("say", "Hi.")


def test_what_is_said_after_a_question_was_asked_does_not_go_to_the_turn() -> None:
    talk = Conversation()
    talk.tell("Hi.")
    talk.call("ask", **ASK)

    assert talk.tell("Wait.", uuid="m2") == ["message.received"]
    talk.over(texts=("?",))
    talk.answer("red")
    talk.begin()
    assert talk.turn.prompt == "Wait.\n\nYou asked: Which?\nThe answer: red"


def test_a_late_delivery_takes_no_waiting_words_away() -> None:
    talk = Conversation()
    talk.tell("Hi.", uuid="m1")

    assert talk.do(c.ReportEffectEnd, effect="steer:m1", state="delivered") == []
    talk.begin()
    assert talk.turn.prompt == "Hi."


def test_who_speaks_while_the_run_is_paused_has_it_go_on() -> None:
    talk = Conversation()
    talk.do(c.Pause)
    kinds = talk.tell("Hi.")

    assert kinds == ["message.received", "run.resumed"]
    assert talk.last(f.RunResumed).why == "message"
    assert talk.state.ready


def test_who_speaks_takes_back_a_pause_that_has_not_begun() -> None:
    talk = Conversation()
    talk.tell("Hi.")
    talk.begin()
    talk.do(c.Pause)
    talk.tell("Go on.", uuid="m2")
    talk.over(texts=("Yes.",))

    assert not talk.state.paused
    assert talk.state.next == MESSAGE


def test_words_do_not_end_the_wait_for_the_agents_limit() -> None:
    talk = Conversation()
    talk.tell("Hi.")
    talk.begin().over("usage_limit", resets_at="2026-01-02T05:00:00.000Z")
    talk.tell("Now?", uuid="m2")
    assert talk.state.status == "parked"

    talk.do(c.ReportLimitReset)
    talk.begin()
    assert talk.turn.prompt == "Now?"


def test_after_an_interruption_the_next_words_say_what_comes() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.do(c.Interrupt)
    talk.over("interrupted")
    assert talk.state.paused

    talk.tell("No, a car.", uuid="m2")
    talk.begin()
    assert (talk.turn.purpose, talk.turn.prompt) == ("go-on", "No, a car.")


def test_an_interrupted_prompt_that_the_agent_never_got_comes_with_the_next_words() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.do(c.Interrupt)
    talk.over("interrupted", prompt_recorded=False)
    talk.tell("In red.", uuid="m2")
    talk.begin()

    assert talk.turn.prompt == "A boat.\n\nIn red."


def test_an_interrupted_turn_that_is_resumed_goes_on() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.do(c.Interrupt)
    talk.over("interrupted")
    talk.do(c.Resume)
    talk.begin()

    assert (talk.turn.purpose, talk.turn.prompt) == ("go-on", PLAIN_GO_ON)


def test_who_speaks_while_the_turn_is_being_stopped_has_the_run_go_on_with_that() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.do(c.Interrupt)
    assert talk.tell("A car.", uuid="m2") == ["message.received"]
    talk.over("interrupted")

    assert not talk.state.paused
    talk.begin()
    assert talk.turn.prompt == "A car."


def test_words_from_before_an_interruption_do_not_undo_it() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.tell("A red one.", uuid="m2")
    talk.do(c.Interrupt)
    talk.over("interrupted")

    assert talk.state.paused
    assert [one.uuid for one in talk.state.messages] == ["m2"]


def test_an_interruption_that_comes_too_late_pauses_what_comes_next() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("ask", **ASK)
    talk.do(c.Interrupt)
    talk.over(texts=("Which?",))

    assert talk.question.text == "Which?"
    assert talk.state.paused


def test_a_turn_that_was_cut_off_is_taken_up_with_what_was_said_meanwhile() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin()
    talk.tell("In red.", uuid="m2")
    talk.over("broken", prompt_recorded=False)
    talk.begin()

    assert talk.turn.purpose == "interrupted"
    assert talk.turn.prompt == f"{INTERRUPTED}\n\n{ORIGINAL}\n\nA boat.\n\n{STEERED}\n\nIn red."


def test_a_transition_of_a_turn_that_was_cut_off_still_holds() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed")
    talk.over("broken")
    talk.answers("Where was I?")

    assert talk.last(f.EdgeTaken).to == "setup"


def test_a_question_of_a_turn_that_was_cut_off_is_put_at_once() -> None:
    ends: tuple[EndKind, ...] = ("broken", "usage_limit")
    for kind in ends:
        talk = Conversation()
        talk.tell("A boat.")
        talk.call("ask", **ASK)
        talk.over(kind, resets_at="2026-01-02T05:00:00.000Z")

        assert talk.question.text == "Which?"
        talk.answer("red")
        talk.begin()
        assert talk.turn.prompt == "You asked: Which?\nThe answer: red"


def test_a_turn_that_fails_ends_the_run_as_any_turn_does() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.begin().over("api_error", detail="overloaded")

    assert talk.reason == "error"


def test_a_person_may_have_the_last_prompt_sent_again() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    for _ in range(3):
        talk.begin().over("broken")
    assert talk.question.kind == "recover"
    talk.answer("retry")
    talk.begin()

    assert (talk.turn.purpose, talk.turn.prompt) == ("again", "A boat.")


@pytest.mark.parametrize("answer", ["retry", "continue"])
def test_recovery_adds_nothing_to_a_conversation_that_waits(answer: str) -> None:
    talk = Conversation()
    talk.do(c.AskRecovery, about="damage", text="A file is damaged.")
    talk.answer(answer)

    assert talk.state.waits_for_words
    talk.tell("Hi.")
    talk.do(c.AskRecovery, about="more", text="Another one.")
    talk.answer(answer)
    talk.begin()
    assert (talk.turn.purpose, talk.turn.prompt) == ("say", "Hi.")


def test_a_message_to_a_run_in_another_step_is_what_the_person_adds() -> None:
    play = Play(a_recipe({"one": a_step(on={"complete": to("two")}), "two": a_step()}))
    play.begin()
    kinds = play.do(c.Say, uuid="m1", text="In red.")
    play.say("complete")
    play.begin()

    assert kinds == ["message.received", "steer.intended"]
    assert play.turn.prompt.startswith(f"Do the work.\n\n{STEERED}\n\nIn red.")
    assert play.do(c.Say, uuid="m1", text="In red.") == []


def test_a_message_on_the_way_to_a_phase_is_its_first_prompt_or_waits_for_its_opening() -> None:
    steps = {
        "one": a_step(on={"complete": to("two")}),
        "two": a_talk({"go": to("three")}),
        "three": a_talk({"back": to("two")}, opening="Hello."),
    }
    talk = Conversation(a_recipe(steps))
    talk.say("complete")
    talk.tell("Hi.", uuid="m1")
    talk.call("transition", to="go")
    assert (talk.turn.prompt, talk.state.step) == ("Hi.", "two")
    talk.answers()
    talk.tell("Well?", uuid="m2")
    talk.begin()

    assert (talk.turn.prompt, talk.turn.carried) == ("Hello.", ())
    talk.answers("Hello!")
    talk.begin()
    assert talk.turn.prompt == "Well?"


def test_the_turn_that_will_carry_a_message_can_be_foreseen() -> None:
    talk = Conversation()
    talk.tell("Hi.", uuid="m1")
    foreseen = core.carrier(talk.state, "m1")
    talk.begin()
    assert talk.turn.turn_id == foreseen

    talk.tell("And?", uuid="m2")
    assert core.carrier(talk.state, "m2") == foreseen


@pytest.mark.parametrize("worktree", [None, WORKTREE])
@pytest.mark.parametrize("opening", [None, "Hello."])
def test_what_is_said_before_the_first_phase_begins_is_its_first_message(
    worktree: Any, opening: str | None
) -> None:
    """The run is in line, or its working tree is being made."""
    talk = Play(a_recipe({"one": a_talk({"x": to("one")}, opening=opening)}), worktree=worktree)
    assert talk.state.hears and not talk.state.in_conversation
    talk.do(c.Say, uuid="m1", text="Hi.")
    foreseen = core.carrier(talk.state, "m1")
    if worktree is not None:
        talk.do(c.ReportEffectEnd, effect="worktree", state="made")
    Play.go(talk)
    if opening is not None:
        talk.over(texts=("Hello!",))
        Play.go(talk)

    assert (talk.turn.turn_id, talk.turn.carried) == (foreseen, ("m1",))


def test_what_is_said_on_the_way_to_another_phase_is_carried_by_a_turn_of_that() -> None:
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("transition", to="agreed")
    talk.over()
    assert talk.state.next == f.Move(kind="enter", step="setup")
    talk.tell("Hi.", uuid="m1")
    foreseen = core.carrier(talk.state, "m1")
    talk.answers("I am set up.")
    talk.begin()

    assert (talk.turn.turn_id, talk.turn.carried) == (foreseen, ("m1",))


def test_nobody_is_heard_on_the_way_to_a_step_that_is_no_conversation() -> None:
    work = Play(a_recipe({"one": a_step()}))
    paused = Play(a_recipe({"one": a_talk(opening="Hi.")}))
    paused.do(c.Pause)  # beside it, a prompt of one's own goes through

    assert [one.state.hears for one in (work, paused, Play())] == [False, False, False]
    assert Conversation().state.hears


def test_a_message_before_the_opening_is_carried_by_the_turn_after_it() -> None:
    class Held(Conversation):
        def go(self, **seen: object) -> Held:
            """Only into the step, not to its turn."""
            self.do(c.Proceed)
            return self

    talk = Held(a_recipe({"one": a_talk({"x": to("one")}, opening="Hello.")}))
    talk.tell("Hi.", uuid="m1")
    foreseen = core.carrier(talk.state, "m1")
    Play.go(talk)
    talk.over(texts=("Hello!",))
    Play.go(talk)

    assert (talk.turn.turn_id, talk.turn.carried) == (foreseen, ("m1",))
