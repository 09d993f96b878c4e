"""docs/agents.md says of agents what the code says, and each of its cells has a test."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec

from podium.agent_kinds import CAPABILITIES
from podiumd.agents.kinds import KINDS
from podiumd.config.load import load
from podiumd.core.analysis.check_agents import Capabilities
from tests.house.agents_page import PAGE, made
from tests.house.source import ROOT

MEANINGS = ("`allow`", "`tools`", "`always`", "`commits`", "busy")


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


def _meanings() -> tuple[list[str], dict[str, list[str]]]:
    """The columns of the table of meanings, and its rows by their names."""
    table = _page().partition("\n## What a step's words mean")[2].partition("\n| |")[2]
    lines = [line.strip("| ").split(" | ") for line in f"| |{table}".splitlines()]
    heads, _, *rows = [line for line in lines if len(line) > 1]
    return [head for head in heads if head], {row[0]: row[1:] for row in rows}


def test_the_tables_are_those_of_the_code() -> None:
    assert made(_page()) == _page(), "write them anew: make agents-page"


def test_each_ability_has_words() -> None:
    fields = {field.name for field in msgspec.structs.fields(Capabilities)}

    assert CAPABILITIES.keys() == fields - {"permission_modes"}


def test_each_meaning_says_how_each_kind_of_agent_keeps_it() -> None:
    columns, rows = _meanings()

    assert set(columns) == KINDS.keys()
    assert tuple(rows) == MEANINGS
    assert all(len(cells) == len(columns) and all(cells) for cells in rows.values())


def test_each_cell_of_it_has_a_test() -> None:
    columns, rows = _meanings()
    promises = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    held = set(re.findall(r"^\| (\S+, \S+) \| `tests/", promises, re.MULTILINE))

    assert {f"{meaning}, {kind}" for meaning in rows for kind in columns} <= held


def test_the_five_lines_are_an_agent(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```toml\n(.*?)```", _page(), re.DOTALL)
    (tmp_path / "config.toml").write_text(lines)
    loaded = load({"PODIUM_HOME": str(tmp_path), "HOME": str(tmp_path)}, "linux", tmp_path)

    assert len(lines.splitlines()) == 5 and not loaded.warnings
    agent = loaded.config.agents["mine"]
    assert agent.kind is KINDS["acp"] and agent.plan.command == ("my-agent", "--acp")
    assert tomllib.loads(lines)["agents"]["mine"]["ask_mode"] == "default"
