"""The gateway for phones: pairing, and the devices that are paired."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from podiumd.wire.fields import DeviceName, Done, Nothing, Params, Result
from podiumd.wire.method import Method


class Pair(Params, frozen=True, kw_only=True):
    """``gateway.pair``; without a name it is 'phone', or 'phone-2' and so on."""

    name: DeviceName | None = None
    png: bool = False


class Revoke(Params, frozen=True, kw_only=True):
    """``gateway.revoke``."""

    device: DeviceName


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


DEVICES = Method[Nothing, list[Device]]("gateway.devices", "The paired devices.", reads=True)
PAIR = Method[Pair, Pairing]("gateway.pair", "A key for one more device, told once.")
REVOKE = Method[Revoke, Done]("gateway.revoke", "Take a device's key back.")
