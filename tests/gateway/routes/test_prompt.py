"""``POST /v1/prompt``: words in, an answer out, at once or after a while."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from podiumd.core.reply.report import TurnReport
from tests.gateway.harness import wait_until
from tests.gateway.routes.client import Asking
from tests.gateway.routes.station import Station
from tests.patience import HANG_SECONDS
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine

TASK = '[params.task]\ntype = "string"\n'
OPTIONAL = '[params.{name}]\ntype = "string"\ndefault = ""\n'


async def test_the_answer_is_waited_for(station: Station) -> None:
    async with trio.open_nursery() as nursery:
        body = {"text": "What is this?", "working_directory": station.where}
        asking = Asking(nursery, station, body)
        turn = await station.daemon.turn()
        assert turn.prompt == "What is this?" and asking.waits
        turn.end(done(text="A project."))
        answer = await asking.answer()
    told = answer.json
    assert answer.status == 200
    assert set(told) == {
        *("session_id", "turn_id", "run_id", "delivery", "status"),
        *("text", "exit", "cost_usd", "tokens", "started_at", "ended_at"),
    }
    assert (told["text"], told["status"], told["delivery"]) == ("A project.", "ended", "sent")
    assert told["session_id"] == turn.request.session_id
    assert told["exit"]["reason"] == "turn-complete"


async def test_a_session_goes_on_where_it_is_named(station: Station) -> None:
    body = {"text": "Hi", "working_directory": station.where, "wait": False}
    first = (await station.post("/v1/prompt", body)).json
    (await station.daemon.turn()).end(done(text="Hello."))
    await station.daemon.service.run_gone(first["run_id"])
    async with trio.open_nursery() as nursery:
        asking = Asking(nursery, station, {"text": "And?", "session_id": first["session_id"]})
        turn = await station.daemon.turn()
        assert (turn.request.session_id, turn.prompt) == (first["session_id"], "And?")
        turn.end(done(text="That is all."))
        assert (await asking.answer()).json["text"] == "That is all."


@pytest.mark.parametrize("wait", [False, 0, 0.01])
async def test_who_does_not_wait_so_long_is_told_that_it_goes_on(
    station: Station, wait: float
) -> None:
    body = {"text": "Hi", "working_directory": station.where, "wait": wait}
    answer = await station.post("/v1/prompt", body)
    told = answer.json
    assert (answer.status, told["questions"]) == (202, [])
    assert told["status"] in {"queued", "running"} and "text" not in told
    (await station.daemon.turn()).complete()


async def test_a_turn_that_fails_is_answered_with_how_it_ended(station: Station) -> None:
    async with trio.open_nursery() as nursery:
        asking = Asking(nursery, station, {"text": "Hi", "working_directory": station.where})
        turn = await station.daemon.turn()
        turn.end(TurnReport(kind="api_error", detail="no credit", prompt_recorded=True))
        answer = await asking.answer()
    told = answer.json
    assert (answer.status, told["status"], told["exit"]["category"]) == (200, "ended", "error")
    assert told["exit"]["message"] and told["text"] == ""


async def test_a_prompt_that_is_cancelled_is_answered_as_one_and_not_as_a_recipe(
    station: Station,
) -> None:
    async with trio.open_nursery() as nursery:
        asking = Asking(nursery, station, {"text": "Hi", "working_directory": station.where})
        await station.daemon.turn()
        (run,) = await station.daemon.store.runs(limit=1)
        await station.daemon.service.cancel(run.run_id)
        told = (await asking.answer()).json
    assert told["exit"]["class"] == "cancelled"
    assert told["exit"]["message"] == "The prompt was cancelled"


async def test_words_for_a_recipe_go_into_its_turn(station: Station, machine: Machine) -> None:
    _, turn = await station.daemon.begun(machine.one_step())
    async with trio.open_nursery() as nursery:
        body = {"text": "Mind the tests.", "session_id": turn.request.session_id}
        asking = Asking(nursery, station, body)
        turn.begins_with(await turn.steered())
        told = (await asking.answer()).json
    assert (told["status"], told["delivery"]) == ("delivered", "steered")
    assert list(turn.steers.values()) == ["Mind the tests."]
    turn.complete()


async def test_the_same_key_steers_a_recipe_once(station: Station, machine: Machine) -> None:
    """While the recipe runs, and when it is over: then it would begin a prompt of its own."""
    run_id, turn = await station.daemon.begun(machine.one_step())
    body = {"text": "Mind the tests.", "session_id": turn.request.session_id}
    key = {"Idempotency_Key": "k1"}
    async with trio.open_nursery() as nursery:
        asking = Asking(nursery, station, body, **key)
        turn.begins_with(await turn.steered())
        first = (await asking.answer()).json
    again = (await station.post("/v1/prompt", body, **key)).json
    assert again == first
    turn.complete()
    await station.daemon.ended(run_id)
    later = await station.post("/v1/prompt", body, **key)
    assert (later.status, later.json["status"]) == (200, "delivered")
    assert later.json["run_id"] == run_id
    assert len(turn.steers) == 1 and len(machine.agent.turns) == 1


async def test_words_for_a_session_that_a_prompt_holds_wait_in_line(station: Station) -> None:
    first = await station.daemon.prompt("Wait.")
    turn = await station.daemon.turn()
    body = {"text": "Then this.", "session_id": first["session_id"], "wait": False}
    told = (await station.post("/v1/prompt", body)).json
    assert (told["status"], told["delivery"]) == ("queued", "queued")
    turn.complete()
    assert (await station.daemon.turn()).prompt == "Then this."


async def test_a_recipe_gets_the_text_as_its_one_parameter_of_text(
    station: Station, machine: Machine
) -> None:
    recipe = machine.one_step(top=TASK + '[params.count]\ntype = "integer"\ndefault = 1\n')
    async with trio.open_nursery() as nursery:
        body = {"recipe": recipe, "text": "Do it", "working_directory": station.where}
        asking = Asking(nursery, station, body, Idempotency_Key="k1")
        turn = await station.daemon.turn()
        assert asking.waits
        turn.complete()
        told = (await asking.answer()).json
    assert (told["status"], told["exit"]["reason"]) == ("ended", "turn-complete")
    assert told["delivery"] == "started" and "text" not in told
    run = await station.daemon.service.get_run(told["run_id"])
    assert run.params["task"] == "Do it" and run.session_id == told["session_id"]
    again = (await station.post("/v1/prompt", body, Idempotency_Key="k1")).json
    assert again == told and len(machine.agent.turns) == 1


async def test_a_recipe_can_have_its_parameters_by_name_and_be_in_a_session(
    station: Station, machine: Machine
) -> None:
    first = await station.daemon.prompt()
    (await station.daemon.turn()).complete()
    await station.daemon.service.run_gone(first["run_id"])
    known = first["session_id"]
    await station.server.record(known, _record(known, station.where))
    recipe = machine.one_step(top=TASK + OPTIONAL.format(name="note"))
    body = {
        "recipe": recipe,
        "params": {"task": "This"},
        "text": "A note",
        "session_id": known,
        "wait": False,
    }
    told = (await station.post("/v1/prompt", body)).json
    turn = await station.daemon.turn()
    assert turn.request.session_id == known == told["session_id"]
    run = await station.daemon.service.get_run(told["run_id"])
    assert run.params == {"task": "This", "note": "A note"}
    assert run.working_directory == station.where
    turn.complete()


async def test_text_that_has_no_one_place_in_a_recipe_is_refused(
    station: Station, machine: Machine
) -> None:
    cases = [("", "(none)"), (TASK + OPTIONAL.format(name="note"), "('task', 'note')")]
    for top, words in cases:
        recipe = machine.one_step(top=top)
        body = {"recipe": recipe, "text": "Do it", "working_directory": station.where}
        told = (await station.post("/v1/prompt", body)).problem(422)
        assert words in told["detail"] and told["parameter"] == "text"


async def test_a_recipe_that_waits_for_a_person_says_what_it_asks(
    station: Station, machine: Machine
) -> None:
    recipe = machine.one_step("gated", step='gate = "Go on?"')
    run_id, _ = await station.daemon.waiting(recipe)
    run = await station.daemon.service.get_run(run_id)
    answer = await station.post(
        "/v1/prompt", {"recipe": recipe, "working_directory": station.where, "wait": 0}
    )
    told = answer.problem(409)
    assert told["holder"]["id"] == run_id and run.status == "waiting"
    await station.daemon.answer(run_id, "no")
    await station.daemon.ended(run_id)
    key = {"Idempotency_Key": "k1"}
    body = {"recipe": recipe, "working_directory": station.where, "wait": False}
    begun = (await station.post("/v1/prompt", body, **key)).json
    await station.daemon.question(begun["run_id"])
    told = (await station.post("/v1/prompt", body, **key)).json
    assert (told["status"], told["questions"][0]["text"]) == ("waiting", "Go on?")


async def test_what_cannot_be_done_is_refused_in_words(station: Station) -> None:
    cases = [
        (b"", 400, None, "not valid JSON"),
        (b"[]", 400, None, "a JSON object"),
        (b'"\\ud800"', 400, None, ""),
        (b"{}", 422, "text", "empty"),
        (b'{"text": " \\n"}', 422, "text", "empty"),
        (b'{"text": "a\\u0000b"}', 422, "text", "without NUL"),
        (b'{"text": 5}', 422, "text", "got the number 5"),
        (b'{"text": "Hi", "txet": 1}', 422, "txet", "no field 'txet'"),
        (b'{"text": "Hi"}', 422, "working_directory", "working directory"),
        (b'{"text": "Hi", "working_directory": "x"}', 422, "working_directory", "absolute"),
        (b'{"text": "Hi", "session_id": "../x"}', 422, "session_id", "an id of letters"),
        (b'{"text": "Hi", "wait": "yes"}', 422, "wait", "true or false or a number from 0"),
        (b'{"text": "Hi", "wait": -1}', 422, "wait", "from 0 to 3600"),
        (b'{"text": "Hi", "wait": 1e9}', 422, "wait", "from 0 to 3600"),
        (b'{"text": "Hi", "params": {"a": 1}}', 422, "params", "go with a recipe"),
        (b'{"recipe": "one"}', 422, "working_directory", "new session"),
        (b'{"recipe": "none", "working_directory": "/"}', 404, None, "none"),
        (b'{"recipe": "none", "session_id": "none"}', 404, None, "none"),
        (b'{"text": "Hi", "session_id": "none"}', 404, None, "none"),
    ]
    for body, status, name, words in cases:
        told = (
            await station.ask("POST", "/v1/prompt", body, content_type="application/json")
        ).problem(status)
        assert told.get("parameter") == name and words in told["detail"]
        assert station.daemon.machine.agent.turns == []


async def test_empty_fields_are_as_good_as_none(station: Station) -> None:
    """A shortcut sends what it was not given as empty."""
    body = {
        "text": "Hi",
        "working_directory": station.where,
        "session_id": "",
        "recipe": None,
        "wait": 0,
    }
    assert (await station.post("/v1/prompt", body)).status == 202


async def test_another_kind_of_body_is_refused(station: Station) -> None:
    cases = ["text/plain", "application/x-www-form-urlencoded", ""]
    for kind in cases:
        answer = await station.ask("POST", "/v1/prompt", b'{"text": "Hi"}', content_type=kind)
        assert "application/json" in answer.problem(415)["detail"]


def _record(session_id: str, where: str) -> bytes:
    record = {
        "type": "user",
        "uuid": "00000000-0000-4000-8000-000000000001",
        "sessionId": session_id,
        "timestamp": "2026-05-01T10:00:00.000Z",
        "cwd": str(Path(where)),
        "message": {"role": "user", "content": "Hello"},
    }
    return json.dumps(record).encode() + b"\n"


# -- ``POST /v1/prompt`` when callers ask again, or hang up


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
        assert station.server.devices.list()[0].connected
        nursery.cancel_scope.cancel()
    with trio.fail_after(HANG_SECONDS):
        await wait_until(lambda: not station.server.devices.list()[0].connected)
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
