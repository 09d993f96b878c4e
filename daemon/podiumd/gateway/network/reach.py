"""Ways in which a phone can reach this machine, in words, with the machine's real addresses.

Pure: the machine's addresses are handed in.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podiumd.gateway.access.hosts import canonical, is_loopback
from podiumd.gateway.network.addresses import Address
from podiumd.wire.gateway import WayIn


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place where the gateway listens, and the names of the machine.

    ``host`` is as in the settings, ``port`` the real one. The machine has its ``addresses``, its
    mDNS ``name``, the ``user`` for SSH, the ``config_file`` to change, the command for a
    ``restart``.
    """

    host: str
    port: int
    secure: bool
    addresses: Sequence[Address]
    name: str
    user: str
    config_file: str
    restart: str

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach what listens there."""
        return is_loopback(canonical(self.host.lower()))

    @property
    def everywhere(self) -> bool:
        """Return whether it listens on all addresses of the machine."""
        return canonical(self.host) in ("0.0.0.0", "::")  # noqa: S104  (compares, binds nothing)

    @property
    def in_tailnet(self) -> bool:
        """Return whether it is reached over Tailscale only, which encrypts."""
        mine = any(one.address == self.host and one.in_tailnet for one in self.addresses)
        return mine or self.host.lower().endswith(".ts.net")

    def url(self, host: str) -> str:
        """Return the gateway's address by that name or address."""
        scheme = "wss" if self.secure else "ws"
        return f"{scheme}://{bracketed(host)}:{self.port}"


def bracketed(host: str) -> str:
    """Return a name or an address as URLs have it."""
    return f"[{host}]" if ":" in host else host


def urls(place: Place) -> list[str]:
    """Return the gateway's addresses, the most useful one first; never empty."""
    if not place.everywhere:
        return [place.url(place.host)]
    four_only = ":" not in place.host  # "::" takes both kinds
    outward = [
        one.address
        for one in place.addresses
        if not one.inward and not (four_only and ":" in one.address)
    ]
    named = [place.name] if outward and place.name else []
    return [place.url(host) for host in (outward + named or ["localhost"])]


def page_urls(place: Place, origins: Sequence[str]) -> list[str]:
    """Return the addresses of the page, the most useful one first; never empty.

    ``origins`` are those of proxies in front of the gateway: somebody has set one up on purpose.
    """
    return [*origins, *(url.replace("ws", "http", 1) for url in urls(place))]


def warning(place: Place) -> str | None:
    """Return the loud warning for the start and for each pairing; ``None``: nothing to warn of."""
    if place.secure or place.loopback or place.in_tailnet:
        return None
    return (
        f'The gateway listens beyond this machine (host = "{place.host}", port {place.port}) '
        "without TLS: everybody on the network between can read what you and your agents say, "
        "take the key of a paired device, and with it run commands as you. Set "
        f'tls = "auto" under [gateway] in {place.config_file}, or host = "127.0.0.1" with '
        f"Tailscale or SSH, and restart with '{place.restart}'."
    )


def ways(place: Place) -> list[WayIn]:
    """List the ways in which a phone gets there."""
    if place.loopback:
        return [_own_network(place), _tailscale(place), _ssh(place)]
    if place.in_tailnet:
        text = f"In your Tailscale network the address is {urls(place)[0]}; Tailscale encrypts it."
        return [WayIn(way="tailscale", text=text)]
    first, *others = urls(place)
    also = f" (also {', '.join(others)})" if others else ""
    return [WayIn(way="network", text=f"In the same network the address is {first}{also}.")]


def trust(file: str, fingerprint: str) -> str:
    """Describe what a phone needs before it takes a certificate of this machine's own making."""
    return (
        f"The certificate is this machine's own. Send {file} to the phone and have it trusted "
        "there (iPhone: install it in Settings, then switch it on under General, About, "
        f"Certificate Trust Settings). Its SHA-256 fingerprint is {fingerprint}."
    )


def _own_network(place: Place) -> WayIn:
    host = _outward(place) or place.name or "ADDRESS"
    url = f"wss://{bracketed(host)}:{place.port}"
    wide = "::" if ":" in host else "0.0.0.0"  # noqa: S104  (advice, binds nothing)
    secured = "" if place.secure else ' and tls = "auto"'
    return WayIn(
        way="network",
        text=f'In your own network: set host = "{wide}"{secured} under [gateway] in '
        f"{place.config_file}, then '{place.restart}'. The address is then {url}. An app "
        "that speaks only ws:// needs one of the other ways.",
    )


def _tailscale(place: Place) -> WayIn:
    mine = next((one.address for one in place.addresses if one.in_tailnet), None)
    forward = f"tailscale serve --bg --tcp {place.port} tcp://{bracketed(place.host)}:{place.port}"
    if mine is None:
        scheme = "wss" if place.secure else "ws"
        return WayIn(
            way="tailscale",
            text=f"With Tailscale on this machine and the phone: run '{forward}'. The address is "
            f"then {scheme}://NAME:{place.port}, where NAME is this machine's name or address in "
            "Tailscale, which encrypts all of it.",
        )
    return WayIn(
        way="tailscale",
        text=f"With Tailscale, which runs on this machine: run '{forward}', or set host = "
        f'"{mine}" under [gateway] in {place.config_file} and restart. The address is then '
        f"{place.url(mine)}; Tailscale encrypts all of it.",
    )


def _ssh(place: Place) -> WayIn:
    local = bracketed(place.host)
    target = f"{place.user}@{_outward(place) or place.name or 'ADDRESS'}"
    return WayIn(
        way="ssh",
        text=f"With an SSH app on the phone, where this machine takes SSH: "
        f"'ssh -L {place.port}:{local}:{place.port} {target}'. The address on the phone is then "
        f"{place.url('127.0.0.1')}.",
    )


def _outward(place: Place) -> str | None:
    """Return the address that others in the same network are most likely to reach."""
    mine = [one for one in place.addresses if not one.inward and not one.in_tailnet]
    return mine[0].address if mine else None
