"""What people are told about the way from a phone to this machine."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.gateway.network import reach
from podiumd.gateway.network.addresses import Address
from podiumd.gateway.network.reach import Place

LAN = Address("192.0.2.7", "eth0", main=True)
SIX = Address("2001:db8::7", "eth0")
TAIL = Address("100.101.102.103", "tailscale0")
DOCKER = Address("172.17.0.1", "docker0")


def place(host: str = "127.0.0.1", *, secure: bool = False, **more: Any) -> Place:
    given: dict[str, Any] = {
        "port": 8080,
        "addresses": (LAN, SIX, DOCKER),
        "name": "pots.local",
        "user": "ada",
        "config_file": "/home/ada/.config/podium/config.toml",
        "restart": "podium service restart",
    }
    return Place(host=host, secure=secure, **given | more)


def said(place: Place) -> dict[str, str]:
    return {one.way: one.text for one in reach.ways(place)}


@pytest.mark.parametrize(
    ("host", "loopback", "everywhere"),
    [
        ("127.0.0.1", True, False),
        ("127.1.2.3", True, False),
        ("::1", True, False),
        ("localhost", True, False),
        ("Pots.localhost", True, False),
        ("0.0.0.0", False, True),
        ("::", False, True),
        ("192.0.2.7", False, False),
        ("localhost.example", False, False),
        ("pots.local", False, False),
    ],
)
def test_what_a_host_reaches(host: str, loopback: bool, everywhere: bool) -> None:
    assert (place(host).loopback, place(host).everywhere) == (loopback, everywhere)


@pytest.mark.parametrize(
    ("host", "secure", "urls"),
    [
        ("127.0.0.1", False, ["ws://127.0.0.1:8080"]),
        ("::1", True, ["wss://[::1]:8080"]),
        ("pots.local", True, ["wss://pots.local:8080"]),
        ("0.0.0.0", False, ["ws://192.0.2.7:8080", "ws://pots.local:8080"]),
        (
            "::",
            True,
            ["wss://192.0.2.7:8080", "wss://[2001:db8::7]:8080", "wss://pots.local:8080"],
        ),
    ],
)
def test_the_addresses_are_those_a_phone_can_use(host: str, secure: bool, urls: list[str]) -> None:
    assert reach.urls(place(host, secure=secure)) == urls


def test_without_any_network_there_is_still_an_address() -> None:
    assert reach.urls(place("0.0.0.0", addresses=(DOCKER,))) == ["ws://localhost:8080"]


@pytest.mark.parametrize(
    ("host", "secure", "addresses", "warns"),
    [
        ("127.0.0.1", False, (LAN,), False),
        ("localhost", False, (LAN,), False),
        ("0.0.0.0", True, (LAN,), False),
        ("0.0.0.0", False, (LAN,), True),
        ("0.0.0.0", False, (LAN, TAIL), True),
        ("::", False, (), True),
        ("192.0.2.7", False, (LAN,), True),
        ("pots.local", False, (LAN,), True),
        ("100.101.102.103", False, (LAN, TAIL), False),
        ("100.101.102.103", False, (Address("100.101.102.103", "eth0"),), True),
        ("pots.tail1234.ts.net", False, (LAN,), False),
    ],
)
def test_a_wider_host_without_tls_is_warned_of_unless_tailscale_encrypts(
    host: str, secure: bool, addresses: tuple[Address, ...], warns: bool
) -> None:
    warning = reach.warning(place(host, secure=secure, addresses=addresses))

    assert (warning is not None) is warns


def test_the_warning_says_what_is_at_stake_and_what_to_do() -> None:
    warning = reach.warning(place("0.0.0.0"))

    assert warning is not None
    for words in (
        'host = "0.0.0.0", port 8080',
        "without TLS",
        "run commands as you",
        'tls = "auto" under [gateway] in /home/ada/.config/podium/config.toml',
        "'podium service restart'",
    ):
        assert words in warning


def test_on_loopback_three_ways_are_told_with_this_machines_addresses() -> None:
    ways = said(place())

    assert list(ways) == ["network", "tailscale", "ssh"]
    assert 'host = "0.0.0.0" and tls = "auto" under [gateway] in /home/ada' in ways["network"]
    assert "wss://192.0.2.7:8080" in ways["network"]
    assert "'tailscale serve --bg --tcp 8080 tcp://127.0.0.1:8080'" in ways["tailscale"]
    assert "ws://NAME:8080" in ways["tailscale"]
    assert "'ssh -L 8080:127.0.0.1:8080 ada@192.0.2.7'" in ways["ssh"]
    assert ways["ssh"].endswith("ws://127.0.0.1:8080.")


def test_a_machine_in_a_tailnet_is_told_its_address_there() -> None:
    tailscale = said(place(addresses=(LAN, TAIL)))["tailscale"]

    assert 'host = "100.101.102.103"' in tailscale
    assert "ws://100.101.102.103:8080" in tailscale
    assert "NAME" not in tailscale


def test_a_tailnet_address_is_not_taken_for_one_of_the_own_network() -> None:
    ways = said(place(addresses=(TAIL, LAN)))

    assert "wss://192.0.2.7:8080" in ways["network"]
    assert "ada@192.0.2.7" in ways["ssh"]


def test_tls_that_is_on_already_is_not_asked_for_again() -> None:
    assert 'set host = "0.0.0.0" under' in said(place(secure=True))["network"]


def test_loopback_of_ipv6_is_written_in_brackets() -> None:
    ways = said(place("::1", addresses=(SIX,)))

    assert "tcp://[::1]:8080" in ways["tailscale"]
    assert "ssh -L 8080:[::1]:8080 ada@2001:db8::7" in ways["ssh"]
    assert "wss://[2001:db8::7]:8080" in ways["network"]
    assert 'set host = "::" and' in ways["network"]


@pytest.mark.parametrize(("name", "told"), [("pots.local", "pots.local"), ("", "ADDRESS")])
def test_a_machine_without_addresses_is_called_by_its_name(name: str, told: str) -> None:
    ways = said(place(addresses=(), name=name))

    assert f"wss://{told}:8080" in ways["network"]
    assert f"ada@{told}" in ways["ssh"]


def test_a_gateway_open_to_the_network_is_told_by_its_addresses() -> None:
    assert said(place("0.0.0.0", secure=True)) == {
        "network": "In the same network the address is wss://192.0.2.7:8080 "
        "(also wss://pots.local:8080)."
    }
    assert said(place("192.0.2.7", secure=True)) == {
        "network": "In the same network the address is wss://192.0.2.7:8080."
    }


def test_a_gateway_in_a_tailnet_is_told_as_such() -> None:
    assert said(place("100.101.102.103", addresses=(LAN, TAIL))) == {
        "tailscale": "In your Tailscale network the address is ws://100.101.102.103:8080; "
        "Tailscale encrypts it."
    }


def test_what_makes_a_phone_trust_the_certificate_names_file_and_fingerprint() -> None:
    words = reach.trust("/home/ada/certificate.pem", "AA:BB")

    assert "Send /home/ada/certificate.pem to the phone" in words
    assert words.endswith("Its SHA-256 fingerprint is AA:BB.")
