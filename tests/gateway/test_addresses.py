"""This machine's addresses and names, as the system tells them."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

import pytest

from podiumd.gateway.network import addresses as looking
from podiumd.gateway.network.addresses import Address, own_addresses, own_names


def told(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, str], main: str = "") -> list[str]:
    monkeypatch.setattr(looking, "_interfaces", lambda: list(found))
    monkeypatch.setattr(looking, "_main_addresses", lambda: {main})
    return [one.address for one in own_addresses()]


def test_the_addresses_of_this_very_machine_can_be_listened_on() -> None:
    for one in own_addresses():
        family = socket.AF_INET6 if ":" in one.address else socket.AF_INET
        with socket.socket(family) as probe:
            probe.bind((one.address, 0))
        assert not ipaddress.ip_address(one.address).is_loopback


def test_loopback_and_link_local_addresses_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [("lo", "127.0.0.1"), ("lo", "::1"), ("eth0", "fe80::1"), ("eth0", "169.254.1.1")]

    assert told(monkeypatch, *found, ("eth0", "192.0.2.7"), ("eth0", "192.0.2.7")) == ["192.0.2.7"]


def test_the_main_address_comes_first_and_those_of_containers_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        ("docker0", "172.17.0.1"),
        ("eth1", "2001:db8::7"),
        ("eth1", "198.51.100.7"),
        ("eth0", "192.0.2.7"),
    ]

    assert told(monkeypatch, *found, main="192.0.2.7") == [
        "192.0.2.7",
        "198.51.100.7",
        "2001:db8::7",
        "172.17.0.1",
    ]


@pytest.mark.parametrize(
    ("address", "interface", "tailnet"),
    [
        ("100.101.102.103", "tailscale0", True),
        ("100.101.102.103", "utun4", True),
        ("fd7a:115c:a1e0::5", "tailscale0", True),
        ("100.101.102.103", "eth0", False),  # a provider's own network has such addresses too
        ("100.128.0.1", "tailscale0", False),
        ("192.0.2.7", "utun4", False),
    ],
)
def test_an_address_is_of_a_tailnet_by_its_range_and_its_interface(
    address: str, interface: str, tailnet: bool
) -> None:
    assert Address(address, interface).in_tailnet is tailnet


def test_the_kernels_table_of_ipv6_addresses_is_read(tmp_path: Path) -> None:
    table = tmp_path / "if_inet6"
    table.write_text(
        "00000000000000000000000000000001 01 80 10 80       lo\n"
        "20010db8000000000000000000000007 02 40 00 80     eth0\n"
        "20010db8000000001234567890abcdef 02 40 00 01     eth0\n"  # for privacy, for a day
        "20010db8000000000000000000000008 02 40 00 20     eth0\n"
        "20010db8000000000000000000000009 02 40 00 40     eth0\n"
    )

    assert looking._ipv6(table) == [("lo", "::1"), ("eth0", "2001:db8::7")]
    assert looking._ipv6(tmp_path / "none") == []


def test_without_a_network_there_are_no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused:
        def __init__(self, *arguments: object) -> None:
            raise OSError(97, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", Refused)
    monkeypatch.setattr(looking, "_ipv6", lambda table: [])

    assert own_addresses() == ()


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("Pots", ("pots", "pots.local")),
        ("pots.lan.", ("pots.lan", "pots", "pots.local")),
        ("pots.local", ("pots.local", "pots")),
        ("", ()),
    ],
)
def test_the_machine_is_called_by_its_host_name_in_three_ways(
    host: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)

    assert own_names() == names
