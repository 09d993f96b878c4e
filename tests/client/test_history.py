"""A run's events as steps: what took how long, what it cost, who said what."""

from __future__ import annotations

from typing import Any

import pytest

from podium.render.history import BEFORE, LOST, PROMPT, STALLED, as_json, told
from podium.render.run_words import advice, answered, checks, source
from tests.client import journeys
from tests.client.journeys import BEGAN, Journey, stamp


def test_each_visit_has_its_own_outcome_source_work_waiting_and_cost() -> None:
    history = told(journeys.varied().events)
    until = history.until()

    shown = [
        (s.step, s.visit, s.outcome, s.source, s.attempts, round(s.work_seconds), s.to or s.exit)
        for s in history.steps
    ]

    assert shown == [
        ("implement", 1, "checks-failed", "check", 2, 240, "implement"),
        ("implement", 2, "complete", "structured", 1, 179, "review"),
        ("review", 1, "issues-found", "structured", 1, 130, "fix"),
        ("fix", 1, "complete", "structured", 1, 95, "review"),
        ("review", 2, "no-issues", "structured", 1, 88, "commit"),
        ("commit", 1, "committed", "structured", 1, 20, "changes-committed"),
    ]
    assert [round(s.cost_usd, 2) for s in history.steps] == [0.44, 0.3, 0.2, 0.18, 0.16, 0.05]
    assert [round(s.waited_seconds(until)) for s in history.steps] == [75, 0, 0, 0, 0, 30_000]
    assert [round(s.still_seconds(until)) for s in history.steps] == [0, 0, 0, 0, 300, 0]


def test_what_is_asked_before_a_step_belongs_to_it() -> None:
    first, *_, last = told(journeys.varied().events).steps

    assert [q["question_id"] for q in first.questions] == ["q-dirty", "q-tool"]
    assert [q["question_id"] for q in last.questions] == ["q-commit"]
    assert first.questions[0]["opened_at"] < first.began_at


def test_questions_that_are_open_at_once_are_waited_for_once() -> None:
    journey = Journey().enter("fix").ask("a").wait(10).ask("b").wait(10).answer("a", "yes")
    journey.wait(5).answer("b", "no").wait(100).ask("c")
    (step,) = told(journey.events).steps

    assert step.waited_seconds(BEGAN + 125) == 25
    assert step.waited_seconds(BEGAN + 155) == 55


def test_an_outcome_that_a_check_overruled_is_not_called_repaired() -> None:
    journey = Journey().enter("fix").turn(1).parsed("complete", source="text", repaired=True)
    (step,) = told(journey.events).steps
    assert (source(step), step.outcome) == ("text, repaired", None)

    journey.check(3, False).leave("checks-failed", "fix", source="check")
    (step,) = told(journey.events).steps
    assert (source(step), checks(step)) == ("check", "1 of 1 failed")


def test_a_check_began_as_long_before_its_end_as_it_took() -> None:
    (step,) = told(Journey().enter("fix").wait(10).check(4.25, True).events).steps

    assert (step.commands[0].began_at, step.commands[0].ended_at) == (stamp(10), stamp(14.25))
    assert checks(step) == "1 passed"


def test_a_step_that_is_a_command_runs_until_it_ends() -> None:
    journey = Journey().enter("build")
    journey.tell("command.intended", step="build", visit=1, run=["make", "all"])
    (step,) = told(journey.events).steps
    assert (step.commands[0].passed, checks(step)) == (None, "")

    journey.wait(7).tell("command.ended", passed=False, exit_status=2, seconds=7.0, tail="no")
    (step,) = told(journey.events).steps
    command = step.commands[0]
    assert (command.kind, command.passed, command.exit_status) == ("command", False, 2)
    assert (step.work_seconds, command.ended_at) == (7.0, stamp(7))


def test_a_turn_whose_end_was_never_told_is_lost_when_the_next_begins() -> None:
    journey = Journey().enter("fix").prompt().wait(5).prompt(purpose="interrupted").wait(5)
    (step,) = told(journey.events).steps

    assert [(turn.end, turn.ended_at) for turn in step.turns] == [(LOST, stamp(5)), (None, None)]
    assert step.ended_at is None

    (step,) = told(journey.over("cancelled").events).steps
    assert [turn.end for turn in step.turns] == [LOST, LOST]
    assert step.ended_at == stamp(10)


def test_a_restart_begins_the_visits_anew_and_goes_back_nowhere() -> None:
    history = told(journeys.long(3).events)

    assert [step.restart for step in history.steps] == [0] * 4 + [1] * 4 + [2] * 4
    assert [step.number for step in history.steps] == list(range(1, 13))
    assert not any(step.returned for step in history.steps)


def test_a_plain_prompt_is_one_visit() -> None:
    journey = Journey(kind="prompt", recipe=None).prompt("What is this?").wait(3).reply("A shop.")
    (step,) = told(journey.over().events).steps

    assert (step.step, step.number, step.turns[0].text) == (PROMPT, 1, "A shop.")


def test_a_run_that_ended_before_its_first_step_keeps_its_question() -> None:
    journey = Journey().ask("q", "Start anyway?").wait(9).answer("q", "no").over("needs-user")
    (step,) = told(journey.events).steps

    assert (step.step, step.waited_seconds(BEGAN + 9)) == (BEFORE, 9)


def test_a_limit_question_that_stopped_the_run_belongs_to_its_last_step() -> None:
    journey = Journey().enter("fix").turn(2).leave("complete", "fix")
    journey.tell("limit.hit", limit="max-step-visits-exceeded:fix", count=3)
    journey.ask("q", "More?", kind="limit").wait(4).answer("q", "stop").over("guardrail")
    (step,) = told(journey.events).steps

    assert [note.text for note in step.notes] == ["max-step-visits-exceeded:fix (3)"]
    assert [question["answer"] for question in step.questions] == ["stop"]


def test_a_notice_that_comes_after_the_end_of_a_visit_belongs_to_it() -> None:
    history = told(journeys.stalled().events)

    noted = [(s.step, s.visit) for s in history.steps for n in s.notes if n.kind == STALLED]
    assert noted == [("review", 2)]
    assert told(Journey().tell("progress.stalled", step="x", visit=2, since=1).events).steps == []


def test_a_running_run_is_told_up_to_now_and_an_ended_one_to_its_end() -> None:
    journey = Journey().enter("fix").wait(3).prompt()
    assert told(journey.events).until(BEGAN + 60) == BEGAN + 60
    assert told(journey.over("error").events).until(BEGAN + 60) == BEGAN + 3


def test_events_of_a_newer_daemon_change_nothing() -> None:
    journey = journeys.short()
    told_of = as_json(told(journey.events))
    odd: list[dict[str, Any]] = [
        {"type": "moon.risen", "at": stamp(1), "data": {"step": 7}},
        {"type": "question.closed", "data": {"question_id": "of nobody"}},
        {"type": "turn.ended", "data": {"turn_id": "of nobody"}},
    ]

    assert as_json(told([*journey.events[:1], *odd, *journey.events[1:]])) == told_of


def test_as_data_a_visit_says_its_sums_beside_what_they_are_of() -> None:
    (step,) = as_json(told(journeys.short().events))

    sums = ("work_seconds", "waited_seconds", "still_seconds", "cost_usd")
    assert [step[name] for name in sums] == [62.0, 0.0, 0.0, 0.25]
    assert (step["began_at"], step["ended_at"]) == (stamp(0), stamp(62))
    assert [turn["end"] for turn in step["turns"]] == ["done"]


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        ({"answer": "yes"}, "answered yes on this machine, after 12 s"),
        ({"answer": "yes", "by": "phone"}, "answered yes by phone, after 12 s"),
        ({"answer": "no", "note": "later"}, "answered no on this machine, after 12 s: later"),
        ({"answer": None, "closed": "superseded"}, "withdrawn, after 12 s"),
    ],
)
def test_a_question_says_who_answered_what_and_when(closed: dict[str, Any], words: str) -> None:
    history = told(Journey().enter("fix").ask("q").wait(12).answer("q", **closed).events)

    assert answered(history.questions[0], history.until()) == words


def test_an_open_question_says_for_how_long() -> None:
    history = told(Journey().enter("fix").ask("q").events)

    assert answered(history.questions[0], history.until(BEGAN + 90)) == "open, for 1:30"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("needs-user", "Talk to the agent: podium prompt --session"),
        ("blocked", "Talk to the agent: podium prompt --session"),
        ("error", "Look closer: podium runs log"),
        ("guardrail", "A limit ended it"),
        ("checks-failed", "The whole output: /state/checks/1.log"),
        ("cancelled", "Run it again: podium run fix-it"),
    ],
)
def test_what_to_do_next_depends_on_how_it_ended(kind: str, says: str) -> None:
    journey = Journey().enter("fix").turn(2).check(1, False).over(kind)
    lines = advice(journey.run(kind), told(journey.events))

    assert any(line.startswith(says) for line in lines)
    assert lines[-1].startswith("Run it again: podium run fix-it --cwd ")


def test_nobody_is_sent_to_an_agent_that_was_never_there() -> None:
    """A gate before the first turn was declined: its session was never begun."""
    journey = Journey().over("needs-user")

    lines = advice(journey.run("needs-user", turns=0), told(journey.events))

    assert not any("--session" in line for line in lines)


def test_a_run_that_ended_well_needs_nothing() -> None:
    journey = journeys.short()

    assert advice(journey.run(), told(journey.events)) == []


def test_a_run_that_is_to_pause_says_how_it_does_not() -> None:
    journey = Journey().enter("fix")
    run = journey.run(exit=None, status="running", stop="pause")
    first, second = advice(run, told(journey.events))

    assert first.startswith("It will pause at the end") and "podium resume" in first
    assert "podium attach" in second


@pytest.mark.parametrize(
    ("status", "command"),
    [("paused", "podium resume"), ("parked", "podium resume"), ("running", "podium attach")],
)
def test_a_run_that_goes_on_says_how_to_go_with_it(status: str, command: str) -> None:
    journey = Journey().enter("fix")
    (line,) = advice(journey.run(exit=None, status=status), told(journey.events))

    assert command in line


def test_texts_that_no_prompt_carried_are_not_kept_quiet() -> None:
    journey = journeys.short()
    journey.events[-1]["data"]["undelivered"] = ["use\ntabs"]

    assert advice(journey.run(), told(journey.events)) == ["Not delivered: use tabs"]
