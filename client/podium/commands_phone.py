"""``podium phone``: a phone without a phone, for trying and developing."""

from __future__ import annotations

import os

from podium import text
from podium.errors import USAGE, Failure


def phone(
    url: str | None, key: str | None, variant: str, fingerprint: str | None, json: bool
) -> int:
    """``podium phone``."""
    key = key or os.environ.get("PODIUM_PHONE_KEY")
    if not key:
        raise Failure(
            "A phone needs a key: 'podium pair' makes one, --key or PODIUM_PHONE_KEY gives it.",
            USAGE,
        )
    address = url or _own_gateway()
    from podium.phone.console import Console
    from podium.phone.variants import VARIANTS

    return Console(address, key, VARIANTS[variant], fingerprint, json=json).run()


def _own_gateway() -> str:
    """The address of the daemon's own gateway."""
    from podium.connection import call

    gateway = call("daemon.status").get("gateway") or {}
    if problem := gateway.get("problem"):
        raise Failure(f"The daemon's gateway does not listen: {text.fold(problem)}")
    if not gateway.get("enabled") or not gateway.get("url"):
        raise Failure(
            "The daemon's gateway is off: 'enabled = true' under [gateway] turns it on, "
            "or --url names another."
        )
    return str(gateway["url"])
