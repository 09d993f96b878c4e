"""The cookie with a page's key. Pure.

A browser sends a cookie to every port of its host. So its name has the gateway's port, for two
daemons of one machine not to overwrite each other's, and it opens nothing without the secret that
the page keeps in its origin's storage.
"""

from __future__ import annotations

from typing import Final

LASTS_SECONDS: Final = 400 * 24 * 3600
"""The longest that browsers keep a cookie (RFC 6265bis, section 5.5)."""


def cookie_name(port: int, secure: bool) -> str:
    """Return the cookie's name. ``secure``: the page came over HTTPS; on plain HTTP a browser
    takes no cookie of the name's prefix."""
    return f"__Host-podium-{port}" if secure else f"podium-{port}"


def set_cookie(port: int, secure: bool, key: str, seconds: int = LASTS_SECONDS) -> str:
    """Return the value of ``Set-Cookie``; no ``seconds``: the browser is to drop it."""
    secured = "; Secure" if secure else ""
    name = cookie_name(port, secure)
    return f"{name}={key}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secured}"


def key_of(header: str, port: int, secure: bool) -> str:
    """Return the key in a ``Cookie`` header; empty where there is none."""
    wanted = cookie_name(port, secure)
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == wanted:
            return value
    return ""
