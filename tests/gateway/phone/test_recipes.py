"""Recipes from a phone: started, shown at every step, steered, ended, and never lost sight of."""

from __future__ import annotations

import uuid

import pytest

from tests.gateway.phone.office import Line, Office
from tests.runtime.harness import Machine
from tests.sessions.support import line as record

RESTARTING = """
format = 1
id = "again"
label = "Again"
description = "Goes on in a new session"
initial = "work"
[limits]
max_restarts = 1
[steps.work]
prompt = "Work."
[steps.work.on]
complete = { to = "@restart" }
nothing-left = { exit = "no-tasks-available" }
"""

TWO_STEPS = """
format = 1
id = "two"
label = "Two steps"
description = "Two"
initial = "one"
[steps.one]
prompt = "First."
[steps.one.on]
complete = { to = "other" }
[steps.other]
prompt = "Second."
session = "fresh"
[steps.other.on]
complete = { exit = "turn-complete" }
"""


def where(machine: Machine) -> dict[str, str]:
    return {"working_directory": str(machine.project)}


def started(line: Line) -> list[tuple[str, int]]:
    """The steps that were shown, each time with the number of steps so far."""
    return [(m["current_step"], m["step_count"]) for m in line.of("recipe_started")]


async def test_a_recipe_is_started_in_a_new_session_and_its_id_is_told(
    office: Office, machine: Machine, one: str
) -> None:
    line = await office.connected()
    line.say(
        "start_recipe", session_id=None, recipe_id=one, ios_session_id="ios-1", **where(machine)
    )
    await line.hears("ack")
    turn = await office.daemon.turn()
    told = [m for m in line.of("recipe_started") if m.get("ios_session_id")]
    assert [m["session_id"] for m in told] == [turn.request.session_id]
    assert told[0]["recipe_id"] == one and "max_total_steps" in told[0]
    assert told[0]["message"] == "Starting recipe 'One step'. First prompt: Do the work...."
    turn.complete()
    assert (await line.hears("recipe_exited"))["category"] == "completed"


async def test_a_recipe_is_started_in_the_session_of_the_id_that_the_app_chose(
    office: Office, machine: Machine, one: str
) -> None:
    line = await office.connected()
    mine = str(uuid.uuid4())
    line.say("start_recipe", session_id=mine, recipe_id=one, **where(machine))
    assert (await line.hears("recipe_started"))["session_id"] == mine
    assert (await office.daemon.turn()).request.session_id == mine


async def test_a_recipe_goes_on_in_a_session_that_is_there_in_its_own_directory(
    office: Office, machine: Machine, one: str
) -> None:
    known = str(uuid.uuid4())
    await office.record(known, record(1, cwd=str(machine.project)))
    line = await office.connected()
    line.say("start_recipe", session_id=known, recipe_id=one)
    assert (await line.hears("recipe_started"))["session_id"] == known
    assert (await office.daemon.turn()).request.working_directory == str(machine.project)


async def test_a_recipe_that_cannot_be_started_is_a_recipe_error(
    office: Office, machine: Machine, one: str
) -> None:
    """P-11.9: and an error, which is what the apps show."""
    cases = [
        ({"recipe_id": "none-such", "working_directory": "."}, "Recipe not found"),
        ({"recipe_id": "one"}, "A new session needs a working_directory."),
        ({"recipe_id": "one", "working_directory": "/nowhere/at/all"}, "/nowhere/at/all"),
    ]
    for fields, said in cases:
        given = fields | where(machine) if fields.get("working_directory") == "." else fields
        line = await office.connected()
        mine = str(uuid.uuid4())
        line.say("start_recipe", session_id=mine, **given)
        refused = await line.hears("recipe_error")
        assert refused["session_id"] == mine and said in refused["error"]
        await line.caught_up()
        assert line.of("recipe_started") == []
        shown = [] if said == "Recipe not found" else [(mine, refused["error"])]
        assert [(each["session_id"], each["message"]) for each in line.of("error")] == shown


async def test_a_busy_session_refuses_a_second_recipe_and_the_first_goes_on(
    office: Office, machine: Machine, one: str
) -> None:
    _, turn = await office.daemon.begun(one)
    line = await office.connected()
    line.say("start_recipe", session_id=turn.request.session_id, recipe_id=one, **where(machine))
    refused = await line.hears("recipe_error")
    shown = await line.hears("error")
    assert (shown["message"], shown["session_id"]) == (refused["error"], turn.request.session_id)
    turn.complete()
    await line.hears("recipe_exited")


async def test_every_step_is_shown_in_the_session_where_the_recipe_was_started(
    office: Office, machine: Machine
) -> None:
    """P-11.6."""
    machine.recipe(TWO_STEPS, "two")
    line = await office.connected()
    mine = str(uuid.uuid4())
    line.say("start_recipe", session_id=mine, recipe_id="two", **where(machine))
    (await office.daemon.turn()).complete()
    second = await office.daemon.turn()
    assert second.request.session_id != mine
    await line.until(lambda: ("other", 2) in started(line))
    second.complete()
    assert (await line.hears("recipe_exited"))["session_id"] == mine
    assert {m["session_id"] for m in line.of("recipe_started")} == {mine}
    moved = await line.hears("recipe_step_transition")
    assert (moved["from_step"], moved["to_step"]) == ("one", "other")


async def test_a_recipe_that_restarts_ends_in_its_session_and_starts_in_the_next(
    office: Office, machine: Machine
) -> None:
    machine.recipe(RESTARTING, "again")
    line = await office.connected()
    line.say("start_recipe", session_id=None, recipe_id="again", **where(machine))
    first = await office.daemon.turn()
    first.complete()
    second = await office.daemon.turn()
    left = await line.hears("recipe_exited")
    reached = (left["reason"], left["session_id"])
    assert reached == ("restart-new-session", first.request.session_id)
    now = second.request.session_id
    await line.until(lambda: line.of("recipe_started")[-1]["session_id"] == now)
    second.complete("nothing-left")
    over = await line.hears("recipe_exited", 2)
    assert (over["reason"], over["session_id"]) == ("no-tasks-available", now)


@pytest.mark.parametrize("allowed", [1, 2])
async def test_a_restart_too_many_ends_the_recipe_where_it_was_seen_last(
    office: Office, machine: Machine, allowed: int
) -> None:
    recipe = RESTARTING.replace("max_restarts = 1", f"max_restarts = {allowed}")
    machine.recipe(recipe, "again")
    _, key = await office.devices.pair(None)
    line = await office.connected(key)
    line.say("start_recipe", session_id=None, recipe_id="again", **where(machine))
    turns = [await office.daemon.turn()]
    for _ in range(allowed):
        turns[-1].complete()
        turns.append(await office.daemon.turn())
    turns[-1].complete()
    last = turns[-1].request.session_id
    over = await line.hears("recipe_exited", allowed + 1)
    assert (over["reason"], over["session_id"]) == ("max-restarts", last)
    assert over["category"] == "guardrail"
    assert (await line.hears("error"))["session_id"] == last
    line.hang_up()
    back = office.dial()
    back.say("connect", api_key=key)
    assert (await back.hears("recipe_exited"))["session_id"] == last


async def test_an_answer_that_cannot_be_read_is_told_each_time_and_then_that_it_was_enough(
    office: Office, one: str
) -> None:
    line = await office.connected()
    await office.daemon.start(one)
    for failed in range(1, 5):  # the first answer and three retries
        (await office.daemon.turn()).complete("gibberish")
        await line.hears("orchestration_retry", failed)
    await line.hears("recipe_exited")
    await line.until(lambda: line.sent[-1]["type"] == "error")
    errors = [m["error"] for m in line.of("recipe_error")]
    assert set(errors[:-1]) == {"Invalid JSON response from agent"}
    assert errors[-1] == "Max retries exceeded"
    over = line.of("recipe_exited")[0]
    assert (over["reason"], over["category"]) == ("orchestration-error", "error")
    assert over["error"]
    said = [m["message"] for m in line.of("error")]
    assert said[:-1] == errors and said[-1] not in errors


async def test_a_recipe_that_is_ended_says_so_when_its_session_is_free(
    office: Office, one: str
) -> None:
    """P-11.11, P-11.13."""
    _, turn = await office.daemon.begun(one)
    session = turn.request.session_id
    line = await office.connected()
    line.say("exit_recipe", session_id=session)
    over = await line.hears("recipe_exited")
    assert (over["reason"], over["session_id"]) == ("user-requested", session)
    line.say("prompt", text="plain again", resume_session_id=session)
    assert (await line.hears("ack"))["message"] == "Processing prompt..."


async def test_to_end_a_recipe_where_none_runs_is_answered_as_if_one_had(office: Office) -> None:
    """P-11.13."""
    line = await office.connected()
    session = str(uuid.uuid4())
    line.say("exit_recipe", session_id=session)
    over = await line.hears("recipe_exited")
    assert (over["session_id"], over["reason"]) == (session, "user-requested")


async def test_a_recipe_is_paused_and_goes_on(office: Office, machine: Machine) -> None:
    machine.recipe(TWO_STEPS, "two")
    _, turn = await office.daemon.begun("two")
    session = turn.request.session_id
    line = await office.connected()
    line.say("pause_recipe", session_id=session)
    turn.complete()
    assert (await line.hears("recipe_paused"))["session_id"] == session
    line.say("resume_recipe", session_id=session)
    assert (await line.hears("recipe_resumed"))["session_id"] == session
    (await office.daemon.turn()).complete()
    await line.hears("recipe_exited")


async def test_words_are_steered_into_the_turn(office: Office, one: str) -> None:
    _, turn = await office.daemon.begun(one)
    line = await office.connected()
    line.say("steer", session_id=turn.request.session_id, text="Mind the gap")
    assert (await line.hears("steer_result"))["state"] == "queued"
    assert list(turn.steers.values()) == ["Mind the gap"]


async def test_where_no_recipe_runs_there_is_nothing_to_steer(office: Office) -> None:
    cases = ["pause_recipe", "resume_recipe", "steer"]
    for kind in cases:
        line = await office.connected()
        session = str(uuid.uuid4())
        line.say(kind, session_id=session, text="x")
        refused = await line.hears("error")
        assert refused["session_id"] == session and "No recipe runs" in refused["message"]


async def test_recipes_are_offered_until_they_are_switched_off(
    office: Office, machine: Machine, one: str
) -> None:
    """P-11.14."""
    line, other = await office.connected(), await office.connected()
    line.say("get_available_recipes")
    assert one in [r["id"] for r in (await line.hears("available_recipes"))["recipes"]]
    line.say("set_orchestration", enabled=False)
    assert (await line.hears("available_recipes", 2))["recipes"] == []
    assert (await other.hears("available_recipes"))["recipes"] == []
    line.say("start_recipe", session_id=None, recipe_id=one, **where(machine))
    off = (await line.hears("recipe_error"))["error"]
    assert "off" in off and (await line.hears("error"))["message"] == off
    line.say("set_orchestration", enabled=True)
    assert (await line.hears("available_recipes", 3))["recipes"] != []


async def test_switched_off_in_the_middle_a_recipe_ends_when_its_turn_does(
    office: Office, one: str
) -> None:
    _, turn = await office.daemon.begun(one)
    line = await office.connected()
    line.say("set_orchestration", enabled=False)
    await line.hears("available_recipes")
    assert line.of("recipe_exited") == []
    turn.complete()
    over = await line.hears("recipe_exited")
    assert over["reason"] == "orchestration-disabled"
    assert turn.request.session_id == over["session_id"]


async def test_a_recipe_that_waits_before_its_first_step_is_shown_as_waiting(
    office: Office, machine: Machine, one: str
) -> None:
    machine.max_agents = 4
    line = await office.connected()
    holders = [await office.daemon.prompt(f"{n}") for n in range(4)]
    line.say("start_recipe", session_id=None, recipe_id=one, **where(machine))
    shown = await line.hears("recipe_started")
    assert shown["current_step"] == "queued" and shown["step_count"] == 1 and len(holders) == 4


async def test_a_recipe_for_which_the_queue_has_no_room_is_a_recipe_error(
    office: Office, machine: Machine, one: str
) -> None:
    machine.max_queued = 1
    line = await office.connected()
    for number in range(5):
        await office.daemon.prompt(f"{number}")
    mine = str(uuid.uuid4())
    line.say("start_recipe", session_id=mine, recipe_id=one, **where(machine))
    refused = await line.hears("recipe_error")
    assert refused["session_id"] == mine and "limits.max_queued" in refused["error"]
    assert line.of("recipe_started") == []
