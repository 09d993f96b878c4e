"""What a run is to have going on follows from its state and from what is going on already."""

from __future__ import annotations

import pytest

from podiumd.core.decide.due import Begin, Cancel, Deliver, Due, GoOn, HandOver, Rest, due
from podiumd.core.run import commands as c
from tests.core.builders import WORKTREE, Play, a_check, a_command, a_recipe, a_step, to
from tests.core.conversations import Conversation, a_hook, a_talk


def now(play: Play, *running: str, closing: bool = False, leaving: bool = False) -> tuple[Due, ...]:
    return due(play.state, {*running}, closing=closing, leaving=leaving)


def checking() -> Play:
    play = Play(a_recipe({"work": a_step(checks=(a_check(),))}))
    play.say("complete")
    return play


def hooking() -> Play:
    talk = Conversation(a_recipe({"one": a_talk({"x": to("one")}, hooks=(a_hook(),))}))
    talk.tell("Go on.")
    talk.answers("So.")
    return talk


def parked() -> Play:
    play = Play(a_recipe()).begin()
    play.over("usage_limit", resets_at="2026-01-02T05:00:00.000Z")
    return play


@pytest.mark.parametrize(
    ("play", "work"),
    [
        (Play(a_recipe(), worktree=WORKTREE), "worktree"),
        (Play(a_recipe()), "proceed"),
        (Play(), "proceed"),
        (checking(), "command"),
        (hooking(), "command"),
        (Play(a_recipe({"make": a_command()})).go(), "command"),
    ],
)
def test_what_is_next_is_gone_on_with_once(play: Play, work: str) -> None:
    (on,) = now(play)

    assert isinstance(on, GoOn) and on.work == work
    assert now(play, work) == ()


def test_a_turn_is_begun_and_gets_what_people_say() -> None:
    play = Play(a_recipe()).begin()
    assert now(play) == (Begin("turn"),)
    assert now(play, "turn") == ()

    play.approve()
    question = play.question
    play.answer("allow")
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    answered, steer = play.state.questions[question.question_id], play.state.steers[0]
    assert now(play, "turn") == (Deliver(answered), HandOver(steer))

    play.delivered(question)
    play.do(c.ReportEffectEnd, effect="steer:s1", state="queued")
    assert now(play, "turn") == ()


def test_a_run_that_waits_leaves_room_to_others() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()

    assert now(play) == (Rest(),)
    assert now(play, "proceed") == ()


def test_a_run_at_its_agents_limit_waits_for_that_and_leaves_room() -> None:
    play = parked()

    assert now(play) == (Begin("parked"), Rest())
    assert now(play, "parked") == (Begin("parked"), Rest())


def test_a_check_that_is_to_be_stopped_is_cancelled_or_looked_for() -> None:
    play = checking()
    play.do(c.Interrupt)

    assert now(play, "command") == (Cancel("command"),)
    assert now(play) == (Cancel("command"), Begin("stop"))
    assert now(play, closing=True) == (Cancel("command"), Begin("stop"))
    assert now(play, leaving=True) == (Cancel("command"),)


def test_a_daemon_that_stops_begins_nothing() -> None:
    play = Play(a_recipe())

    assert now(play, closing=True) == now(play, leaving=True) == ()


def test_nothing_of_a_run_goes_on_after_its_end() -> None:
    play = Play(a_recipe())
    play.do(c.Cancel)

    assert now(play, "proceed") == (Cancel("command"), Cancel("next"))
