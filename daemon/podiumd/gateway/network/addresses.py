"""The addresses and names of this machine, as the system knows them now."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

import msgspec

_SIOCGIFADDR: Final = 0x8915  # Linux: the IPv4 address of an interface (netdevice(7))
_PASSING_FLAGS: Final = 0x01 | 0x20 | 0x40  # temporary, deprecated, tentative (if_addr.h)
_IFREQ_ADDRESS: Final = slice(20, 24)  # of the answer: after the name and a port of sockaddr_in
_NOWHERE: Final = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))

# Addresses that Tailscale gives to machines, https://tailscale.com/kb/1015/100.x-addresses
_TAILNET: Final = (
    ipaddress.ip_network("100.64.0.0/10"),
    ipaddress.ip_network("fd7a:115c:a1e0::/48"),
)
_TAILNET_INTERFACES: Final = ("tailscale", "utun", "ts")
_CONTAINER_BRIDGES: Final = ("docker", "br-", "veth", "virbr", "vmnet", "bridge", "cni", "podman",
                             "lxc", "lxd", "vboxnet")  # fmt: skip


class Address(msgspec.Struct, frozen=True):
    """An address of this machine. ``main``: packets to anywhere leave from it."""

    address: str
    interface: str
    main: bool = False

    @property
    def in_tailnet(self) -> bool:
        """Return whether it is one of a Tailscale network, which encrypts all that goes over it."""
        found = ipaddress.ip_address(self.address)
        named = self.interface.startswith(_TAILNET_INTERFACES)
        return named and any(found in network for network in _TAILNET)

    @property
    def inward(self) -> bool:
        """Return whether only containers and virtual machines on this machine are behind it."""
        return self.interface.startswith(_CONTAINER_BRIDGES)


def own_addresses() -> tuple[Address, ...]:
    """List all addresses but loopback and link-local ones.

    The main ones come first, then the others with those for containers last. Never raises; what the
    system does not report is missing.
    """
    main = _main_addresses()
    told = [
        Address(address, interface, address in main)
        for interface, address in dict.fromkeys(_interfaces())
        if _usable(address)
    ]
    return tuple(sorted(told, key=lambda one: (not one.main, one.inward, ":" in one.address)))


def own_names() -> tuple[str, ...]:
    """Return the names that this machine may be called by: its host name, short, and for mDNS."""
    name = socket.gethostname().rstrip(".").lower()
    short = name.partition(".")[0]
    return tuple(dict.fromkeys(one for one in (name, short, f"{short}.local") if short))


def _usable(address: str) -> bool:
    found = ipaddress.ip_address(address)
    return not (found.is_loopback or found.is_link_local or found.is_unspecified)


def _main_addresses() -> set[str]:
    """Return where packets to the outside leave from: connecting a datagram socket sends none."""
    found = set()
    for target, family in _NOWHERE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((target, 9))
                found.add(str(probe.getsockname()[0]))
        except OSError:
            pass  # no way out over this family
    return found


if sys.platform == "linux":

    def _interfaces() -> list[tuple[str, str]]:
        """List each interface and its address; of IPv4 the first one of each interface."""
        found = []
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                for _, interface in socket.if_nameindex():
                    request = struct.pack("256s", os.fsencode(interface)[:15])
                    try:
                        answer = fcntl.ioctl(probe, _SIOCGIFADDR, request)
                    except OSError:
                        continue  # it has none
                    found.append((interface, socket.inet_ntoa(answer[_IFREQ_ADDRESS])))
        except OSError:
            pass  # no networking at all
        return found + _ipv6(Path("/proc/net/if_inet6"))

else:
    import psutil

    def _interfaces() -> list[tuple[str, str]]:
        """List each interface and its address."""
        return [
            (interface, str(one.address).partition("%")[0])
            for interface, addresses in psutil.net_if_addrs().items()
            for one in addresses
            if one.family in (socket.AF_INET, socket.AF_INET6)
        ]


def _ipv6(table: Path) -> list[tuple[str, str]]:
    """Read the kernel's table of IPv6 addresses.

    A line is 32 hex digits of address first, then index, length, scope and flags, the interface
    last (proc(5)). Addresses that change by the day are left out.
    """
    try:
        lines = table.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    return [
        (interface, str(ipaddress.IPv6Address(bytes.fromhex(digits))))
        for digits, _, _, _, flags, interface in map(str.split, lines)
        if not int(flags, 16) & _PASSING_FLAGS
    ]
