"""Sessions of agents that no table configures are listed, and those of a table as its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podiumd.agents.others import OTHERS
from podiumd.config.load import load
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index.tree import Root
from podiumd.sessions.roots import roots_of

PLACES = {
    "qwen": ".qwen/projects",
    "gemini": ".gemini/tmp",
    "kimi": ".kimi-code/sessions",
    "copilot": ".copilot/session-state",
}
MOVED = {
    "QWEN_HOME": ("qwen", "projects"),
    "QWEN_RUNTIME_DIR": ("qwen", "projects"),
    "GEMINI_CLI_HOME": ("gemini", ".gemini/tmp"),
    "KIMI_CODE_HOME": ("kimi", "sessions"),
    "COPILOT_HOME": ("copilot", "session-state"),
}


def roots(home: Path, config: str = "", **environ: str) -> dict[Path, tuple[str, str]]:
    """The agent and the format by directory, of agents other than those without a table."""
    (home / "config.toml").write_text(config)
    environ |= {"PODIUM_HOME": str(home), "HOME": str(home)}
    loaded = load(environ, "linux", home)
    found: list[Root] = roots_of(loaded.config.agents, environ, loaded.places.state)
    own = {"claude", "codex", "native"}
    return {one.directory: (one.agent, one.format_name) for one in found if one.agent not in own}


def table(name: str, **settings: object) -> str:
    lines = (f"{key} = {json.dumps(value)}" for key, value in settings.items())
    return "\n".join([f"[agents.{name}]", 'driver = "acp"', *lines, ""])


def test_each_is_looked_for_in_the_home_without_a_table_and_with_one(tmp_path: Path) -> None:
    expected = {tmp_path / place: (name, name) for name, place in PLACES.items()}
    assert roots(tmp_path) == expected
    assert roots(tmp_path, "".join(map(table, PLACES))) == expected
    assert OTHERS.keys() == PLACES.keys() <= FORMATS.keys()


@pytest.mark.parametrize("variable", MOVED)
def test_each_is_looked_for_where_its_variable_says(variable: str, tmp_path: Path) -> None:
    name, files = MOVED[variable]
    moved = str(tmp_path / "moved")
    for config in ("", table(name)):
        found = roots(tmp_path, config, **{variable: moved})
        assert found[tmp_path / "moved" / files] == (name, name)
        assert tmp_path / PLACES[name] not in found


def test_a_variable_that_is_empty_moves_nothing(tmp_path: Path) -> None:
    assert roots(tmp_path, KIMI_CODE_HOME="")[tmp_path / PLACES["kimi"]] == ("kimi", "kimi")


def test_a_table_of_another_name_has_its_own_beside_those(tmp_path: Path) -> None:
    lines = table("work", command=["kimi", "acp"], session_format="kimi")
    found = roots(tmp_path, f"{lines}[agents.work.env]\nKIMI_CODE_HOME = '{tmp_path}/work'\n")
    assert found[tmp_path / "work" / "sessions"] == ("work", "kimi")
    assert found[tmp_path / PLACES["kimi"]] == ("kimi", "kimi")


def test_sessions_in_a_directory_that_a_table_shares_are_its_own(tmp_path: Path) -> None:
    found = roots(tmp_path, table("mine", command=["kimi"], session_format="kimi"))
    assert found[tmp_path / PLACES["kimi"]] == ("mine", "kimi")


def test_of_a_table_without_a_format_what_podium_ran_is_listed(tmp_path: Path) -> None:
    found = roots(tmp_path, table("mine"))
    assert [one for one in found.values() if one[0] == "mine"] == [("mine", "acp")]


def test_a_name_whose_table_says_another_format_is_read_in_that_alone(tmp_path: Path) -> None:
    found = roots(tmp_path, table("kimi", session_format="qwen"))
    assert found[tmp_path / PLACES["qwen"]] == ("kimi", "qwen")
    assert tmp_path / PLACES["kimi"] not in found


def test_a_name_whose_table_is_of_another_kind_is_that_agent_alone(tmp_path: Path) -> None:
    found = roots(
        tmp_path, '[agents.kimi]\ndriver = "claude"\nenv = { CLAUDE_CONFIG_DIR = "/c" }\n'
    )
    assert found[Path("/c/projects")] == ("kimi", "claude")
    assert tmp_path / PLACES["kimi"] not in found
