"""Words for the running turn: delivered there, carried by the next prompt, or told at the end."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_recipe, review_loop


def test_a_steer_goes_to_the_running_turn_and_is_delivered_there() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.Steer, uuid="s1", text="Use tabs.") == ["steer.intended"]
    assert play.last(f.SteerIntended).turn_id == play.turn.turn_id
    assert play.do(c.ReportEffectEnd, effect="steer:s1", state="queued") == ["effect.ended"]
    assert play.state.steers[0].queued
    assert play.do(c.ReportEffectEnd, effect="steer:s1", state="delivered") == ["effect.ended"]
    assert play.state.steers == ()
    assert play.do(c.ReportEffectEnd, effect="steer:s1", state="delivered") == []


def test_a_steer_that_the_turn_took_up_is_recorded_with_its_end() -> None:
    play = Play(review_loop()).begin()
    for uuid in ("s1", "s2"):
        play.do(c.Steer, uuid=uuid, text=f"Text {uuid}")
    play.do(c.ReportEffectEnd, effect="steer:s2", state="queued")

    assert play.say("complete", delivered=("s1",))[:2] == ["effect.ended", "turn.ended"]
    play.begin()
    assert play.turn.carried == ("s2",)
    assert "Text s2" in play.turn.prompt and "Text s1" not in play.turn.prompt


def test_a_steer_that_comes_too_late_goes_into_the_next_prompt() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.Steer, uuid="s2", text="And spaces.")
    play.do(c.ReportEffectEnd, effect="steer:s1", state="too_late")
    play.say("complete")
    play.do(c.Steer, uuid="s3", text="And nothing.")

    assert play.last(f.SteerIntended).turn_id is None
    play.begin()
    assert play.turn.carried == ("s1", "s2", "s3")
    assert play.state.steers == ()


def test_steers_that_no_prompt_carried_are_listed_at_the_end() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.ReportEffectEnd, effect="steer:s1", state="queued")
    play.do(c.Steer, uuid="s2", text="Hurry.")
    play.say("complete")

    assert play.last(f.RunEnded).undelivered == ("Use tabs.", "Hurry.")


@pytest.mark.parametrize("first", [c.Say, c.Steer])
@pytest.mark.parametrize("again", [c.Say, c.Steer])
def test_words_that_come_again_under_their_uuid_are_not_sent_twice(first: Any, again: Any) -> None:
    play = Play(review_loop()).begin()
    play.do(first, uuid="s1", text="Use tabs.")
    assert play.do(again, uuid="s1", text="Use tabs.") == []
    play.say("complete")
    play.begin()

    assert play.do(again, uuid="s1", text="Use tabs.") == []
    play.do(c.Cancel)
    play.over("interrupted")
    assert play.state.exit is not None
    assert play.do(again, uuid="s1", text="Use tabs.") == []
    assert [turn.carried for turn in play.all(f.TurnIntended)] == [(), ("s1",)]


def test_a_turn_that_will_come_to_its_own_end_can_still_be_steered() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.Interrupt)
    play.do(c.Steer, uuid="s2", text="Use spaces.")

    assert [fact.turn_id for fact in play.all(f.SteerIntended)] == [play.turn.turn_id, None]


def test_a_plain_prompt_carries_nothing_that_was_added() -> None:
    play = Play()
    play.do(c.Steer, uuid="s1", text="And be brief.")
    play.begin()

    assert play.turn.prompt == "Say hello."
    play.reply("Hello.")
    assert play.last(f.RunEnded).undelivered == ("And be brief.",)
