"""The check that the agents' providers can be reached: a connection, on which nothing is sent."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from podiumd.doctor import agents
from podiumd.doctor.subject import Subject
from podiumd.observe.checks import Check, ok, warn

_SECONDS: Final = 3.0
_FIX: Final = "check the network, and {name} and the proxy in the daemon's environment"


def provider(subject: Subject) -> list[Check]:
    """Check the server of each agent that is set up."""
    found: list[Check] = []
    seen = set()
    for name in subject.config.agents:
        doctor, asked = agents.examined(subject, name)
        asks = doctor.provider(asked)
        if asks is not None and asks.url not in seen:
            seen.add(asks.url)
            check = f"provider {name}" if found else "provider"
            found.append(_reached(check, asks.url, asks.setting, asks.environ))
    return found or [ok("provider", "none is set up yet")]


def _reached(name: str, url: str, setting: str, environ: Mapping[str, str]) -> Check:
    try:
        place, port = _place(url, environ)
        socket.create_connection((place, port), timeout=_SECONDS).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        message = f"{urlsplit(url).netloc} cannot be reached: {why}"
        return warn(name, message, _FIX.format(name=setting))
    through = "" if place == urlsplit(url).hostname else f" (by the proxy {place}:{port})"
    return ok(name, f"{urlsplit(url).netloc} can be reached{through}")


def _place(url: str, environ: Mapping[str, str]) -> tuple[str, int]:
    """Host and port to connect to: the proxy's, where one is set and not for other hosts alone."""
    parts = urlsplit(url)
    host, proxy = parts.hostname or "", ""
    names = (f"{parts.scheme}_proxy", "all_proxy")
    for name in (*names, *(one.upper() for one in names)):
        proxy = proxy or environ.get(name, "")
    direct = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    listed = [one.strip().lstrip(".") for one in direct.split(",") if one.strip()]
    if any(one in ("*", host) or host.endswith(f".{one}") for one in listed):
        proxy = ""
    if not proxy:
        return host, parts.port or (80 if parts.scheme == "http" else 443)
    taken = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return taken.hostname or "", taken.port or (443 if taken.scheme == "https" else 80)
