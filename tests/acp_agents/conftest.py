"""What every test with a real agent of the protocol needs: its program, a machine, a daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import ROWS, Row
from tests.acp_agents.table import documented, rendered, words_of
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.install_claude import InstallError
from tests.e2e.machine import GitRepo
from tests.fakes.model_server import ModelServer

CASES: Final = "test_daemon.py"
"""The module whose tests are the cases of the table."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect a case to fail where the table says so: one that passes then is a failure."""
    table = documented()
    for item in items:
        if isinstance(item, pytest.Function) and item.path.name == CASES:
            agent = item.callspec.params["row"]
            assert isinstance(agent, Row)
            cell = table.get(words_of(item.originalname), {}).get(agent.name, "yes")
            if cell != "yes":
                item.add_marker(pytest.mark.xfail(strict=True, reason=f"the table says: {cell}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what came out, as the table."""
    cells: dict[tuple[str, str], str] = {}
    for outcome in ("passed", "xfailed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            module, _, test = report.nodeid.partition("::")
            if module.endswith(CASES) and report.when in ("call", "setup"):
                name, _, agent = test.rstrip("]").partition("[")
                said = str(getattr(report, "wasxfail", "")).removeprefix("the table says: ")
                cells[words_of(name), agent] = said or ("yes" if outcome == "passed" else "FAILED")
    if cells:
        terminalreporter.section("agents and cases")
        for line in rendered(cells, ROWS):
            terminalreporter.line(line)


@pytest.fixture(params=ROWS.values(), ids=list(ROWS))
def row(request: pytest.FixtureRequest) -> Row:
    """Each agent in turn."""
    found = request.param
    assert isinstance(found, Row)
    return found


@pytest.fixture
def command(row: Row) -> tuple[str, ...]:
    """The command of the pinned program; it is installed where it is not there.

    Never skips: without the program its contract is unproved, and that is a failure.
    """
    try:
        return row.program.command()
    except (InstallError, OSError) as error:
        pytest.fail(f"{row.name} is needed and could not be installed: {error}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that listens, with nothing scripted yet: ``load`` a script."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def machine(
    row: Row, command: tuple[str, ...], server: ModelServer, tmp_path: Path
) -> AgentMachine:
    """A machine on which the agent is set up."""
    program = Path(command[0])
    made = AgentMachine(tmp_path, tmp_path / "home", program, server, row, command)
    made.set_up()
    made.configure()
    return made


@pytest.fixture
async def podium(machine: AgentMachine) -> AsyncIterator[PodiumDaemon]:
    """Its daemon."""
    async with PodiumDaemon(machine) as daemon:
        yield daemon
    print(daemon.log_text())  # shown where the test fails


@pytest.fixture
def repo(machine: AgentMachine) -> GitRepo:
    """A repository."""
    return machine.repository()
