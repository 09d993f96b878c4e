"""The command line of a turn of Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.claude.arguments import claude_arguments, claude_environment
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
