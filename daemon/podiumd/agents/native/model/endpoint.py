"""The endpoint of a model and its key, from the settings and the daemon's environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import urlsplit

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.base import ModelError

Protocol = Literal["anthropic", "openai"]

_OWN: Final[dict[Protocol, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
}
_BASE: Final[dict[Protocol, str]] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}
_KEY: Final[dict[Protocol, str]] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_URL: Final = re.compile(r"https?://[^\s/@?#]+[^\s@?#]*")
_VERSION: Final = re.compile(r"v[0-9]+[a-z0-9]*")
_CALLS: Final = re.compile(r"/(?:messages|chat/completions|completions|models)\Z")
NO_MODEL: Final = "set model in {} to the model of OpenAI to use"
_LOOPBACK: Final = re.compile(r"127(\.[0-9]{1,3}){3}")
_HEADER: Final = re.compile(r"[\x21-\x7e]+")


class Endpoint:
    """A server of models.

    ``url`` has no slash at its end and may lack the protocol's version; ``own`` says that it is
    the provider's, not one that the user named; ``key`` may be empty, ``key_name`` is the variable
    that holds it, ``url_name`` says where the URL was set, ``agent`` is whose settings led to it.
    """

    def __init__(
        self,
        url: str,
        *,
        own: bool,
        agent: str,
        key: str = "",
        key_name: str = "",
        url_name: str = "base_url",
    ) -> None:
        self.url = _CALLS.sub("", url.rstrip("/")).rstrip("/")
        self.own = own
        self.key = key
        self.key_name = key_name
        self.url_name = url_name
        self.table = f"[agents.{agent}]"

    @property
    def versioned(self) -> bool:
        """Return whether the path names a version, so that none is to be added."""
        return any(_VERSION.fullmatch(part) for part in urlsplit(self.url).path.split("/"))

    @property
    def host(self) -> str:
        """Host and port, for people."""
        return urlsplit(self.url).netloc

    @property
    def loopback(self) -> bool:
        """Return whether the server is on this machine, where no proxy stands between."""
        host = urlsplit(self.url).hostname or ""
        return host in ("localhost", "::1") or _LOOPBACK.fullmatch(host) is not None


def problem(settings: NativeSettings, environ: Mapping[str, str], agent: str) -> str | None:
    """Return why no model can be asked with these settings, in a sentence; else ``None``."""
    if settings.provider == "scripted":
        return None
    try:
        endpoint = find_endpoint(settings.provider, settings, environ, agent)
    except ModelError as error:
        return str(error)
    if settings.provider == "openai" and endpoint.own and not settings.model:
        return NO_MODEL.format(endpoint.table)
    return None


def find_endpoint(
    protocol: Protocol, settings: NativeSettings, environ: Mapping[str, str], agent: str
) -> Endpoint:
    """Find the endpoint that settings and environment name.

    A server that the user names needs no key. Raises ``ModelError`` of kind ``setup`` for a URL or
    key that cannot be used, of kind ``auth`` without a needed key.
    """
    url, url_name = settings.base_url, f"base_url in [agents.{agent}]"
    if not url:
        url, url_name = environ.get(_BASE[protocol], "").strip(), _BASE[protocol]
    if url and not _URL.fullmatch(url):
        raise ModelError(
            "setup", f"{url_name} is no http or https URL without user, query and fragment"
        )
    own = not url
    name = settings.api_key_env or _KEY[protocol]
    key = environ.get(name, "").strip()
    if not key and settings.api_key_env:
        raise ModelError(
            "auth",
            f"the variable {name}, which api_key_env in [agents.{agent}] names, is not set in the"
            " daemon's environment; set it there and start the daemon anew",
        )
    if not key and own:
        raise ModelError(
            "auth",
            f"there is no key for the model: set {name} in the daemon's environment (export it,"
            " then 'podium down' and 'podium up')",
        )
    if key and not _HEADER.fullmatch(key):
        raise ModelError("setup", f"the key in {name} holds characters that no key can have")
    return Endpoint(
        url or _OWN[protocol], own=own, key=key, key_name=name, url_name=url_name, agent=agent
    )
