"""Who may use a route: one flat answer to everybody else, and an end at once when revoked."""

from __future__ import annotations

import trio

from podiumd.gateway.access.auth_throttle import FREE_TRIES
from tests.gateway.harness import wait_until
from tests.gateway.routes.client import Answer, Client
from tests.gateway.routes.station import Station

WRONG = "untethered-" + "0" * 32


async def test_the_scheme_may_be_written_in_any_case(station: Station) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        answer = await station.get("/metrics", authorization=f"{scheme} {station.key}")
        assert answer.status == 200


async def test_every_fault_of_the_key_has_the_same_answer_on_every_route(
    station: Station,
) -> None:
    other = await station.other("other")
    await station.server.devices.revoke("other")
    key = str(station.key)
    faults = [
        "",
        "Bearer",
        f"Basic {key}",
        key,
        f"Bearer {WRONG}",
        f"Bearer {other.key}",
        f"Bearer {key.upper()}",
        f"Bearer {key}0",
        f"Bearer {key}, Bearer {key}",
    ]
    seen = set()
    for fault in faults:
        for method, path in (
            ("POST", "/v1/prompt"),
            ("POST", "/upload"),
            ("GET", "/metrics"),
            ("GET", "/nothing"),
            ("DELETE", "/metrics"),
        ):
            station.server.throttle.right("127.0.0.1")  # the shut-out has a test of its own
            answer = await station.ask(method, path, b"{}", authorization=fault)
            answer.problem(401)
            assert answer.headers["www-authenticate"] == 'Bearer realm="podium"'
            seen.add(answer.body)
    assert len(seen) == 1


async def test_the_answer_to_a_stranger_is_one_that_the_apps_can_read(station: Station) -> None:
    told = (await Client(station.port).post("/upload", {})).problem(401)
    assert told["success"] is False and isinstance(told["error"], str)


async def test_an_address_with_too_many_wrong_keys_waits_though_it_then_has_the_right_one(
    station: Station,
) -> None:
    for _ in range(FREE_TRIES):
        (await station.get("/metrics", authorization=f"Bearer {WRONG}")).problem(401)
    held = await station.get("/metrics")
    told = held.problem(429)
    assert (held.headers["retry-after"], told["success"]) == ("1", False)
    guess = await station.get("/metrics", authorization=f"Bearer {WRONG}")
    assert guess.body == held.body, "it does not tell whether the key was right"
    assert (await station.get("/healthz")).status == 200
    assert (await Client(station.port).get("/metrics")).status == 401, "that was no guess"


async def test_a_device_counts_as_connected_while_its_request_is_answered(
    station: Station,
) -> None:
    devices = station.server.devices
    assert [d.connected for d in devices.list()] == [False]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_prompt, station, station, [])
        turn = await station.daemon.turn()
        assert [d.connected for d in devices.list()] == [True]
        turn.complete()
    (row,) = devices.list()
    assert row.connected is False and row.last_seen is not None


async def test_a_revoked_device_loses_its_requests_at_once_and_the_others_do_not(
    station: Station,
) -> None:
    other = await station.other("other")
    mine: list[Answer] = []
    theirs: list[Answer] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_prompt, station, station, mine)
        turn = await station.daemon.turn()
        nursery.start_soon(_prompt, station, other, theirs)
        second = await station.daemon.turn()
        await station.server.devices.revoke("mine")
        await wait_until(lambda: bool(mine))
        mine[0].problem(401)
        assert not theirs and not turn.gone.is_set(), "the work goes on; only it is not told"
        second.complete()
    assert theirs[0].status == 200
    (await station.get("/metrics")).problem(401)
    turn.complete()


async def test_health_is_open_and_says_nothing_else(station: Station) -> None:
    cases = ["GET", "HEAD"]
    for method in cases:
        answer = await Client(station.port).ask(method, "/healthz")
        assert (answer.status, answer.body) == (200, b"ok\n" if method == "GET" else b"")


async def _prompt(station: Station, caller: Client, answers: list[Answer]) -> None:
    body = {"text": "Hi", "working_directory": station.where}
    answers.append(await caller.post("/v1/prompt", body))
