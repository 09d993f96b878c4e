"""The table of the documentation has each case and each agent, and what is refused is declared."""

from __future__ import annotations

import pytest

from podiumd.agents.acp.kind import known_agents
from tests.acp_agents import test_daemon
from tests.acp_agents.rows import ROWS
from tests.acp_agents.table import FILE, documented, rendered, words_of

pytestmark = [pytest.mark.acp_agents]


def test_each_case_and_each_agent_stands_in_the_table() -> None:
    cases = {words_of(name) for name in vars(test_daemon) if name.startswith("test_")}
    table = documented()
    assert table.keys() == cases
    assert all(list(row) == list(ROWS) for row in table.values())
    assert {cell for row in table.values() for cell in row.values()} == {"yes", "no", "refused"}


@pytest.mark.parametrize("agent", ROWS)
def test_what_is_refused_is_what_the_agent_is_declared_to_lack(agent: str) -> None:
    known = known_agents()[agent]
    can = {
        "what only reads changes nothing and asks nobody": bool(known.read_only_mode),
        "a session is copied and both go on apart": known.fork,
    }
    for case, row in documented().items():
        assert (row[agent] == "refused") is not can.get(case, True), case


def test_the_versions_are_those_that_are_installed() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert all(f"| {row.program.version} |" in text for row in ROWS.values())


def test_what_came_out_is_shown_as_the_table_is_written() -> None:
    cells = {("a", "x"): "yes", ("a", "y"): "FAILED", ("b", "y"): "no"}
    assert rendered(cells, ["x", "y"])[2:] == ["| a | yes | FAILED |", "| b |  | no |"]
