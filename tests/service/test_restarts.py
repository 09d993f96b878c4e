"""Restarts lose no turn and refuse nobody: a few rounds of what ``make restarts`` plays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import PATH, Machine
from tests.fakes.model_server import ModelServer
from tests.service import restarts

pytestmark = [pytest.mark.claude, pytest.mark.slow]


async def test_kill_9_under_a_held_socket_loses_no_turn_and_refuses_nobody(
    machine: Machine, model_server: ModelServer
) -> None:
    await restarts.killed(machine, model_server, 3)


async def test_sigterm_leaves_every_turn_to_the_next_daemon(
    machine: Machine, model_server: ModelServer
) -> None:
    await restarts.stopped(machine, model_server, 3)


async def test_down_leaves_no_child_and_no_socket(
    machine: Machine, model_server: ModelServer
) -> None:
    await restarts.taken_down(machine, model_server, 2)


async def test_a_turn_outlives_installing_and_restarting_the_service(
    machine: Machine, model_server: ModelServer, tmp_path: Path
) -> None:
    """A daemon by hand, the service in its place, its restart, as after an upgrade in place."""
    programs = tmp_path / "bin"
    programs.mkdir()
    systemctl = programs / "systemctl"
    stand_in = Path(__file__).with_name("stand_in_systemctl.py")
    systemctl.write_text(f'#!/bin/sh\nexec {sys.executable} {stand_in} "$@"\n')
    systemctl.chmod(0o755)
    place = restarts.Workplace(machine, model_server)
    around = {"PATH": f"{programs}:{PATH}", "XDG_RUNTIME_DIR": str(tmp_path), "USER": "ada"}
    async with PodiumDaemon(machine, **restarts.SETTINGS, **around) as podium:
        await place.begin(podium)
        config = machine.podium_home / "config.toml"
        config.write_text(config.read_text() + f"[limits]\nmax_agents = {restarts.TURNS}\n")
        installed = await podium.cli("service", "install")
        assert installed.code == 0, installed
        assert await podium.wait() == 0
        restarted = await podium.cli("service", "restart")
        assert f"Turns taken up: {restarts.TURNS}." in restarted.out, restarted
        status = await podium.rpc("daemon.status")
        assert (status["service"], status["taken_up"]) == ("systemd", restarts.TURNS)
        await place.finish(podium)
        gone = await podium.cli("service", "uninstall")
        assert gone.code == 0 and podium.living() == [], gone
