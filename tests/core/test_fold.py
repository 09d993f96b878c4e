"""The fold takes every fact, refuses what cannot follow, and keeps what it was given."""

from __future__ import annotations

import pytest

from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.fold import evolve
from tests.core.builders import Play, a_recipe
from tests.core.looped import Looped

AT = "2026-01-02T03:04:05.678Z"


def test_a_run_begins_with_its_start() -> None:
    with pytest.raises(AssertionError, match="first fact is run"):
        evolve(None, f.RunPaused(), AT)


@pytest.mark.parametrize(
    "fact",
    [
        f.RunStarted(
            run_id="r", kind="prompt", session_id="s", working_directory="/", agent="claude"
        ),
        f.TurnStarted(turn_id="t", pid=1, proc_start=1, group=1, mono=1.0),
        f.QuestionClosed(question_id="q", closed="answered"),
        f.EffectEnded(effect="answer:q", state="delivered"),
        f.EffectEnded(effect="commit", state="committed"),
        f.EffectEnded(effect="of-a-later-release", state="done"),
        lf.LoopEnded(turn_id="t", kind="done"),
    ],
)
def test_a_fact_that_does_not_follow_is_refused(fact: f.AnyFact) -> None:
    state = Play(a_recipe()).state

    with pytest.raises((AssertionError, KeyError)):
        evolve(state, fact, AT)


def test_a_fact_of_a_loop_whose_reply_was_lost_is_refused() -> None:
    state = Looped().play.state
    result = lf.Result(action="done", success=True, message="")
    lost: list[f.AnyFact] = [
        lf.ReplyReceived(turn_id="t", number=2, text="", stop="end"),
        lf.ActionIntended(turn_id="t", reply=1, index=0, action="done"),
        lf.ActionEnded(turn_id="t", reply=1, index=0, result=result),
    ]

    for fact in lost:
        with pytest.raises(AssertionError, match="missing"):
            evolve(state, fact, AT)


def test_a_state_is_not_changed_by_what_follows_it() -> None:
    play = Play(a_recipe()).begin()
    before, copy = play.state, evolve(None, play.facts[0], play.stored[0][1])
    for fact, (_, at) in zip(play.facts[1:], play.stored[1:], strict=True):
        copy = evolve(copy, fact, at)
    play.say("complete")

    assert copy == before


def test_a_steer_that_is_not_meant_stays_as_it_is() -> None:
    state = Play(a_recipe()).begin().state
    for uuid in ("s1", "s2"):
        state = evolve(state, f.SteerIntended(uuid=uuid, text=uuid, turn_id="t"), AT)
    state = evolve(state, f.EffectEnded(effect="steer:s1", state="queued"), AT)

    assert [(steer.uuid, steer.queued) for steer in state.steers] == [("s1", True), ("s2", False)]


def test_a_turn_that_is_begun_once_more_counts_its_time_from_there() -> None:
    play = Play(a_recipe()).begin()
    play.approve()
    assert play.state.turn is not None
    again = f.TurnStarted(
        turn_id=play.state.turn.intent.turn_id, pid=2, proc_start=2, group=2, mono=900.0
    )

    asking = evolve(play.state, again, AT).turn
    assert asking is not None
    assert (asking.started, asking.asking_since) == (again, 900.0)
    play.answer("allow")
    assert play.state.turn.asked_seconds > 0
    answered = evolve(play.state, again, AT).turn
    assert answered is not None
    assert (answered.asked_seconds, answered.asking_since) == (0.0, None)
