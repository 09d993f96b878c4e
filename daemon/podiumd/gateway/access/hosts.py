"""Check of Host and Origin: the guard against DNS rebinding and foreign pages. Pure.

A page that rebinds its own name to this machine still sends its own name as Host, and a page that
connects from elsewhere sends its own Origin; neither can be forged from within a browser.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})(?:%[0-9A-Za-z._~-]{1,32})?\]"
    r"|(?P<name>[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*)\.?)"
    r"(?::(?P<port>[0-9]{0,5}))?"
)
_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#@\\\s]+)", re.IGNORECASE)
# Names whose owner is this machine's network, never somebody's public DNS.
_NETWORK_SUFFIXES: Final = (".local", ".ts.net")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Authority(NamedTuple):
    """``host`` in lower case without a final dot, an address in its shortest form."""

    host: str
    port: int | None


def parse_authority(text: str) -> Authority | None:
    """Parse the host and port of a Host header; ``None`` if it is none (userinfo, path, blank)."""
    match = _AUTHORITY.fullmatch(text)
    if match is None or len(text) > 270:
        return None
    port = int(match["port"]) if match["port"] else None
    if port is not None and port > 65535:
        return None
    if match["six"] is None:
        return Authority(canonical(match["name"].lower()), port)
    try:
        ipaddress.IPv6Address(match["six"])
    except ValueError:
        return None
    return Authority(canonical(match["six"]), port)


def canonical(address: str) -> str:
    """Return an address without zone, in its shortest form, IPv4 when mapped; other text as is."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)


def is_loopback(host: str) -> bool:
    """Return whether a canonical name or address means this machine only (RFC 6761, RFC 6890)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class HostRules:
    """``names`` are this machine's own; ``allowed`` are hosts, addresses and ``*.domain``."""

    def __init__(self, names: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        exact = set()
        suffixes = list(_NETWORK_SUFFIXES)
        for pattern in (*names, *allowed):
            plain = pattern.lower().rstrip(".")
            if plain.startswith("*."):
                suffixes.append(plain[1:])
            elif plain:
                exact.add(canonical(plain))
        self._exact = frozenset(exact)
        self._suffixes = tuple(suffixes)

    def serves(self, host: str, local_address: str) -> bool:
        """Return whether a Host header means us; ``local_address`` is where the client arrived."""
        authority = parse_authority(host)
        if authority is None:
            return False
        name = authority.host
        return (
            is_loopback(name)
            or name == canonical(local_address)
            or name in self._exact
            or name.endswith(self._suffixes)
        )


def is_own_origin(origin: str, host: str, port: int, secure: bool) -> bool:
    """Return whether a page with this Origin came from the gateway's own port under this Host."""
    match = _ORIGIN.fullmatch(origin)
    here = parse_authority(host)
    there = parse_authority(match["authority"]) if match else None
    if match is None or here is None or there is None:
        return False
    scheme = match["scheme"].lower()
    there_port = _DEFAULT_PORTS[scheme] if there.port is None else there.port
    return (
        scheme == ("https" if secure else "http")
        and there == (here.host, there.port)
        and (there_port == port)
    )
