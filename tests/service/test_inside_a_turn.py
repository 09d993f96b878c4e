"""What agents need works inside a turn of a daemon that is confined as the unit says.

The daemon, the agent and its tool are real; ``make user-manager`` tries the same under systemd.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.fakes.model_server import ModelServer
from tests.service.confined import ABOUT_THE_SERVICE, APPLIED, service_settings
from tests.service.needs import prepared, try_all

pytestmark = pytest.mark.claude


class ConfinedDaemon(PodiumDaemon):
    """Its process, and so every turn's, is under the settings of the unit."""

    program = (str(Path(__file__).with_name("confined.py")), "-m", "podiumd")


def test_every_setting_of_the_unit_is_tried_here() -> None:
    assert {name for name, _ in service_settings()} == ABOUT_THE_SERVICE | APPLIED.keys()


async def test_sandboxes_node_compilers_and_git_over_ssh_work_in_a_turn(
    machine: Machine, model_server: ModelServer, repo: GitRepo, tmp_path: Path
) -> None:
    with prepared(machine, model_server, repo, tmp_path / "ssh") as socket:
        async with ConfinedDaemon(machine, SSH_AUTH_SOCK=str(socket)) as podium:
            await try_all(podium, repo)
