"""A home that 51073c6 has left opens and goes on: its gate, its conversation, its cut-off turns.

That daemon was killed (kill -9) while the native agent ran a command and another agent, a process
of its own, was at work, which was killed with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.recorded import scenario
from tests.recorded.connection import Json
from tests.recorded.contents import CALC, SESSION
from tests.recorded.earlier import ARCHIVE, unpacked
from tests.recorded.world import World, lived_in, put_programs


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The home with its daemon: each test goes on with another of its runs."""
    with unpacked() as home:
        put_programs(home)
        with lived_in(home) as made:
            made.record("runs.list")
            yield made


def run_in(world: World, project: str) -> Json:
    """The one run of a recipe in a project."""
    listed: list[Json] = world.main.call("runs.list")["result"]
    [found] = [run for run in listed if run["working_directory"] == world.project(project)]
    return found


def prompt_of(world: World, agent: str) -> str:
    """The id of the plain prompt that an agent had."""
    while True:
        for event in world.events:
            started = event["data"] if event["type"] == "run.started" else {}
            if (started.get("kind"), started.get("agent")) == ("prompt", agent):
                return str(event["run_id"])
        world.listen()


def exit_of(world: World, run_id: str) -> str:
    """The reason that a run ends with, once it has."""
    return str(world.until(run_id, "run.ended")["exit"]["reason"])


def test_what_was_there_is_there(world: World) -> None:
    [first] = world.answers["runs.list"]
    assert [(run["recipe"], run["status"]) for run in first["result"]] == [
        ("outside", "running"),
        ("name-it", "waiting"),
        ("note", "waiting"),
        ("note", "ended"),
    ]
    [device] = world.main.call("gateway.devices")["result"]
    assert (device["device"], device["last_seen"]) == ("A phone", None)
    page = world.main.call("sessions.messages", session_id=SESSION)["result"]
    assert [message["seq"] for message in page["messages"]] == [1, 2, 3, 4]
    assert run_in(world, "shop")["exit"]["reason"] == "changes-committed"
    assert [one["earlier"] for one in world.daemon.logged("Lifted facts.db")] == [
        "facts.db.schema-2"
    ]


def test_a_gate_is_answered_and_a_conversation_goes_on(world: World) -> None:
    gate, talk = run_in(world, "gate"), run_in(world, "talk")
    [question] = world.main.call("questions.list")["result"]
    assert (question["run_id"], question["text"]) == (gate["run_id"], "Commit the note?")
    world.main.call("questions.answer", question_id=question["question_id"], answer="yes")
    assert exit_of(world, gate["run_id"]) == "changes-committed"

    said = world.main.call("sessions.prompt", text="I like Mia.", session_id=talk["session_id"])
    assert said["result"]["delivery"] == "phase"
    assert exit_of(world, talk["run_id"]) == "conversation-complete"
    whole = world.main.call("runs.get", run_id=talk["run_id"])["result"]
    assert whole["ctx"] == {"about": "A cat", "names": ["Mia"]}


def test_the_native_turn_that_was_cut_off_goes_on_with_its_next_action(world: World) -> None:
    run_id = prompt_of(world, "native")
    assert exit_of(world, run_id) == "turn-complete"
    told = [event for event in world.events if event["run_id"] == run_id and "seq" in event]
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    ended = [event["data"]["result"] for event in told if event["type"] == "action.ended"]
    assert [(one["action"], one["success"]) for one in ended] == [
        ("read_file", True),
        ("patch", True),
        ("run_command", False),
        ("done", True),
    ]
    assert "unknown outcome" in ended[2]["message"]
    assert (world.home / "calc" / "calc.py").read_text() == CALC.replace("-", "+")


def test_the_agent_that_died_is_started_anew_for_the_same_turn(world: World) -> None:
    run_id = run_in(world, "outside")["run_id"]
    first = world.until(run_id, "turn.started")
    door = world.held("outside")
    again = world.until(run_id, "turn.started", lambda data: data != first)
    assert again["turn_id"] == first["turn_id"]
    scenario.report(world)
    os.close(door)
    assert exit_of(world, run_id) == "no-tasks-available"


def test_the_archive_is_small() -> None:
    assert ARCHIVE.stat().st_size < 300_000
