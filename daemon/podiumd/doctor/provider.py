"""Whether the agents' providers can be reached: a connection, on which nothing is sent."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from podiumd.agents.native.model.endpoint import Endpoint, find_endpoint, problem
from podiumd.doctor import agents
from podiumd.doctor.report import Check, ok, warn
from podiumd.doctor.subject import Subject

_SECONDS: Final = 3.0
_CLAUDE_OWN: Final = "https://api.anthropic.com"
_FIX: Final = "check the network, and {name} and the proxy in the daemon's environment"


def provider(subject: Subject) -> list[Check]:
    """Of each agent that is set up, the server that it talks to."""
    found = []
    if url := _of_claude(subject):
        environment = agents.environment(subject, subject.daemon_environ)
        found.append(_reached("provider", url, "ANTHROPIC_BASE_URL", environment))
    endpoint = _of_native(subject)
    if endpoint is not None and endpoint.url != url:
        name = "provider native" if found else "provider"
        found.append(_reached(name, endpoint.url, endpoint.url_name, subject.daemon_environ))
    return found or [ok("provider", "none is set up yet")]


def _of_claude(subject: Subject) -> str:
    """Where Claude Code asks; nothing where it is not ready, or asks another cloud."""
    environment = agents.environment(subject, subject.daemon_environ)
    other = any(name.startswith("CLAUDE_CODE_USE_") for name in environment)
    if other or agents.claude(subject)[0].state != "ok":
        return ""
    return environment.get("ANTHROPIC_BASE_URL") or _CLAUDE_OWN


def _of_native(subject: Subject) -> Endpoint | None:
    settings, environ = subject.config.agents.native, subject.daemon_environ
    if settings.provider == "scripted" or problem(settings, environ) is not None:
        return None
    return find_endpoint(settings.provider, settings, environ)


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
