"""The gateway for phones: pairing, and the devices that are paired."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from podiumd.wire.fields import DeviceName, Done, Nothing, Params, Result
from podiumd.wire.method import Method, Scope

DeviceKind = Literal["phone", "web"]
"""``web``: a page in a browser."""


class Pair(Params, frozen=True, kw_only=True):
    """``gateway.pair``; without a name it is 'phone', or 'phone-2' and so on; a page is
    'browser'. ``scope`` is a page's."""

    name: DeviceName | None = None
    png: bool = False
    kind: DeviceKind = "phone"
    scope: Scope = "work"


class Rescope(Params, frozen=True, kw_only=True):
    """``gateway.scope``."""

    device: DeviceName
    scope: Scope


class Revoke(Params, frozen=True, kw_only=True):
    """``gateway.revoke``."""

    device: DeviceName


class Hello(Params, frozen=True, kw_only=True):
    """``client.hello``, the first message of a page. ``secret`` is what it was given when it was
    paired; the socket needs none."""

    secret: str = ""
    release: str = ""
    languages: tuple[str, ...] = ()


class Greeting(Result, frozen=True, kw_only=True):
    """Facts that a client has to know at first. ``release`` is that of the page as it is served
    now; a page of another one loads itself anew. ``now`` is RFC 3339."""

    device: str
    scope: Scope
    version: str
    release: str
    now: str


class GatewayStatus(Result, frozen=True, kw_only=True):
    """The state of the gateway for phones. ``problem``: why it does not listen, ``warning``: why it
    is not safe; sentences."""

    enabled: bool
    url: str | None
    clients: int
    problem: str | None
    warning: str | None


class Device(Result, frozen=True, kw_only=True):
    """A paired device."""

    device: str
    name: str
    paired_at: str
    last_seen: str | None
    connected: bool
    kind: DeviceKind
    scope: Scope


class WayIn(Result, frozen=True, kw_only=True):
    """A way in which a phone reaches this machine, in a sentence."""

    way: Literal["network", "tailscale", "ssh"]
    text: str


class Pairing(Result, frozen=True, kw_only=True):
    """A device that was paired now. ``key`` stands here only; ``qr`` is it in half blocks, ``png``
    a picture of that in base64. ``trust``: how a phone comes to trust the certificate."""

    device: str
    url: str
    key: str
    qr: str
    ways: tuple[WayIn, ...]
    trust: str | None
    fingerprint: str | None
    warning: str | None
    png: str | UnsetType = UNSET


class Invitation(Result, frozen=True, kw_only=True):
    """Leave for one page to be paired, by opening ``url`` or by typing ``code`` into it. ``qr`` is
    the URL in half blocks, ``png`` a picture of that in base64."""

    url: str
    code: str
    scope: Scope
    url_minutes: int
    code_minutes: int
    qr: str
    ways: tuple[WayIn, ...]
    trust: str | None
    fingerprint: str | None
    warning: str | None
    png: str | UnsetType = UNSET


HELLO = Method[Hello, Greeting](
    "client.hello", "Say who it is, and hear who it is taken for.", needs="look"
)
DEVICES = Method[Nothing, list[Device]]("gateway.devices", "The paired devices.", reads=True)
PAIR = Method[Pair, Pairing | Invitation]("gateway.pair", "A key for one more device, told once.")
REVOKE = Method[Revoke, Done]("gateway.revoke", "Take a device's key back.")
SCOPE = Method[Rescope, Done]("gateway.scope", "Change what a page may do.")
