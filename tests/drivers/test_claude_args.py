"""The command line of a turn of Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.agents.claude.arguments import SERVERS, claude_arguments, claude_environment
from podiumd.agents.claude.inputs import servers_file, system_file, write_inputs
from podiumd.drivers.base import ToolsServer, TurnRequest
from tests.drivers.rig import Rig
from tests.drivers.serving import ASK, SAVE


def arguments(tmp_path: Path, **changes: Any) -> list[str]:
    rig = Rig(tmp_path, command=("claude", "--own"), session_id="s-1")
    return claude_arguments(rig.request("a secret prompt", **changes))


def test_a_new_session_speaks_stream_json_both_ways_and_asks_over_stdio(tmp_path: Path) -> None:
    line = " ".join(arguments(tmp_path))
    assert line.startswith("claude --own -p --input-format stream-json --output-format stream-json")
    assert "--permission-prompt-tool stdio" in line and line.endswith("--session-id s-1")
    assert "secret" not in line


def test_resume_and_fork(tmp_path: Path) -> None:
    assert arguments(tmp_path, session_mode="resume")[-2:] == ["--resume", "s-1"]
    forked = arguments(tmp_path, session_mode="fork", fork_from="s-0")
    assert forked[-5:] == ["--resume", "s-0", "--fork-session", "--session-id", "s-1"]
    with pytest.raises(ValueError, match="session to fork from"):
        arguments(tmp_path, session_mode="fork")


def test_model_budget_mode_and_schema(tmp_path: Path) -> None:
    line = arguments(
        tmp_path,
        model="opus",
        max_budget_usd=0.25,
        permission_mode="acceptEdits",
        schema={"type": "object", "title": "é"},
    )
    assert line[-8:] == [
        "--json-schema",
        '{"type": "object", "title": "é"}',
        "--model",
        "opus",
        "--max-budget-usd",
        "0.250000",
        "--permission-mode",
        "acceptEdits",
    ]


def test_a_spent_budget_is_still_a_budget(tmp_path: Path) -> None:
    assert arguments(tmp_path, max_budget_usd=0.0)[-1] == "0.000001"


def test_allowed_tools_come_last_because_the_option_takes_any_number(tmp_path: Path) -> None:
    line = arguments(tmp_path, allow=("Bash(git commit:*)", "Edit"), model="x")
    assert line[-3:] == ["--allowedTools", "Bash(git commit:*)", "Edit"]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ("all", []),
        ("none", ["--tools", "", "--strict-mcp-config"]),
        ("read-only", ["--tools", "Read,Grep,Glob,WebFetch,WebSearch", "--strict-mcp-config"]),
        (("Bash", "Read"), ["--tools", "Bash,Read", "--strict-mcp-config"]),
        (("Read", "mcp__db__query"), ["--tools", "Read"]),
        (("Read", "mcp__podium__save"), ["--tools", "Read", "--strict-mcp-config"]),
    ],
)
def test_tools(tmp_path: Path, tools: Any, expected: list[str]) -> None:
    line = arguments(tmp_path, tools=tools)
    assert line[line.index("s-1") + 1 :] == expected


def test_an_unknown_word_for_tools_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected all, read-only, none or a list"):
        arguments(tmp_path, tools="readonly")


def test_a_system_prompt_is_added_from_a_file(tmp_path: Path) -> None:
    argv = arguments(tmp_path, system_prompt="--be brief")
    assert Path(argv[argv.index("--append-system-prompt-file") + 1]).name == "system.txt"
    assert "be brief" not in " ".join(argv)
    assert "system-prompt" not in " ".join(arguments(tmp_path))


def test_a_system_prompt_is_that_of_this_turn_whatever_the_session_began_with(
    tmp_path: Path,
) -> None:
    line = " ".join(arguments(tmp_path, system_prompt="Be brief.", session_mode="resume"))
    assert "--system-prompt-snapshot off --append-system-prompt-file " in line


@pytest.mark.parametrize("names", [("Read", "save"), ("Read", "mcp__podium__save")])
def test_served_tools_are_another_servers_and_allowed(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    line = arguments(tmp_path, served=(SAVE, ASK), tools=names, allow=("Edit",))
    assert line[line.index("s-1") + 1 :] == [
        *("--tools", "Read", "--strict-mcp-config"),
        *("--mcp-config", '{"mcpServers": {"podium": {"type": "sdk", "name": "podium"}}}'),
        *("--allowedTools", "Edit", "mcp__podium__save", "mcp__podium__ask"),
    ]


def test_tools_that_are_others_in_each_step_are_those_of_this_turn(tmp_path: Path) -> None:
    line = arguments(tmp_path, served=(SAVE, ASK), changing=True, session_mode="resume")
    assert line[line.index("--system-prompt-snapshot") + 1] == "off"


def test_an_agent_that_is_served_waits_for_its_tools_and_no_other_knows_of_it(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, environment={"MCP_TIMEOUT": "5000"})
    plain, served = rig.request(), rig.request(served=(SAVE,))
    assert claude_environment(plain)["MCP_TIMEOUT"] == "5000"
    assert claude_environment(served)["MCP_TIMEOUT"] == "86400000"
    assert claude_environment(plain)["HOME"] == str(rig.home)


def test_an_agent_gets_its_requests_environment_and_nothing_of_the_daemons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_DAEMON", "s3cret")
    request = Rig(tmp_path).request()

    assert claude_environment(request) == {
        **request.environment,
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


# -- the files that Claude Code is started with: how to start Podium's tools, and its system te


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
