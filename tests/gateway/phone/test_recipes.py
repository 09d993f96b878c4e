"""Recipes from a phone: started, shown at every step, steered, ended, and never lost sight of."""

from __future__ import annotations

import uuid

import pytest

from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
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


def started(client: PhoneClient) -> list[tuple[str, int]]:
    """The steps that were shown, each time with the number of steps so far."""
    return [(m["current_step"], m["step_count"]) for m in client.of("recipe_started")]


async def test_a_recipe_is_started_in_a_new_session_and_its_id_is_told(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    client = await server.connected()
    client.say(
        "start_recipe", session_id=None, recipe_id=one, ios_session_id="ios-1", **where(machine)
    )
    await client.hears("ack")
    turn = await server.daemon.turn()
    told = [m for m in client.of("recipe_started") if m.get("ios_session_id")]
    assert [m["session_id"] for m in told] == [turn.request.session_id]
    assert told[0]["recipe_id"] == one and "max_total_steps" in told[0]
    assert told[0]["message"] == "Starting recipe 'One step'. First prompt: Do the work...."
    turn.complete()
    assert (await client.hears("recipe_exited"))["category"] == "completed"


async def test_a_recipe_is_started_in_the_session_of_the_id_that_the_app_chose(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    client = await server.connected()
    mine = str(uuid.uuid4())
    client.say("start_recipe", session_id=mine, recipe_id=one, **where(machine))
    assert (await client.hears("recipe_started"))["session_id"] == mine
    assert (await server.daemon.turn()).request.session_id == mine


async def test_a_recipe_goes_on_in_a_session_that_is_there_in_its_own_directory(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    known = str(uuid.uuid4())
    await server.record(known, record(1, cwd=str(machine.project)))
    client = await server.connected()
    client.say("start_recipe", session_id=known, recipe_id=one)
    assert (await client.hears("recipe_started"))["session_id"] == known
    assert (await server.daemon.turn()).request.working_directory == str(machine.project)


async def test_a_recipe_that_cannot_be_started_is_a_recipe_error(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    """P-11.9: and an error, which is what the apps show."""
    cases = [
        ({"recipe_id": "none-such", "working_directory": "."}, "Recipe not found"),
        ({"recipe_id": "one"}, "A new session needs a working_directory."),
        ({"recipe_id": "one", "working_directory": "/nowhere/at/all"}, "/nowhere/at/all"),
    ]
    for fields, said in cases:
        given = fields | where(machine) if fields.get("working_directory") == "." else fields
        client = await server.connected()
        mine = str(uuid.uuid4())
        client.say("start_recipe", session_id=mine, **given)
        refused = await client.hears("recipe_error")
        assert refused["session_id"] == mine and said in refused["error"]
        await client.caught_up()
        assert client.of("recipe_started") == []
        shown = [] if said == "Recipe not found" else [(mine, refused["error"])]
        assert [(each["session_id"], each["message"]) for each in client.of("error")] == shown


async def test_a_busy_session_refuses_a_second_recipe_and_the_first_goes_on(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    _, turn = await server.daemon.begun(one)
    client = await server.connected()
    client.say("start_recipe", session_id=turn.request.session_id, recipe_id=one, **where(machine))
    refused = await client.hears("recipe_error")
    shown = await client.hears("error")
    assert (shown["message"], shown["session_id"]) == (refused["error"], turn.request.session_id)
    turn.complete()
    await client.hears("recipe_exited")


async def test_every_step_is_shown_in_the_session_where_the_recipe_was_started(
    server: PhoneServer, machine: Machine
) -> None:
    """P-11.6."""
    machine.recipe(TWO_STEPS, "two")
    client = await server.connected()
    mine = str(uuid.uuid4())
    client.say("start_recipe", session_id=mine, recipe_id="two", **where(machine))
    (await server.daemon.turn()).complete()
    second = await server.daemon.turn()
    assert second.request.session_id != mine
    await client.until(lambda: ("other", 2) in started(client))
    second.complete()
    assert (await client.hears("recipe_exited"))["session_id"] == mine
    assert {m["session_id"] for m in client.of("recipe_started")} == {mine}
    moved = await client.hears("recipe_step_transition")
    assert (moved["from_step"], moved["to_step"]) == ("one", "other")


async def test_a_recipe_that_restarts_ends_in_its_session_and_starts_in_the_next(
    server: PhoneServer, machine: Machine
) -> None:
    machine.recipe(RESTARTING, "again")
    client = await server.connected()
    client.say("start_recipe", session_id=None, recipe_id="again", **where(machine))
    first = await server.daemon.turn()
    first.complete()
    second = await server.daemon.turn()
    left = await client.hears("recipe_exited")
    reached = (left["reason"], left["session_id"])
    assert reached == ("restart-new-session", first.request.session_id)
    now = second.request.session_id
    await client.until(lambda: client.of("recipe_started")[-1]["session_id"] == now)
    second.complete("nothing-left")
    over = await client.hears("recipe_exited", 2)
    assert (over["reason"], over["session_id"]) == ("no-tasks-available", now)


@pytest.mark.parametrize("allowed", [1, 2])
async def test_a_restart_too_many_ends_the_recipe_where_it_was_seen_last(
    server: PhoneServer, machine: Machine, allowed: int
) -> None:
    recipe = RESTARTING.replace("max_restarts = 1", f"max_restarts = {allowed}")
    machine.recipe(recipe, "again")
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    client.say("start_recipe", session_id=None, recipe_id="again", **where(machine))
    turns = [await server.daemon.turn()]
    for _ in range(allowed):
        turns[-1].complete()
        turns.append(await server.daemon.turn())
    turns[-1].complete()
    last = turns[-1].request.session_id
    over = await client.hears("recipe_exited", allowed + 1)
    assert (over["reason"], over["session_id"]) == ("max-restarts", last)
    assert over["category"] == "guardrail"
    assert (await client.hears("error"))["session_id"] == last
    client.hang_up()
    back = server.dial()
    back.say("connect", api_key=key)
    assert (await back.hears("recipe_exited"))["session_id"] == last


async def test_an_answer_that_cannot_be_read_is_told_each_time_and_then_that_it_was_enough(
    server: PhoneServer, one: str
) -> None:
    client = await server.connected()
    await server.daemon.start(one)
    for failed in range(1, 5):  # the first answer and three retries
        (await server.daemon.turn()).complete("gibberish")
        await client.hears("orchestration_retry", failed)
    await client.hears("recipe_exited")
    await client.until(lambda: client.sent[-1]["type"] == "error")
    errors = [m["error"] for m in client.of("recipe_error")]
    assert set(errors[:-1]) == {"Invalid JSON response from agent"}
    assert errors[-1] == "Max retries exceeded"
    over = client.of("recipe_exited")[0]
    assert (over["reason"], over["category"]) == ("orchestration-error", "error")
    assert over["error"]
    said = [m["message"] for m in client.of("error")]
    assert said[:-1] == errors and said[-1] not in errors


async def test_a_recipe_that_is_ended_says_so_when_its_session_is_free(
    server: PhoneServer, one: str
) -> None:
    """P-11.11, P-11.13."""
    _, turn = await server.daemon.begun(one)
    session = turn.request.session_id
    client = await server.connected()
    client.say("exit_recipe", session_id=session)
    over = await client.hears("recipe_exited")
    assert (over["reason"], over["session_id"]) == ("user-requested", session)
    client.say("prompt", text="plain again", resume_session_id=session)
    assert (await client.hears("ack"))["message"] == "Processing prompt..."


async def test_to_end_a_recipe_where_none_runs_is_answered_as_if_one_had(
    server: PhoneServer,
) -> None:
    """P-11.13."""
    client = await server.connected()
    session = str(uuid.uuid4())
    client.say("exit_recipe", session_id=session)
    over = await client.hears("recipe_exited")
    assert (over["session_id"], over["reason"]) == (session, "user-requested")


async def test_a_recipe_is_paused_and_goes_on(server: PhoneServer, machine: Machine) -> None:
    machine.recipe(TWO_STEPS, "two")
    _, turn = await server.daemon.begun("two")
    session = turn.request.session_id
    client = await server.connected()
    client.say("pause_recipe", session_id=session)
    turn.complete()
    assert (await client.hears("recipe_paused"))["session_id"] == session
    client.say("resume_recipe", session_id=session)
    assert (await client.hears("recipe_resumed"))["session_id"] == session
    (await server.daemon.turn()).complete()
    await client.hears("recipe_exited")


async def test_words_are_steered_into_the_turn(server: PhoneServer, one: str) -> None:
    _, turn = await server.daemon.begun(one)
    client = await server.connected()
    client.say("steer", session_id=turn.request.session_id, text="Mind the gap")
    assert (await client.hears("steer_result"))["state"] == "queued"
    assert list(turn.steers.values()) == ["Mind the gap"]


async def test_where_no_recipe_runs_there_is_nothing_to_steer(server: PhoneServer) -> None:
    cases = ["pause_recipe", "resume_recipe", "steer"]
    for kind in cases:
        client = await server.connected()
        session = str(uuid.uuid4())
        client.say(kind, session_id=session, text="x")
        refused = await client.hears("error")
        assert refused["session_id"] == session and "No recipe runs" in refused["message"]


async def test_recipes_are_offered_until_they_are_switched_off(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    """P-11.14."""
    client, other = await server.connected(), await server.connected()
    client.say("get_available_recipes")
    assert one in [r["id"] for r in (await client.hears("available_recipes"))["recipes"]]
    client.say("set_orchestration", enabled=False)
    assert (await client.hears("available_recipes", 2))["recipes"] == []
    assert (await other.hears("available_recipes"))["recipes"] == []
    client.say("start_recipe", session_id=None, recipe_id=one, **where(machine))
    off = (await client.hears("recipe_error"))["error"]
    assert "off" in off and (await client.hears("error"))["message"] == off
    client.say("set_orchestration", enabled=True)
    assert (await client.hears("available_recipes", 3))["recipes"] != []


async def test_switched_off_in_the_middle_a_recipe_ends_when_its_turn_does(
    server: PhoneServer, one: str
) -> None:
    _, turn = await server.daemon.begun(one)
    client = await server.connected()
    client.say("set_orchestration", enabled=False)
    await client.hears("available_recipes")
    assert client.of("recipe_exited") == []
    turn.complete()
    over = await client.hears("recipe_exited")
    assert over["reason"] == "orchestration-disabled"
    assert turn.request.session_id == over["session_id"]


async def test_a_recipe_that_waits_before_its_first_step_is_shown_as_waiting(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    machine.max_agents = 4
    client = await server.connected()
    holders = [await server.daemon.prompt(f"{n}") for n in range(4)]
    client.say("start_recipe", session_id=None, recipe_id=one, **where(machine))
    shown = await client.hears("recipe_started")
    assert shown["current_step"] == "queued" and shown["step_count"] == 1 and len(holders) == 4


async def test_a_recipe_for_which_the_queue_has_no_room_is_a_recipe_error(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    machine.max_queued = 1
    client = await server.connected()
    for number in range(5):
        await server.daemon.prompt(f"{number}")
    mine = str(uuid.uuid4())
    client.say("start_recipe", session_id=mine, recipe_id=one, **where(machine))
    refused = await client.hears("recipe_error")
    assert refused["session_id"] == mine and "limits.max_queued" in refused["error"]
    assert client.of("recipe_started") == []
