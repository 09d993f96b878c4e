"""What every test with a real agent of the protocol needs: its program, a machine, a daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import ROWS, Row
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.install_claude import InstallError
from tests.e2e.machine import GitRepo
from tests.fakes.model_server import ModelServer


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
