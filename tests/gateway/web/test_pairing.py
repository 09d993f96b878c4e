"""``POST /v1/pair`` and ``POST /v1/leave``: of our own page alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.gateway.access.devices import Devices
from tests.gateway.web.served_page import Served, serving

PAIR, LEAVE = "/v1/pair", "/v1/leave"


async def test_an_invitation_pairs_a_page_with_a_key_that_no_script_sees(served: Served) -> None:
    answer = await served.post(PAIR, {"token": served.invited("answer"), "name": "kitchen"})

    assert answer.status == 200
    told = answer.json
    assert (told["device"], told["scope"]) == ("kitchen", "answer")
    cookie = answer.headers["set-cookie"]
    key = cookie.partition("=")[2].partition(";")[0]
    assert cookie.startswith(f"podium-{served.gateway.port}=") and "HttpOnly" in cookie
    assert key not in answer.body.decode()
    found = served.devices.check_page(key, told["secret"])
    assert found is not None and found.name == "kitchen"


async def test_through_a_proxy_that_speaks_https_its_cookie_is_secure(
    devices: Devices, page_files: Path
) -> None:
    origin = "https://podium.example.org"
    async with serving(devices, page_files, origins=(origin,)) as served:
        answer = await served.post(PAIR, {"token": served.invited()}, origin=origin)
        assert answer.status == 200
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"__Host-podium-{served.gateway.port}=")
        assert cookie.endswith("; Secure")
        other = await served.post(
            PAIR, {"token": served.invited()}, origin="https://podium.example.net"
        )
        assert other.status == 403


@pytest.mark.parametrize("path", [PAIR, LEAVE])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ""},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"origin": "https://evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
    ],
)
async def test_whoever_is_no_page_of_ours_pairs_and_unpairs_nothing(
    served: Served, path: str, headers: dict[str, str]
) -> None:
    page, token = await served.paired(), served.invited()
    answer = await served.post(
        path,
        {"token": token},
        cookie=served.cookie(page.key),
        podium_secret=page.secret,
        **headers,
    )

    assert answer.status == 403 and "set-cookie" not in answer.headers
    assert [one.name for one in served.devices.list()] == ["browser"]
    assert (await served.post(PAIR, {"token": token})).status == 200  # it was not used up


@pytest.mark.parametrize(
    ("value", "headers", "status"),
    [
        ({"token": "{token}"}, {"content_type": "text/plain"}, 415),
        ({"token": "{token}"}, {"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"token": "{token}", "scope": "all"}, {}, 422),
        ({"token": 1}, {}, 422),
        ({}, {}, 422),
        ([], {}, 422),
        ({"token": "x" * 5000}, {}, 413),
        ({"token": "{token}", "name": "bell\a"}, {}, 422),
        ({"token": "{token}", "name": "taken"}, {}, 422),
    ],
)
async def test_what_cannot_be_read_pairs_nothing_and_costs_no_invitation(
    served: Served, value: object, headers: dict[str, str], status: int
) -> None:
    await served.devices.pair("taken")
    token = served.invited()
    if isinstance(value, dict) and value.get("token") == "{token}":
        value = value | {"token": token}
    (await served.post(PAIR, value, **headers)).problem(status)

    assert [one.name for one in served.devices.list()] == ["taken"]
    assert (await served.post(PAIR, {"token": token})).status == 200


async def test_a_token_is_good_once_and_wrong_ones_shut_an_address_out(served: Served) -> None:
    token = served.invited()
    assert (await served.post(PAIR, {"token": token})).status == 200
    for _ in range(5):
        (await served.post(PAIR, {"token": token})).problem(403)

    shut = await served.post(PAIR, {"token": served.invited()})
    shut.problem(429)
    assert int(shut.headers["retry-after"]) > 0
    assert len(served.devices.list()) == 1


async def test_a_page_takes_its_own_pairing_back(served: Served) -> None:
    page, other = await served.paired(), await served.paired()
    answer = await served.post(
        LEAVE, None, cookie=served.cookie(page.key), podium_secret=page.secret
    )

    assert answer.status == 204
    assert answer.headers["set-cookie"].startswith(f"podium-{served.gateway.port}=; ")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert [one.name for one in served.devices.list()] == [other.device.name]


@pytest.mark.parametrize("stolen", ["cookie", "secret", "none"])
async def test_by_the_half_of_what_a_page_has_it_is_not_taken_away(
    served: Served, stolen: str
) -> None:
    page = await served.paired()
    headers = {"cookie": served.cookie(page.key)} if stolen == "cookie" else {}
    headers |= {"podium_secret": page.secret} if stolen == "secret" else {}

    assert (await served.post(LEAVE, None, **headers)).status == 204
    assert [one.name for one in served.devices.list()] == ["browser"]


@pytest.mark.parametrize("path", [PAIR, LEAVE])
async def test_it_takes_post_alone(served: Served, path: str) -> None:
    for method in ("GET", "PUT", "OPTIONS"):
        answer = await served.ask(method, path)
        answer.problem(405)
        assert answer.headers["allow"] == "POST"
        assert not [name for name in answer.headers if name.startswith("access-control")]
