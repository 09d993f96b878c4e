"""What is said of a run's visits, and of what a person does next."""

from __future__ import annotations

from typing import Any

import pytest

from podium.render.history import History, Visits, as_json
from podium.render.run_words import advice, answered
from podium.rpc import follow
from tests.client import journeys
from tests.client.histories import page_of, told
from tests.client.journeys import Journey, stamp


def test_a_note_of_a_newer_daemon_is_called_as_its_event() -> None:
    history = told(Journey().enter("fix").tell("limit.hit", limit="max-moons", count=2).events)
    history.steps[0]["notes"].append({"at": stamp(1), "type": "moon.risen", "data": {"step": 7}})

    (step,) = as_json(history)
    assert [(note["kind"], note["text"]) for note in step["notes"]] == [
        ("limit", "max-moons (2)"),
        ("moon.risen", ""),
    ]


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

    assert answered(history.questions[0], history.until) == words


def test_an_open_question_says_for_how_long() -> None:
    history = told(Journey().enter("fix").ask("q").events, stamp(90))

    assert answered(history.questions[0], history.until) == "open, for 1:30"


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


def in_parts() -> tuple[Any, list[Any]]:
    """A history in one page, and in pages of which the second begins within its visit."""
    whole = page_of(Journey().enter("talk").turn(2).turn(3).leave("complete").over().events)
    (visit,) = whole["visits"]
    head = {name: value for name, value in visit.items() if not isinstance(value, list)}
    open_head = head | {"outcome": None, "ended_at": None, "to": None, "exit": None}
    lists: dict[str, list[Any]] = {
        name: [] for name, value in visit.items() if isinstance(value, list)
    }
    first, second = ({**lists, "turns": [turn]} for turn in visit["turns"])
    none = dict.fromkeys(visit["tokens"], 0)
    first |= open_head | {"work_seconds": 2.0, "cost_usd": 0.0, "tokens": none}
    second |= head | {"work_seconds": 3.0, "cost_usd": visit["cost_usd"]}
    within = {**whole["next"], "seq": 5, "visit": open_head}
    return whole, [
        {**whole, "visits": [first], "next": within, "complete": False},
        {**whole, "started": None, "visits": [second]},
    ]


def test_a_visit_that_came_in_parts_is_one() -> None:
    whole, pages = in_parts()
    assert History(pages).steps == History([whole]).steps


def test_who_follows_is_told_of_a_visit_in_parts_once_and_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where it was looked at while it went on, and more came to it once it was over."""
    whole, (first, second) = in_parts()
    goes_on = {**second, "visits": [], "next": first["next"]}
    late = {**second, "visits": [{**second["visits"][0], "turns": [], "work_seconds": 0.0}]}
    asked: list[Any] = []
    answers = [first, goes_on, second, late, late]

    def certain(_method: str, params: Any) -> Any:
        asked.append(params["after"])
        return answers.pop(0)

    monkeypatch.setattr(follow, "certain", certain)
    visits = Visits("run-1")
    assert visits.next() is None
    assert visits.next() == whole["visits"][0]
    assert list(visits.rest()) == []
    assert asked == [None, first["next"], first["next"], second["next"], second["next"]]
