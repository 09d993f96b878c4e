"""``gateway.*``: what reaches the gateway, and what a daemon without one says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podiumd.runtime.errors import InvalidParameter, NotFound
from podiumd.wire.gateway import Device, GatewayStatus, Pairing
from tests.plain import plain
from tests.rpc.harness import served

Json = dict[str, Any]

ROW = Device(
    device="phone",
    name="phone",
    paired_at="2026-01-01T00:00:00.000Z",
    last_seen=None,
    connected=False,
)


class FakeGateway:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def status(self) -> GatewayStatus:
        url = "ws://127.0.0.1:8080"
        return GatewayStatus(enabled=True, url=url, clients=2, problem=None, warning=None)

    async def pair(self, name: str | None, png: bool) -> Pairing:
        self.asked.append((name, png))
        if name == "taken":
            raise InvalidParameter("name", "Taken.")
        return Pairing(
            device=name or "phone",
            url="ws://127.0.0.1:8080",
            key="K",
            qr="Q",
            ways=(),
            trust=None,
            fingerprint=None,
            warning=None,
        )

    def devices(self) -> list[Device]:
        return [ROW]

    async def revoke(self, device: str) -> None:
        self.asked.append(device)
        if device == "lost":
            raise NotFound("device", device)


async def test_the_methods_reach_the_gateway_and_bring_its_answers_back(tmp_path: Path) -> None:
    gateway = FakeGateway()
    async with served(tmp_path, gateway=gateway) as daemon, daemon.client() as client:
        assert (await client.result("daemon.status"))["gateway"] == plain(gateway.status())
        paired = await client.result("gateway.pair")
        assert (paired["device"], paired["key"]) == ("phone", "K")
        assert (await client.result("gateway.pair", name="Ada ☎", png=True))["device"] == "Ada ☎"
        assert await client.result("gateway.devices") == [plain(ROW)]
        assert await client.result("gateway.revoke", device="phone") == {}
        assert gateway.asked == [(None, False), ("Ada ☎", True), "phone"]


@pytest.mark.parametrize(
    ("method", "given", "code", "data"),
    [
        ("gateway.pair", {"name": "taken"}, -32602, {"parameter": "name"}),
        ("gateway.revoke", {"device": "lost"}, -32002, {"kind": "device", "id": "lost"}),
    ],
)
async def test_a_refusal_of_the_gateway_reaches_the_client(
    method: str, given: Json, code: int, data: Json, tmp_path: Path
) -> None:
    async with served(tmp_path, gateway=FakeGateway()) as daemon, daemon.client() as client:
        error = (await client.call(method, **given))["error"]
        assert (error["code"], error["data"]) == (code, data)


@pytest.mark.parametrize(
    ("method", "given", "parameter"),
    [
        ("gateway.pair", {"name": ""}, "name"),
        ("gateway.pair", {"name": "a" * 65}, "name"),
        ("gateway.pair", {"name": 1}, "name"),
        ("gateway.pair", {"png": "yes"}, "png"),
        ("gateway.pair", {"device": "phone"}, "device"),
        ("gateway.revoke", {}, "device"),
        ("gateway.revoke", {"device": None}, "device"),
    ],
)
async def test_a_wrong_parameter_is_named_before_the_gateway_is_asked(
    method: str, given: Json, parameter: str, tmp_path: Path
) -> None:
    gateway = FakeGateway()
    async with served(tmp_path, gateway=gateway) as daemon, daemon.client() as client:
        error = (await client.call(method, **given))["error"]
        assert (error["code"], error["data"]["parameter"]) == (-32602, parameter)
        assert gateway.asked == []


async def test_a_daemon_without_a_gateway_has_no_devices_and_pairs_none(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        assert await client.result("gateway.devices") == []
        assert (await client.call("gateway.pair"))["error"]["code"] == -32006
        assert (await client.call("gateway.revoke", device="phone"))["error"]["code"] == -32002
