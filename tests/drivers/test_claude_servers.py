"""Claude Code that starts the server of Podium's tools itself: the file that tells it how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.drivers.base import ToolsServer, TurnRequest
from podiumd.drivers.claude_args import SERVERS, claude_arguments
from podiumd.drivers.claude_servers import servers_file, write_servers
from tests.drivers.rig import Rig
from tests.drivers.serving import SAVE

SERVER = ToolsServer(
    command=("/opt/podium", "mcp"),
    environment={"PODIUM_TOOLS_TOKEN": "the-token", "PODIUM_SOCKET": "/run/podium.sock"},
)


@pytest.fixture
def request_(tmp_path: Path) -> TurnRequest:
    return Rig(tmp_path, command=("claude",)).request(served=(SAVE,), tools_server=SERVER)


def test_the_file_names_program_and_token_and_is_for_its_owner_alone(
    request_: TurnRequest,
) -> None:
    write_servers(request_)

    path = servers_file(request_)
    assert json.loads(path.read_text()) == {
        "mcpServers": {
            "podium": {
                "type": "stdio",
                "command": "/opt/podium",
                "args": ["mcp"],
                "env": SERVER.environment,
            }
        }
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent == Path(request_.directory)


def test_it_is_written_anew_and_through_no_link(request_: TurnRequest, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    servers_file(request_).symlink_to(elsewhere)

    write_servers(request_)
    write_servers(request_)

    assert elsewhere.read_text() == "mine"
    assert "the-token" in servers_file(request_).read_text()


def test_the_arguments_name_the_file_and_never_the_token(request_: TurnRequest) -> None:
    argv = claude_arguments(request_)

    assert argv[argv.index("--mcp-config") + 1] == str(servers_file(request_))
    assert argv[-2:] == ["--allowedTools", "mcp__podium__save"]
    assert "the-token" not in " ".join(argv)


def test_tools_that_the_driver_serves_need_no_file(request_: TurnRequest) -> None:
    request = replace(request_, tools_server=None)

    write_servers(request)
    argv = claude_arguments(request)

    assert list(Path(request.directory).iterdir()) == []
    assert argv[argv.index("--mcp-config") + 1] == SERVERS
