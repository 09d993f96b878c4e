"""What the socket's clients are told about the gateway, with the listener up, down and failed."""

from __future__ import annotations

import logging
import ssl
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from podiumd.config.settings import GatewaySettings
from podiumd.gateway.access import keys
from podiumd.gateway.access.devices import Devices
from podiumd.gateway.control import Control
from podiumd.gateway.network.addresses import Address
from podiumd.gateway.tls.certificate import Tls
from podiumd.runtime.api import GatewayControl
from podiumd.runtime.errors import InvalidParameter, NotFound, Refused
from tests.gateway import qr_reader
from tests.gateway.kept import Clock, Kept
from tests.plain import plain


@dataclass
class Listener:
    """A listener with two phones."""

    port: int = 8080
    clients: int = 2
    allowed: Sequence[str] = ()

    def allow(self, hosts: Sequence[str], origins: Sequence[str]) -> None:
        self.allowed = hosts


def tls(*, made_here: bool = True, notes: tuple[str, ...] = ()) -> Tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    return Tls(context, "AA:BB", Path("/state/tls/certificate.pem"), made_here, notes)


def control(devices: Devices | None = None, **settings: object) -> Control:
    made: Control = Control(
        GatewaySettings(**settings),  # type: ignore[arg-type]
        devices or Devices(Kept(), Clock()),
        config_file="/home/ada/config.toml",
        user="ada",
        restart="podium service restart",
        addresses=lambda: (Address("192.0.2.7", "eth0", main=True),),
        names=lambda: ("pots", "pots.local"),
    )
    contract: GatewayControl = made
    assert contract is made
    return made


def test_before_it_listens_there_is_no_address() -> None:
    assert plain(control().status()) == {
        "enabled": True,
        "url": None,
        "clients": 0,
        "problem": None,
        "warning": None,
    }


def test_a_listening_gateway_tells_the_real_port_and_its_clients() -> None:
    gateway = control(port=0)
    gateway.opened(Listener(port=40123), None)

    told = gateway.status()

    assert (told.url, told.clients) == ("ws://127.0.0.1:40123", 2)
    assert told.problem is told.warning is None


def test_an_open_gateway_is_told_by_the_address_that_a_phone_uses() -> None:
    gateway = control(host="0.0.0.0", tls="auto")
    gateway.opened(Listener(), tls())

    assert gateway.status().url == "wss://192.0.2.7:8080"


@pytest.mark.parametrize("enabled", [True, False])
async def test_what_failed_is_told_instead_of_an_address(enabled: bool) -> None:
    gateway = control(enabled=enabled)
    gateway.opened(Listener(), None)
    gateway.failed("Port 8080 is taken.")

    assert plain(gateway.status()) | {"enabled": True} == {
        "enabled": True,
        "url": None,
        "clients": 0,
        "problem": "Port 8080 is taken.",
        "warning": None,
    }


@pytest.mark.parametrize(
    ("enabled", "problem", "words"),
    [
        (False, None, "set enabled = true under .gateway. in /home/ada/config.toml"),
        (True, "Port 8080 is taken: free it.", "Port 8080 is taken: free it."),
        (True, None, "just starting"),
    ],
)
async def test_nothing_is_paired_with_a_gateway_that_does_not_listen(
    enabled: bool, problem: str | None, words: str
) -> None:
    gateway = control(enabled=enabled)
    if problem:
        gateway.failed(problem)

    with pytest.raises(Refused, match=words):
        await gateway.pair(None, png=False)

    assert gateway.devices() == []


async def test_a_pairing_tells_the_key_once_as_text_and_code() -> None:
    devices = Devices(Kept(), Clock())
    gateway = control(devices)
    gateway.opened(Listener(), None)

    told = await gateway.pair("Ada's phone", png=False)

    assert plain(told).keys() == {
        "device", "url", "key", "qr", "ways", "trust", "fingerprint", "warning",
    }  # fmt: skip
    assert (told.device, told.url) == ("Ada's phone", "ws://127.0.0.1:8080")
    assert qr_reader.read(qr_reader.from_half_blocks(told.qr)) == told.key
    assert keys.well_formed(told.key)
    assert [way.way for way in told.ways] == ["network", "tailscale", "ssh"]
    assert told.trust is told.fingerprint is told.warning is None
    found = devices.check(told.key)
    assert found is not None and found.name == "Ada's phone"
    assert [row.device for row in gateway.devices()] == ["Ada's phone"]


async def test_a_picture_is_made_only_when_asked_for() -> None:
    gateway = control()
    gateway.opened(Listener(), None)

    told = await gateway.pair(None, png=True)

    modules = qr_reader.from_png(b64decode(plain(told)["png"]), 10)
    assert qr_reader.read(modules) == told.key


@pytest.mark.parametrize("made_here", [True, False])
async def test_only_a_certificate_of_our_own_has_to_be_brought_to_the_phone(
    made_here: bool,
) -> None:
    gateway = control(tls="auto", host="0.0.0.0")
    gateway.opened(Listener(), tls(made_here=made_here))

    told = await gateway.pair(None, png=False)

    assert told.fingerprint == "AA:BB"
    assert ("certificate.pem" in (told.trust or "")) is made_here


async def test_an_unsafe_gateway_is_told_at_the_start_in_the_status_and_at_each_pairing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = control(host="0.0.0.0")
    with caplog.at_level(logging.INFO, logger="podium"):
        gateway.opened(Listener(), None)

    warning = gateway.status().warning
    assert warning is not None and "without TLS" in warning
    assert (await gateway.pair(None, png=False)).warning == warning
    (record,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert record.getMessage() == "Gateway without TLS"


def test_the_certificate_and_what_is_to_be_said_of_it_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="podium"):
        control(tls="auto").opened(Listener(), tls(notes=("It was made anew.",)))

    fields = [getattr(record, "podium") for record in caplog.records]  # noqa: B009
    assert {"sha256": "AA:BB"} in fields
    assert {"note": "It was made anew."} in fields


async def test_no_log_line_holds_a_key(caplog: pytest.LogCaptureFixture) -> None:
    gateway = control()
    with caplog.at_level(logging.DEBUG):
        gateway.opened(Listener(), None)
        told = await gateway.pair(None, png=True)
        await gateway.revoke("phone")

    written = str([vars(record) for record in caplog.records])
    assert "Device paired" in written
    assert told.key not in written
    assert keys.digest(told.key) not in written


async def test_devices_are_revoked_whether_the_gateway_listens_or_not() -> None:
    devices = Devices(Kept(), Clock())
    _, key = await devices.pair(None)
    gateway = control(devices, enabled=False)

    await gateway.revoke("phone")

    assert devices.check(key) is None
    with pytest.raises(NotFound):
        await gateway.revoke("phone")


async def test_a_name_that_is_taken_is_refused_and_costs_no_key() -> None:
    gateway = control()
    gateway.opened(Listener(), None)
    await gateway.pair("phone", png=False)

    with pytest.raises(InvalidParameter):
        await gateway.pair("phone", png=False)
    assert len(gateway.devices()) == 1
