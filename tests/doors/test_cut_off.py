"""A request whose daemon was killed: made again with its key, it sends nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.doors.house import House
from tests.gateway.routes.client import HungUp

RECIPE = """
initial = "work"

[steps.work]
prompt = "Hang on."

[steps.work.on]
complete = { exit = "turn-complete" }
"""
KEY = {"Idempotency_Key": "6e1b1c1e-4c5f-4e53-8d0a-1f2f6f0a9b11"}


def body(house: House, text: str, **fields: Any) -> dict[str, Any]:
    return {
        "text": text,
        "agent": "scripted",
        "working_directory": str(house.project),
        **fields,
    }


def played(house: House) -> list[str]:
    """How often the agent did what it was asked."""
    return (house.project / "played").read_text().splitlines()


async def test_an_answer_that_was_given_is_given_again_after_a_kill(house: House) -> None:
    asked = body(house, "Count this")
    first = await house.mine.post("/v1/prompt", asked, **KEY)
    assert (first.status, first.json["text"]) == (200, "Counted.")
    for _ in range(2):
        await house.podium.restart()
        await house.come_back()
        again = await house.mine.post("/v1/prompt", asked, **KEY)
        assert (again.status, again.json) == (200, first.json)
    assert played(house) == ["played"]


async def test_a_request_killed_in_the_middle_gets_the_end_of_the_same_turn(house: House) -> None:
    asked = body(house, "Hang on")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cut_off, house, asked)
        async with house.gate():
            before = await house.mine.post("/v1/prompt", {**asked, "wait": 0}, **KEY)
            assert before.status == 202
            await house.podium.kill9()
    await house.podium.start()
    await house.come_back()
    after = await house.mine.post("/v1/prompt", asked, **KEY)
    assert (after.status, after.json["status"]) == (200, "ended")
    assert after.json["run_id"] == before.json["run_id"]
    assert played(house) == ["played"]


async def _cut_off(house: House, asked: dict[str, Any]) -> None:
    with pytest.raises(HungUp):
        await house.mine.post("/v1/prompt", asked, **KEY)


async def test_words_for_a_recipe_are_delivered_once_though_the_daemon_is_killed(
    house: House,
) -> None:
    recipe = house.podium.machine.recipe("hang", RECIPE)
    run = await house.podium.rpc(
        "runs.start", recipe=recipe, working_directory=str(house.project), agent="scripted"
    )
    asked = {"text": "Mind the tests.", "session_id": run["session_id"]}
    async with house.gate():
        first = await house.mine.post("/v1/prompt", asked, **KEY)
        assert (first.status, first.json["status"]) == (200, "delivered")
        await house.podium.kill9()
    await house.podium.start()
    await house.come_back()
    again = await house.mine.post("/v1/prompt", asked, **KEY)
    assert (again.status, again.json) == (200, first.json)
    answer = await house.podium.rpc("runs.events", run_id=run["run_id"], after_seq=0)
    steers = [event for event in answer["events"] if event["type"] == "steer.intended"]
    assert [event["data"]["text"] for event in steers] == ["Mind the tests."]


async def test_a_key_of_before_the_kill_is_still_refused_for_another_request(
    house: House,
) -> None:
    await house.mine.post("/v1/prompt", body(house, "Count this"), **KEY)
    await house.podium.restart()
    await house.come_back()
    answer = await house.mine.post("/v1/prompt", body(house, "Count this again"), **KEY)
    assert answer.problem(422)["parameter"] == "Idempotency-Key"
    assert played(house) == ["played"]


async def test_a_device_that_was_revoked_stays_so_after_a_kill(house: House) -> None:
    key = await house.revoked("lost")
    await house.podium.restart()
    await house.come_back()
    assert (await house.mine.get("/metrics", authorization=f"Bearer {key}")).status == 401
    assert (await house.mine.get("/metrics")).status == 200
