"""A machine for a daemon in the test's own process, and the recipes that most tests start there."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from podiumd.runtime.recipes.catalogue import builtin_directory
from podiumd.sessions.transcripts import open_transcripts
from podiumd.store.facts import open_store
from tests.runtime.harness import Machine


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The databases of a daemon that nothing is stored of: making them costs as much as the rest
    of a start, so each test has copies."""
    machine = Machine(tmp_path_factory.mktemp("databases"))

    async def make() -> None:
        async with (
            open_store(machine.state) as store,
            open_transcripts(machine.state, machine.roots, store),
        ):
            pass

    trio.run(make)
    return sorted(machine.state.glob("*.db"))


@pytest.fixture
def machine(tmp_path: Path, databases: list[Path]) -> Machine:
    """A machine with an agent that does what the test says, and no daemon yet."""
    return Machine(tmp_path, databases)


@pytest.fixture
def shipped(machine: Machine) -> None:
    """The machine has the recipes that come with Podium as well: each start reads all of them."""
    machine.builtin = builtin_directory()


@pytest.fixture
def one(machine: Machine) -> str:
    """A recipe of one step."""
    return machine.one_step()


@pytest.fixture
def gated(machine: Machine) -> str:
    """A recipe of one step that a person has to agree to."""
    return machine.one_step("gated", step='gate = "Go on?"')
