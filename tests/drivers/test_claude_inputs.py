"""The files that Claude Code is started with: how to start Podium's tools, and its system text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.agents.claude.arguments import SERVERS, claude_arguments
from podiumd.agents.claude.inputs import servers_file, system_file, write_inputs
from podiumd.drivers.base import ToolsServer, TurnRequest
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
    write_inputs(request_)

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

    write_inputs(request_)
    write_inputs(request_)

    assert elsewhere.read_text() == "mine"
    assert "the-token" in servers_file(request_).read_text()


def test_the_arguments_name_the_file_and_never_the_token(request_: TurnRequest) -> None:
    argv = claude_arguments(request_)

    assert argv[argv.index("--mcp-config") + 1] == str(servers_file(request_))
    assert argv[-2:] == ["--allowedTools", "mcp__podium__save"]
    assert "the-token" not in " ".join(argv)


@pytest.mark.parametrize("text", ["--be brief", "ä\n" * 100_000])
def test_a_system_text_is_in_a_file_of_its_owners_whatever_it_is(
    request_: TurnRequest, text: str
) -> None:
    request = replace(request_, system_prompt=text)

    write_inputs(request)
    argv = claude_arguments(request)

    path = system_file(request)
    assert argv[argv.index("--append-system-prompt-file") + 1] == str(path)
    assert path.read_text() == text and path.stat().st_mode & 0o777 == 0o600
    assert text not in " ".join(argv)


def test_tools_that_the_driver_serves_need_no_file(request_: TurnRequest) -> None:
    request = replace(request_, tools_server=None)

    write_inputs(request)
    argv = claude_arguments(request)

    assert list(Path(request.directory).iterdir()) == []
    assert argv[argv.index("--mcp-config") + 1] == SERVERS
