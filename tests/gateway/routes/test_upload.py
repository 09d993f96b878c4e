"""``POST /upload``: what the apps send, and the answers as they read them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.gateway.routes import upload as route
from podiumd.projects.errors import StorageFailed
from tests.gateway.routes.station import Station

CONTENT = bytes(range(256))


def sent(where: object, **fields: Any) -> dict[str, Any]:
    content = base64.b64encode(CONTENT).decode()
    return {"filename": "photo.jpg", "content": content, "storage_location": where, **fields}


async def test_a_file_is_stored_and_everything_about_it_told(station: Station) -> None:
    answer = await station.post("/upload", sent(station.where, ios_field="ignored"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    told = answer.json
    assert set(told) == {"success", "filename", "path", "relative_path", "size", "timestamp"}
    assert (told["success"], told["filename"], told["size"]) == (True, "photo.jpg", 256)
    assert told["path"] == f"{station.where}/{told['relative_path']}"
    assert Path(told["path"]).read_bytes() == CONTENT
    assert told["timestamp"].endswith("Z") and "." not in told["timestamp"]


async def test_the_place_that_the_apps_send_to_by_themselves_is_made(station: Station) -> None:
    answer = await station.post("/upload", sent("~/Downloads"))
    assert answer.status == 200
    assert Path(answer.json["path"]).read_bytes() == CONTENT
    assert "/Downloads/.untethered/resources/" in answer.json["path"]


async def test_what_cannot_be_stored_is_refused_in_words_and_nothing_is_left(
    station: Station,
) -> None:
    cases: list[tuple[dict[str, Any], int]] = [
        ({"filename": "../up.txt"}, 400),
        ({"filename": ""}, 400),
        ({"filename": 5}, 400),
        ({"content": "no base64!"}, 400),
        ({"content": None}, 400),
        ({"storage_location": "/nowhere/at/all"}, 404),
        ({"storage_location": "~/../nowhere"}, 404),
        ({"storage_location": "relative"}, 404),
        ({"storage_location": None}, 400),
    ]
    for fields, status in cases:
        told = (await station.post("/upload", sent(station.where, **fields))).problem(status)
        assert told["success"] is False and told["error"] == told["detail"] and told["error"]
        assert [path for path in Path(station.where).rglob("*") if path.is_file()] == []


async def test_a_missing_field_is_named(station: Station) -> None:
    for name in ("filename", "content", "storage_location"):
        fields = sent(station.where)
        del fields[name]
        assert f"'{name}'" in (await station.post("/upload", fields)).problem(400)["error"]


async def test_what_is_no_json_object_is_refused(station: Station) -> None:
    cases = [b"", b"no JSON", b"[]", b"\xff", b"[" * 100_000]
    for body in cases:
        told = (await station.ask("POST", "/upload", body)).problem(400)
        assert told["success"] is False


async def test_too_large_a_file_is_refused_before_it_is_read_and_after(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = str(route.BODY_BYTES + 1)
    await _headers_only(station, declared)
    monkeypatch.setattr("podiumd.projects.resources.MOST_BYTES", 100)
    told = (await station.post("/upload", sent(station.where))).problem(413)
    assert told["success"] is False and "larger" in told["error"]


async def _headers_only(station: Station, length: str) -> None:
    head = (
        f"POST /upload HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {station.key}\r\n"
        f"Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
    )
    async with await trio.open_tcp_stream("127.0.0.1", station.port) as stream:
        await stream.send_all(head.encode())
        answer = b""
        while b"success" not in answer:
            answer += await stream.receive_some(65_536)
    assert answer.startswith(b"HTTP/1.1 413 ") and b"100 Continue" not in answer


async def test_a_disk_that_refuses_is_told(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StorageFailed("The files of '/x': No space left on device.")

    monkeypatch.setattr(station.server.hub.services.workshop.resources, "put_base64", full)
    told = (await station.post("/upload", sent(station.where))).problem(507)
    assert told["error"].endswith("No space left on device.")


async def test_large_bodies_wait_for_each_other_and_small_ones_for_none(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two uploads that do not come to an end hold the places of large ones."""
    monkeypatch.setattr(route, "SMALL_BYTES", 1000)
    body = b" " * 2000
    head = (
        f"POST /upload HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {station.key}\r\n"
        f"Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    async with trio.open_nursery() as nursery:
        slow = [await trio.open_tcp_stream("127.0.0.1", station.port) for _ in range(2)]
        for stream in slow:
            await stream.send_all(head)
        # They were accepted before this one, whose answer shows that they have their places.
        assert (await station.post("/upload", sent(station.where))).status == 200
        third = trio.Event()

        async def large() -> None:
            (await station.ask("POST", "/upload", body)).problem(400)
            third.set()

        nursery.start_soon(large)
        assert (await station.post("/upload", sent(station.where))).status == 200
        assert not third.is_set()
        for stream in slow:
            await stream.aclose()
        await third.wait()
