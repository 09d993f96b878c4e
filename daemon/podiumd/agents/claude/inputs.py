"""The files that Claude Code is started with: texts too long for an argument, or too private.

Every user on the machine can read the arguments of a process, and none may be over 128 KiB.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from podiumd.core.recipe.served_tools import SERVER
from podiumd.drivers.base import TurnRequest
from podiumd.tools.files.private_file import write_private

SERVERS: Final = "mcp.json"
"""In the turn's directory: how to start the server of Podium's tools, with the turn's token."""

SYSTEM: Final = "system.txt"
"""In the turn's directory: what is added to the agent's system text."""


def write_inputs(request: TurnRequest) -> None:
    """Write the files that the request needs. Raises ``OSError``."""
    server = request.tools_server
    if server is not None:
        program, *arguments = server.command
        entry = {
            "type": "stdio",
            "command": program,
            "args": arguments,
            "env": server.environment,
        }
        write_private(servers_file(request), json.dumps({"mcpServers": {SERVER: entry}}))
    if request.system_prompt:
        write_private(system_file(request), request.system_prompt)


def servers_file(request: TurnRequest) -> Path:
    """Return the file with the start of the server of Podium's tools."""
    return Path(request.directory) / SERVERS


def system_file(request: TurnRequest) -> Path:
    """Return the file with the addition to the system text."""
    return Path(request.directory) / SYSTEM
