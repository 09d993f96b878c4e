"""launchd's agent for one person: the shipped one with this machine's paths in their places."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from podiumd.service.templates import template

LABEL: Final = "podiumd"
FILE: Final = "podiumd.plist"
OPTIONS: Final = ("--detached", "--log-format", "json")


def agent(
    program: Sequence[str],
    variables: Mapping[str, str],
    *,
    socket: Path,
    early_log: Path,
    gateway: tuple[str, int] | None = None,
) -> str:
    """Build the property list.

    ``early_log`` takes output before the daemon's own log is open; ``gateway`` is the host and port
    that launchd is to hold for it.
    """
    shipped: dict[str, Any] = plistlib.loads(template("launchd", FILE).encode())
    sockets: dict[str, Any] = {"rpc": {"SockPathName": str(socket), "SockPathMode": 0o600}}
    if gateway is not None:
        host, port = gateway
        sockets["gateway"] = {"SockNodeName": host, "SockServiceName": str(port)}
    made = shipped | {
        "ProgramArguments": [*program, *OPTIONS],
        "EnvironmentVariables": {**shipped["EnvironmentVariables"], **variables},
        "Sockets": sockets,
        "StandardOutPath": str(early_log),
        "StandardErrorPath": str(early_log),
    }
    return plistlib.dumps(made, sort_keys=False).decode()
