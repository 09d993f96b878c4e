"""Nobody comes in without the key of a paired device, whatever is tried at which door."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
import trio
from websockets.exceptions import InvalidStatus

from podiumd.gateway.access.auth_throttle import FREE_TRIES, LONGEST_SECONDS
from podiumd.gateway.phone.protocol.decode import TYPES
from tests.doors.house import House, Json, Phone
from tests.doors.plausible import fields
from tests.gateway.routes.client import Client

WRONG = "untethered-" + "0" * 32
ROUTES = [
    ("POST", "/v1/prompt"),
    ("POST", "/v1/audio/transcriptions"),
    ("POST", "/upload"),
    ("POST", "/agui"),
    ("GET", "/metrics"),
    ("HEAD", "/metrics"),
    ("GET", "/nothing"),
    ("GET", "/healthz/"),
    ("PUT", "/v1/prompt"),
    ("OPTIONS", "/metrics"),
    ("DELETE", "/nothing/of/the/kind"),
]
SAID = [*TYPES, "supervisor_message", "canvas_action", "no_such_type"]


async def bad_keys(house: House) -> dict[str, Any]:
    """Keys that open nothing, by what is wrong with them."""
    right = house.key
    return {
        "wrong": WRONG,
        "revoked": await house.revoked("lost"),
        "revoked and paired anew": await _paired_anew(house),
        "upper case": right.upper(),
        "too short": right[:-1],
        "too long": f"{right}0",
        "with a newline": f"{right}\n",
        "without its beginning": right.removeprefix("untethered-"),
        "empty": "",
        "null": None,
        "a list": [right],
        "an object": {"key": right},
        "true": True,
    }


async def _paired_anew(house: House) -> str:
    key = await house.revoked("again")
    await house.paired("again")
    return key


def _told(heard: list[Json]) -> list[str]:
    return [message["type"] for message in heard]


async def test_every_message_with_every_bad_key_is_turned_away_and_nothing_told(
    house: House,
) -> None:
    """Each message comes alone, with a key of its own, and right behind a ``connect``."""
    keys = await bad_keys(house)
    before, work = house.untouched(), await house.at_work()
    refusals, tries = set(), 0
    for kind in SAID:
        if kind in {"ping", "connect"}:
            continue  # these two a stranger may say
        for name, key in [("none", None), *keys.items()]:
            phone = await house.dial()
            if name != "none":
                await phone.say("connect", api_key=key, protocol_version="0.5.0")
            await phone.say(kind, **fields(kind, house.project), api_key=house.key)
            heard = await phone.rest()
            assert _told(heard) == ["hello", "auth_error"], (kind, name)
            refusals.add(json.dumps(heard))
            tries += 1
            await house.forgiven()
    assert tries > 400 and len(refusals) == 1, "one and the same answer to all"
    assert house.untouched() == before and await house.at_work() == work
    assert house.key not in refusals.pop()


async def test_a_stranger_gets_its_pings_answered_and_no_more(house: House) -> None:
    for key in (await bad_keys(house)).values():
        phone = await house.dial()
        for _ in range(3):
            await phone.say("ping")
        await phone.say("connect", api_key=key)
        await phone.say("refresh_sessions")
        assert _told(await phone.rest()) == ["hello", *["pong"] * 3, "auth_error"]
        await house.forgiven()


async def test_a_binary_message_of_a_stranger_is_turned_away(house: House) -> None:
    phone = await house.dial()
    await phone.frame(b"\0\0\0\0speech")
    assert _told(await phone.rest()) == ["hello", "auth_error"]


async def test_a_greeting_is_the_same_whatever_the_daemon_does(house: House) -> None:
    greetings = []
    for _ in range(2):
        phone = await house.dial()
        greetings.append(await phone.until("hello"))
        await phone.hang_up()
        await house.mine.post(
            "/v1/prompt",
            {"text": "Hi", "working_directory": str(house.project), "agent": "scripted"},
        )
    assert greetings[0] == greetings[1]
    assert set(greetings[0]) == {"type", "message", "version", "auth_version", "instructions"}


async def test_every_route_with_every_bad_key_is_refused_with_one_answer(house: House) -> None:
    before, work = house.untouched(), await house.at_work()
    answers: set[bytes] = set()
    tries = 0
    for method, path in ROUTES:
        for header in _headers(house.key, await _strings(house, f"{tries}")):
            body = json.dumps(_body(path, house)).encode()
            answer = await Client(house.port).ask(
                method, path, body, content_type="application/json", **header
            )
            assert answer.status == 401, (method, path, header)
            assert answer.headers["www-authenticate"] == 'Bearer realm="podium"'
            answers.add(answer.body)
            tries += 1
            await house.forgiven()
    assert tries > 100 and len(answers - {b""}) == 1
    assert house.untouched() == before and await house.at_work() == work


async def _strings(house: House, suffix: str) -> list[str]:
    right = house.key
    return [
        WRONG,
        await house.revoked(f"lost {suffix}"),
        right.upper(),
        right[:-1],
        f"{right}0",
        right.removeprefix("untethered-"),
    ]


def _headers(right: str, keys: list[str]) -> Iterator[dict[str, str]]:
    yield {}
    for key in keys:
        yield {"authorization": f"Bearer {key}"}
    yield {"authorization": right}
    yield {"authorization": f"Basic {right}"}
    yield {"authorization": f"Bearer{right}"}
    yield {"authorization": f"Bearer {right}, Bearer {right}"}
    yield {"cookie": f"key={right}"}
    yield {"x_api_key": right}
    yield {"proxy_authorization": f"Bearer {right}"}


def _body(path: str, house: House) -> Json:
    if path == "/upload":
        return {"filename": "a", "content": "aGk=", "storage_location": str(house.project)}
    place = {"agent": "scripted", "working_directory": str(house.project)}
    if path == "/agui":
        words = {"id": "m", "role": "user", "content": "Count this"}
        thread = {"threadId": "t", "runId": "r", "messages": [words]}
        return {**thread, "forwardedProps": place}
    return {"text": "Count this", **place}


async def test_a_key_in_the_address_is_no_key(house: House) -> None:
    """It would be written down in histories and logs."""
    for path in (f"/metrics?key={house.key}", f"/metrics?access_token={house.key}"):
        assert (await Client(house.port).get(path)).status == 401


@pytest.mark.parametrize("door", ["http", "websocket"])
async def test_guesses_are_held_back_at_both_doors_and_a_right_key_among_them_too(
    house: House, door: str
) -> None:
    """Five at once, then ever fewer; nobody is told which were looked at."""
    held, began = 0, trio.current_time()
    for _ in range(150):
        if door == "http":
            answer = await Client(house.port, WRONG).get("/metrics")
            assert answer.status in {401, 429}
            held += answer.status == 429
        else:
            held += await _guess(house) == 429
    # However slow the machine: as many as there may be in the time that it took.
    doublings = math.ceil(math.log2(LONGEST_SECONDS))
    took = trio.current_time() - began
    most = FREE_TRIES + doublings + math.ceil(took / LONGEST_SECONDS)
    assert FREE_TRIES <= 150 - held <= most
    assert len(house.podium.logged("Wrong key")) <= most
    assert (await house.mine.get("/metrics")).status == 429
    assert house.key not in house.podium.log_text()


async def _guess(house: House) -> int:
    try:
        phone = await house.dial()
    except InvalidStatus as refusal:
        return refusal.response.status_code
    await phone.say("connect", api_key=WRONG)
    assert _told(await phone.rest()) == ["hello", "auth_error"]
    return 200


async def test_phones_that_were_there_before_get_no_further_guesses(house: House) -> None:
    phones: list[Phone] = [await house.dial() for _ in range(20)]
    told = []
    for phone in phones:
        await phone.say("connect", api_key=WRONG)
        told.append(_told(await phone.rest()))
    # An app stops for good at an auth_error; one that only has to wait is just hung up on.
    assert told == [["hello", "auth_error"]] * 5 + [["hello"]] * 15
    lines = house.podium.logged("Wrong key") + house.podium.logged("Key not looked at")
    assert lines and len(lines) + sum(line.get("left_out", 0) for line in lines) <= 20


async def test_a_revoked_device_is_gone_from_both_doors_whatever_it_waits_for(house: House) -> None:
    key = await house.paired("other")
    phone = await house.dial()
    await phone.say("connect", api_key=key, protocol_version="0.5.0")
    await phone.until("available_commands")
    other = Client(house.port, key)
    body = {"text": "Hang on", "agent": "scripted", "working_directory": str(house.project)}
    async with trio.open_nursery() as nursery:

        async def ask() -> None:
            (await other.post("/v1/prompt", body)).problem(401)

        nursery.start_soon(ask)
        async with house.gate():
            await house.podium.rpc("gateway.revoke", device="other")
            await phone.rest()
    assert (await other.get("/metrics")).status == 401
