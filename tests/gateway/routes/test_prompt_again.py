"""``POST /v1/prompt`` when callers ask again, or hang up."""

from __future__ import annotations

import trio

from tests.gateway.harness import wait_until
from tests.gateway.routes.client import Asking
from tests.gateway.routes.station import Station
from tests.patience import HANG_SECONDS
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine


async def test_the_same_key_gets_what_the_first_request_came_to_and_sends_nothing(
    station: Station,
) -> None:
    """First while it runs, then when it is over; whether it waits is no part of what is asked."""
    body = {"text": "Hi", "working_directory": station.where}
    key = {"Idempotency_Key": "4f0d7a52-0000-4000-8000-000000000001"}
    first = (await station.post("/v1/prompt", {**body, "wait": False}, **key)).json
    turn = await station.daemon.turn()
    again = await station.post("/v1/prompt", {**body, "wait": 0.01}, **key)
    assert (again.status, again.json["run_id"]) == (202, first["run_id"])
    turn.end(done(text="Hello."))
    for wait in (True, False, 5):
        later = await station.post("/v1/prompt", {**body, "wait": wait}, **key)
        assert (later.status, later.json["text"]) == (200, "Hello.")
        assert later.json["turn_id"] == first["turn_id"]
    assert len(station.daemon.machine.agent.turns) == 1


async def test_a_key_is_for_one_request_of_one_device(station: Station) -> None:
    body = {"text": "Hi", "working_directory": station.where, "wait": False}
    key = {"Idempotency_Key": "k1"}
    first = (await station.post("/v1/prompt", body, **key)).json
    told = (await station.post("/v1/prompt", {**body, "text": "Ho"}, **key)).problem(422)
    assert told["parameter"] == "Idempotency-Key" and "take a new one" in told["detail"]
    other = await station.other("other")
    assert (await other.post("/v1/prompt", body, **key)).json["run_id"] != first["run_id"]


def _either(machine: Machine, number: int) -> tuple[object, object]:
    """A prompt and a recipe, for a directory of their own each."""
    recipe = machine.one_step()
    places = [str(machine.directory(f"{kind}{number}")) for kind in "pr"]
    prompt = {"text": "Hi", "working_directory": places[0], "wait": False}
    return prompt, {"recipe": recipe, "working_directory": places[1], "wait": False}


async def test_a_key_is_for_a_prompt_or_for_a_recipe(station: Station, machine: Machine) -> None:
    for number in range(2):
        pair = _either(machine, number)
        key = {"Idempotency_Key": f"k{number}"}
        first = await station.post("/v1/prompt", pair[number], **key)
        assert first.status == 202
        told = (await station.post("/v1/prompt", pair[1 - number], **key)).problem(422)
        assert told["parameter"] == "Idempotency-Key" and "take a new one" in told["detail"]
        again = (await station.post("/v1/prompt", pair[number], **key)).json
        assert again["run_id"] == first.json["run_id"]
        (await station.daemon.turn()).complete()


async def test_a_prompt_and_a_recipe_of_one_key_at_once_are_one_of_them(
    station: Station, machine: Machine
) -> None:
    async with trio.open_nursery() as nursery:
        pair = _either(machine, 0)
        both = [Asking(nursery, station, each, Idempotency_Key="k") for each in pair]
        told = sorted([(await one.answer()).status for one in both])
    assert told == [202, 422]
    (await station.daemon.turn()).complete()


async def test_a_caller_that_hangs_up_is_waited_for_no_longer_and_its_prompt_goes_on(
    station: Station,
) -> None:
    body, key = {"text": "Hi", "working_directory": station.where}, {"Idempotency_Key": "k"}
    async with trio.open_nursery() as nursery:
        Asking(nursery, station, body, **key)
        turn = await station.daemon.turn()
        assert station.office.devices.list()[0].connected
        nursery.cancel_scope.cancel()
    with trio.fail_after(HANG_SECONDS):
        await wait_until(lambda: not station.office.devices.list()[0].connected)
    async with trio.open_nursery() as nursery:
        asking = Asking(nursery, station, body, **key)
        turn.end(done(text="All the same."))
        assert (await asking.answer()).json["text"] == "All the same."
    assert len(station.daemon.machine.agent.turns) == 1


async def test_an_impossible_key_is_refused(station: Station) -> None:
    cases = ["", "x" * 201, "two words", "k1, k2", "tab\tbed"]
    for key in cases:
        body = {"text": "Hi", "working_directory": station.where}
        (await station.post("/v1/prompt", body, Idempotency_Key=key)).problem(400)
        assert station.daemon.machine.agent.turns == []


async def test_two_requests_of_one_key_at_once_are_one_prompt(station: Station) -> None:
    async with trio.open_nursery() as nursery:
        body = {"text": "Hi", "working_directory": station.where}
        both = [Asking(nursery, station, body, Idempotency_Key="k1") for _ in range(2)]
        (await station.daemon.turn()).end(done(text="Once."))
        told = [(await one.answer()).json for one in both]
    assert told[0] == told[1] and len(station.daemon.machine.agent.turns) == 1
