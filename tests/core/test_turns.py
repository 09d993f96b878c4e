"""What is sent to an agent, and what follows from the way its turn ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from podiumd.core.decide import turns
from podiumd.core.prompts import prompts
from podiumd.core.recipe.model import Limits
from podiumd.core.reply.outcome import outcome_block
from podiumd.core.reply.report import EndKind
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import SESSION, TREE, Play, a_recipe, a_step, review_loop

BLOCK = outcome_block(("complete", "other"))


def detail_of(play: Play) -> str | None:
    assert play.state.exit is not None
    return play.state.exit.detail


# Sending.


def test_a_turn_is_sent_with_all_that_its_step_says() -> None:
    step = a_step(
        "Look only.",
        agent="native",
        model="small",
        tools=("Read", "Grep"),
        allow=("Read",),
        permission_mode="plan",
        timeout_minutes=1.5,
    )
    play = Play(a_recipe({"work": step}, Limits(max_minutes=2.0, max_cost_usd=3.0)))
    turn = play.begin(tree=TREE).turn

    assert (turn.agent, turn.model) == ("native", "small")
    assert (turn.tools, turn.allow) == (("Read", "Grep"), ("Read",))
    assert (turn.permission_mode, turn.timeout_seconds) == ("plan", 90.0)
    assert (turn.seconds_left, turn.budget_usd) == (120.0, 3.0)
    assert (turn.step, turn.visit, turn.attempt, turn.purpose) == ("work", 1, 1, "step")
    assert (turn.session_id, turn.outcomes, turn.tree) == (SESSION, ("complete", "other"), TREE)
    assert turn.prompt == f"Look only.\n\n{BLOCK}"


@pytest.mark.parametrize(
    ("own", "override", "used"),
    [(None, None, "claude"), ("native", None, "native"), ("native", "scripted", "scripted")],
)
def test_the_runs_agent_is_overruled_by_the_steps_and_that_by_the_persons(
    own: str | None, override: str | None, used: str
) -> None:
    play = Play(a_recipe({"work": a_step(agent=own)}), agent_override=override)

    assert play.begin().turn.agent == used


@pytest.mark.parametrize(
    ("override", "model", "mode"), [("claude", "small", "plan"), ("scripted", None, None)]
)
def test_another_agent_is_not_told_the_model_of_the_first(
    override: str, model: str | None, mode: str | None
) -> None:
    step = a_step(model="small", permission_mode="plan")
    turn = Play(a_recipe({"work": step}), agent_override=override).begin().turn

    assert (turn.model, turn.permission_mode) == (model, mode)


def test_a_plain_prompt_goes_out_byte_for_byte_and_ends_turn_complete() -> None:
    text = ' {{issue}}\r\n{"outcome": "x"}\n\n '
    play = Play(text=text).begin()

    assert play.turn.prompt == text
    assert (play.turn.outcomes, play.turn.step, play.turn.purpose) == ((), None, "prompt")
    assert play.reply('{"outcome": "complete"}') == ["turn.ended", "run.ended"]
    assert (play.reason, play.history) == ("turn-complete", [])


def test_a_session_lost_before_the_run_began_ends_it() -> None:
    play = Play(a_recipe()).go(locked="held by pid 7")

    assert (play.reason, detail_of(play)) == ("session-locked", "held by pid 7")


def test_an_agent_that_cannot_be_run_ends_the_run() -> None:
    play = Play(a_recipe()).go(problem="claude: not found")

    assert (play.reason, detail_of(play)) == ("error", "claude: not found")


@pytest.mark.parametrize("prompt", ["", "  {{last.work.detail}}\n"])
def test_a_step_with_nothing_to_say_ends_the_run(prompt: str) -> None:
    play = Play(a_recipe({"work": a_step(prompt)})).go()

    assert (play.reason, detail_of(play)) == ("no-prompt", "Step 'work' has nothing to say.")
    assert play.all(f.TurnIntended) == []


@pytest.mark.parametrize("answer", ["retry", "continue"])
def test_foreign_rows_are_asked_about_before_each_prompt(answer: str) -> None:
    play = Play(review_loop()).go(foreign_rows=2)

    assert (play.question.kind, play.question.detail) == ("recover", "2 rows")
    play.answer(answer)
    assert play.begin(foreign_rows=2).turn.purpose == "step"
    play.say("complete")
    assert play.go(foreign_rows=1).state.status == "waiting"


def test_foreign_rows_in_a_queued_prompts_session_leave_it_queued() -> None:
    play = Play().go(foreign_rows=1)
    play.answer("continue")

    assert play.state.status == "queued"
    assert play.begin(foreign_rows=1).turn.prompt == "Say hello."


# What is recorded.


def test_the_words_of_a_turn_are_kept_once_and_within_a_bound() -> None:
    play = Play()
    play.reply("a" * turns.TEXT_LIMIT, "the end")
    ended = play.last(f.TurnEnded)

    assert (ended.report.texts, ended.report.result_text) == ((), "")
    assert len(ended.text) == turns.TEXT_LIMIT and ended.text.endswith("a\n\nthe end")


def test_words_that_come_only_as_the_result_are_kept() -> None:
    play = Play().begin()
    play.over(result_text="Hello.")

    assert play.last(f.TurnEnded).text == "Hello."


def test_a_turn_counts_from_its_start_less_the_time_that_a_question_was_open() -> None:
    play = Play(a_recipe()).begin()
    play.wait(9).approve(request="r1")  # 10 seconds of work so far
    first = play.question.question_id
    play.wait(49).approve(request="r2")
    second = next(q.question_id for q in play.state.open_questions if q.question_id != first)
    play.wait(49).do(c.Answer, question_id=first, answer="allow")
    play.wait(49).do(c.Answer, question_id=second, answer="allow")
    play.wait(4).approve(request="r3")  # 5 more
    play.wait(99).say("complete", cost_usd=0.25)

    assert play.last(f.TurnEnded).seconds == 15.0
    assert (play.state.seconds, play.state.cost_usd) == (15.0, 0.25)


def test_a_question_of_the_run_itself_stops_the_clock_of_its_turn_too() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.AskRecovery, about="damage", text="How shall it go on?")
    play.wait(99).say("complete")

    assert play.last(f.TurnEnded).seconds == 1.0


def test_a_turn_that_never_started_took_no_time() -> None:
    play = Play(a_recipe()).go().wait(99)
    play.over("failed", detail="no such program")

    assert play.last(f.TurnEnded).seconds == 0.0


def test_an_agent_without_a_process_says_itself_how_long_it_took() -> None:
    play = Play(a_recipe()).go()
    play.approve()
    play.wait(9).answer("allow")
    play.say("complete", seconds=25.0)

    assert play.last(f.TurnEnded).seconds == 15.0


def test_a_clock_that_went_back_counts_as_no_time() -> None:
    play = Play(a_recipe()).begin().wait(-50)
    play.say("complete")

    assert play.state.seconds == 0.0


def test_the_end_of_another_turn_changes_nothing() -> None:
    play = Play(review_loop())
    play.say("complete")
    stale = play.last(f.TurnEnded)

    assert play.do(c.ReportTurnEnd, turn_id=stale.turn_id, report=stale.report) == []
    play.begin()
    assert play.do(c.ReportTurnEnd, turn_id=stale.turn_id, report=stale.report) == []


# Retries.


def test_a_reply_without_an_outcome_is_asked_for_again_in_the_same_visit() -> None:
    play = Play(a_recipe())

    assert play.reply("All done!") == ["turn.ended", "outcome.invalid"]
    invalid = play.last(f.OutcomeInvalid)
    assert (invalid.step, invalid.error, invalid.attempt) == ("work", "no-json", 1)
    assert invalid.expected == ("complete", "other")
    assert play.begin().turn.purpose == "retry"
    assert (play.turn.attempt, play.turn.visit, play.turn.session_id) == (2, 1, SESSION)
    assert play.state.step_count == 1
    play.say("complete")
    assert play.history[0].attempts == 2


@pytest.mark.parametrize(("retries", "replies"), [(3, 4), (1, 2)])
def test_retries_are_bounded(retries: int, replies: int) -> None:
    play = Play(a_recipe(limits=Limits(max_retries=retries)))
    for _ in range(replies - 1):
        play.reply("No idea.")
        assert play.state.exit is None

    assert play.reply("No idea.") == ["turn.ended", "outcome.invalid", "run.ended"]
    assert play.reason == "orchestration-error"
    assert len(play.all(f.TurnIntended)) == replies
    assert detail_of(play) == "it holds no JSON object with an outcome"


def test_an_unknown_outcome_is_retried_too_and_stands_in_the_detail_at_the_end() -> None:
    play = Play(a_recipe(limits=Limits(max_retries=1)))
    play.say("finished")
    assert play.last(f.OutcomeInvalid).returned == "finished"
    play.say("perfect")

    assert (play.reason, detail_of(play)) == ("orchestration-error", "perfect")


def test_each_visit_has_all_its_retries() -> None:
    play = Play(review_loop(Limits(max_retries=1)))
    for outcome in ("complete", "issues-found", "complete", "no-issues", "committed"):
        play.reply("Hm.")
        play.say(outcome)

    assert play.reason == "changes-committed"


# Ends that are not the agent's own.


@pytest.mark.parametrize(
    ("kind", "report", "detail"),
    [
        ("api_error", {"detail": "529 overloaded"}, "529 overloaded"),
        ("failed", {"detail": "exit status 3"}, "exit status 3"),
        ("timeout", {"detail": "silent for 600 s"}, "silent for 600 s"),
        ("budget", {}, "budget"),
    ],
)
def test_an_end_that_is_no_answer_ends_the_run(
    kind: EndKind, report: dict[str, Any], detail: str
) -> None:
    play = Play(a_recipe()).begin()

    assert play.over(kind, **report) == ["turn.ended", "run.ended"]
    assert (play.reason, detail_of(play)) == ("error", detail)


def test_a_usage_limit_parks_the_run_which_goes_on_by_itself() -> None:
    play = Play(review_loop()).begin()
    play.reply("Hm.")
    play.begin()
    before = (play.state.visits, play.state.step_count, play.turn.attempt)
    until = "2026-01-02T05:00:00.000Z"

    assert play.over("usage_limit", resets_at=until) == ["turn.ended", "run.parked"]
    assert (play.state.status, play.state.parked_until) == ("parked", until)
    assert not play.state.ready
    assert play.do(c.ReportLimitReset) == ["run.resumed"]
    assert play.do(c.ReportLimitReset) == []
    play.begin()
    assert (play.state.visits, play.state.step_count, play.turn.attempt) == before
    assert (play.turn.purpose, play.state.parked_until) == ("go-on", None)


def test_a_reset_that_was_announced_too_early_is_waited_for_longer_each_time() -> None:
    past = "2026-01-02T01:00:00.000Z"
    play = Play(review_loop()).begin()
    waits = []
    for _ in range(9):
        play.over("usage_limit", resets_at=past)
        until = datetime.fromisoformat(play.state.parked_until or "")
        waits.append(until - datetime.fromisoformat(play.at))
        play.do(c.ReportLimitReset)
        play.begin()

    assert waits[0] < timedelta(0)
    assert [wait.total_seconds() for wait in waits[1:]] == [
        *(60, 120, 240, 480, 960, 1920),
        *(3600, 3600),
    ]


def test_a_limit_that_ends_nobody_knows_when_is_tried_after_15_minutes_and_then_twice_as_long() -> (
    None
):
    play = Play(review_loop()).begin()
    waits = []
    for _ in range(7):
        play.over("usage_limit", detail="Used up")
        until = datetime.fromisoformat(play.state.parked_until or "")
        waits.append((until - datetime.fromisoformat(play.at)).total_seconds() / 60)
        words = f"Used up (it is not known until when: tried again in {waits[-1]:g} minutes)"
        assert play.last(f.RunParked).detail == words
        play.do(c.ReportLimitReset)
        play.begin()

    assert waits == [15, 30, 60, 120, 240, 240, 240]
    play.over("usage_limit")
    assert play.last(f.RunParked).detail.startswith("it is not known until when")
    play.do(c.ReportLimitReset)
    play.begin()
    play.say("complete")
    play.begin().over("usage_limit")
    assert "in 15 minutes" in play.last(f.RunParked).detail


def test_a_turn_that_worked_makes_the_next_limit_the_first_again() -> None:
    play = Play(review_loop()).begin()
    play.over("usage_limit", resets_at="2026-01-02T01:00:00.000Z")
    play.do(c.ReportLimitReset)
    play.say("complete")
    play.begin().over("usage_limit", resets_at="2026-01-02T01:00:00.000Z")

    assert play.state.parked_until == "2026-01-02T01:00:00.000Z"


def test_a_pause_holds_beyond_the_agents_limit_and_resuming_tries_at_once() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.over("usage_limit", resets_at="2026-01-02T05:00:00.000Z") == [
        "turn.ended",
        "run.parked",
        "run.paused",
    ]
    assert play.do(c.ReportLimitReset) == []
    assert play.state.status == "paused"
    play.do(c.Resume)
    assert play.begin().turn.purpose == "go-on"


def test_a_parked_run_is_resumed_by_a_person_before_its_time() -> None:
    play = Play().begin()
    play.over("usage_limit", resets_at="2026-01-02T05:00:00.000Z")

    assert play.do(c.Resume) == ["run.resumed"]
    assert play.begin().turn.prompt == prompts.PLAIN_GO_ON


@pytest.mark.parametrize(
    ("start", "step", "model"),
    [
        ({}, {}, None),
        ({}, {"model": "small"}, "small"),
        ({"model": "large"}, {}, "large"),
        ({"model": "large"}, {"model": "small"}, "large"),
        ({"agent_override": "native"}, {"model": "small"}, None),
        ({"agent_override": "native", "model": "local"}, {"model": "small"}, "local"),
        ({"model": "large"}, {"agent": "native", "model": "local"}, "local"),
        ({"model": "large"}, {"agent": "native"}, None),
        ({"agent_override": "native", "model": "local"}, {"agent": "claude"}, "local"),
    ],
)
def test_the_person_s_model_comes_before_the_step_s_for_the_agent_that_it_is_of(
    start: dict[str, Any], step: dict[str, Any], model: str | None
) -> None:
    play = Play(a_recipe({"work": a_step(**step)}), **start).begin()

    assert play.turn.model == model


def test_a_turn_that_goes_on_after_a_crash_has_the_same_model() -> None:
    play = Play(model="large").begin()
    play.over("broken")
    play.begin()

    assert play.turn.model == "large"
