"""Restarts lose no turn and refuse nobody: a few rounds of what ``make restarts`` plays."""

from __future__ import annotations

import pytest

from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer
from tests.service import restarts

pytestmark = [pytest.mark.claude, pytest.mark.slow]


async def test_kill_9_under_a_held_socket_loses_no_turn_and_refuses_nobody(
    machine: Machine, model_server: ModelServer
) -> None:
    waits = await restarts.killed(machine, model_server, 3)

    assert max(waits) < 10, "on a machine under load; the campaign holds it to 1.5 s"


async def test_sigterm_leaves_every_turn_to_the_next_daemon(
    machine: Machine, model_server: ModelServer
) -> None:
    await restarts.stopped(machine, model_server, 3)


async def test_down_leaves_no_child_and_no_socket(
    machine: Machine, model_server: ModelServer
) -> None:
    await restarts.taken_down(machine, model_server, 2)
