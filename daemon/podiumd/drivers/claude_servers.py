"""The file that tells Claude Code to start the server of Podium's tools as a program of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from podiumd.drivers.base import TurnRequest
from podiumd.formats import mcp

FILE: Final = "mcp.json"
"""In the turn's directory. It holds the turn's token: an argument could be read by everybody."""


def write_servers(request: TurnRequest) -> None:
    """Write the file where the request has a ``tools_server``. Raises ``OSError``."""
    server = request.tools_server
    if server is None:
        return
    program, *arguments = server.command
    entry = {
        "type": "stdio",
        "command": program,
        "args": arguments,
        "env": server.environment,
    }
    path = servers_file(request)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"mcpServers": {mcp.NAME: entry}}, file)


def servers_file(request: TurnRequest) -> Path:
    """Where it is."""
    return Path(request.directory) / FILE
