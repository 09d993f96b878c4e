"""Every way to make a run stand still or end."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from tests.core.builders import Play, a_check, a_recipe, a_step, review_loop


def gated() -> Play:
    """A run whose only step waits behind a gate."""
    return Play(a_recipe({"work": a_step(gate="Shall I?")})).go()


# Pause and resume.


def test_a_pause_in_a_turn_takes_hold_at_its_end() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Pause) == ["stop.intended"]
    assert play.do(c.Pause) == []
    assert play.stands("running") and not play.state.stopping
    assert play.say("complete") == ["turn.ended", "outcome.parsed", "edge.taken", "run.paused"]
    assert play.stands("paused")
    assert play.do(c.Proceed) == []
    assert play.do(c.Resume) == ["run.resumed"]
    assert play.begin().turn.step == "review"


def test_a_pause_between_turns_takes_hold_at_once() -> None:
    play = Play(review_loop())
    play.say("complete")

    assert play.do(c.Pause) == ["run.paused"]
    assert play.do(c.Pause) == []
    assert play.stands("paused")


def test_a_pause_that_has_not_taken_hold_is_taken_back() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Pause)

    assert play.do(c.Resume) == ["run.resumed"]
    play.say("complete")
    assert play.stands("running")


def test_resuming_a_run_that_goes_on_changes_nothing() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.Resume) == []
    play.do(c.Interrupt)
    assert play.do(c.Resume) == []


def test_a_queued_run_that_is_paused_and_resumed_is_queued_again() -> None:
    play = Play(a_recipe())

    assert play.stands("queued")
    play.do(c.Pause)
    assert play.stands("paused")
    play.do(c.Resume)
    assert play.stands("queued")


def test_a_pause_waits_for_no_answer_and_an_answer_for_no_resume() -> None:
    play = gated()
    play.do(c.Pause)
    assert play.stands("waiting")
    play.answer("yes")
    assert play.stands("paused")
    play.do(c.Resume)
    assert play.begin().turn.step == "work"


def test_a_pause_lets_the_check_that_runs_end() -> None:
    play = Play(a_recipe({"work": a_step(checks=(a_check(), a_check()))}))
    play.say("complete")

    assert play.do(c.Pause) == ["stop.intended"]
    assert play.stands("running")
    assert play.check() == ["check.ended", "run.paused"]
    assert not play.state.ready


def test_a_pause_of_a_check_taken_back_before_its_end_changes_nothing() -> None:
    play = Play(a_recipe({"work": a_step(checks=(a_check(), a_check()))}))
    play.say("complete")
    play.do(c.Pause)

    assert play.do(c.Resume) == ["run.resumed"]
    assert play.check() == ["check.ended"]
    assert play.state.ready


def test_an_interrupted_check_pauses_once_it_lives_no_more_and_runs_again() -> None:
    play = Play(a_recipe({"work": a_step(checks=(a_check(),))}))
    play.say("complete")

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.state.stopping and play.stands("running")
    assert play.do(c.ReportWorkStopped) == ["run.paused"]
    assert play.last(f.RunPaused).why == "interrupted"
    play.do(c.Resume)
    assert play.state.ready and play.state.next == f.Move(kind="check")
    assert play.check()[-1] == "run.ended"


def test_a_check_that_ends_as_it_is_interrupted_counts_and_then_the_run_pauses() -> None:
    play = Play(a_recipe({"work": a_step(checks=(a_check(), a_check()))}))
    play.say("complete")
    play.do(c.Interrupt)

    assert play.check() == ["check.ended", "run.paused"]
    assert play.do(c.ReportWorkStopped) == []


def test_a_turn_is_not_stopped_by_what_a_command_comes_to() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)

    assert play.do(c.ReportWorkStopped) == []


def test_a_turn_cut_off_under_a_pause_goes_on_after_it() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.over("broken") == ["turn.ended", "run.paused"]
    play.do(c.Resume)
    assert play.begin().turn.purpose == "interrupted"


def test_a_turn_that_ends_the_run_leaves_nothing_to_pause() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.say("complete")[-1] == "run.ended"


# Interrupt.


def test_an_interrupt_pauses_and_resuming_sends_a_go_on_prompt_that_is_no_visit() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.do(c.Interrupt) == []
    assert play.do(c.Pause) == []
    assert play.state.stopping
    assert play.over("interrupted") == ["turn.ended", "run.paused"]
    assert play.last(f.RunPaused).why == "interrupted"
    play.do(c.Resume)
    play.begin()
    assert (play.turn.purpose, play.turn.visit, play.turn.attempt) == ("go-on", 1, 1)
    assert (play.state.visits, play.state.step_count) == ({"work": 1}, 1)
    assert play.say("complete")[-1] == "run.ended"
    assert play.reason == "changes-committed"


def test_an_interrupt_of_a_turn_that_had_just_finished_asks_how_it_went() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)

    assert play.say("complete") == ["turn.ended", "run.paused"]
    play.do(c.Resume)
    assert play.begin().turn.purpose == "go-on"


def test_an_interrupt_before_the_agent_had_the_prompt_sends_it_again() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)
    play.over("interrupted", prompt_recorded=False)
    play.do(c.Resume)
    play.begin()

    assert "Do the work." in play.turn.prompt


def test_an_interrupt_does_not_count_as_a_turn_that_was_cut_off() -> None:
    play = Play(a_recipe())
    for _ in range(4):
        play.begin()
        play.do(c.Interrupt)
        play.over("interrupted")
        play.do(c.Resume)

    assert play.state.breaks == 0


def test_an_interrupt_overrules_a_pause() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.state.stopping


def test_an_interrupt_between_turns_pauses() -> None:
    assert Play(a_recipe()).do(c.Interrupt) == ["run.paused"]


def test_an_interrupt_of_a_plain_prompt_ends_it() -> None:
    play = Play().begin()
    play.do(c.Interrupt)
    play.over("interrupted")

    assert play.reason == "user-requested"


# Cancel, and recipes switched off.


def test_a_cancel_in_a_turn_stops_it_and_ends_the_run() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Cancel) == ["stop.intended"]
    assert play.do(c.Cancel) == []
    assert play.do(c.Interrupt) == []
    assert play.do(c.Pause) == []
    assert play.state.stopping
    assert play.say("complete") == ["turn.ended", "run.ended"]
    assert play.reason == "user-requested"


@pytest.mark.parametrize("reason", ["user-requested", "orchestration-disabled"])
def test_a_cancel_between_turns_ends_the_run_at_once(reason: str) -> None:
    play = Play(review_loop())
    play.say("complete")

    assert play.do(c.Cancel, reason=reason) == ["run.ended"]
    assert play.reason == reason
    assert play.state.exit is not None and play.state.exit.class_ == "cancelled"


def test_a_cancel_while_a_person_is_asked_closes_the_question() -> None:
    assert gated().do(c.Cancel) == ["question.closed", "run.ended"]


def test_a_cancel_overrules_an_interrupt() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)

    assert play.do(c.Cancel) == ["stop.intended"]
    play.over("interrupted")
    assert play.reason == "user-requested"


def test_switching_recipes_off_lets_the_turn_finish_and_then_ends_the_run() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Cancel, reason="orchestration-disabled") == ["stop.intended"]
    assert play.do(c.Cancel, reason="orchestration-disabled") == []
    assert not play.state.stopping
    assert play.say("complete") == ["turn.ended", "run.ended"]
    assert play.reason == "orchestration-disabled"


def test_an_interrupt_after_switching_recipes_off_stops_the_turn() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Cancel, reason="orchestration-disabled")

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.state.stopping
    play.over("interrupted")
    assert play.reason == "orchestration-disabled"


# After the end.


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (c.Pause, {}),
        (c.Resume, {}),
        (c.Interrupt, {}),
        (c.Cancel, {}),
        (c.Steer, {"uuid": "s1", "text": "Hello?"}),
        (c.NoteAside, {"run_id": "run-2", "session_id": "session-1"}),
    ],
)
def test_what_a_person_wants_of_a_run_that_is_over_is_refused(
    make: Any, fields: dict[str, Any]
) -> None:
    play = Play(a_recipe())
    play.say("complete")

    with pytest.raises(CommandRefused, match="has ended: changes-committed") as refused:
        play.do(make, **fields)
    assert refused.value.why == c.RunOver("run-1", by="changes-committed")


def test_what_comes_in_after_the_end_is_dropped() -> None:
    play = Play(a_recipe()).begin()
    play.approve()
    turn = play.turn.turn_id
    play.do(c.ReportFault, detail="log entry 1")
    assert play.reason == "internal-error"

    assert play.over() == []
    assert play.approve(request="r2") == []
    assert play.do(c.ReportTurnStart, turn_id=turn, pid=1, proc_start=1, group=1) == []
    assert play.do(c.ReportApprovalGone, request_id="r1") == []
    assert play.do(c.Proceed) == []
    assert play.do(c.ReportCheckEnd, index=0, passed=True) == []
    assert play.do(c.ReportEffectEnd, effect="worktree", state="made") == []
    assert play.do(c.ReportLimitReset) == []
    assert play.do(c.AskRecovery, about="damage", text="?") == []
    assert play.do(c.ReportFault, detail="log entry 2") == []
