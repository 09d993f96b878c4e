"""What is known of the real agent's login without asking a model: by the doctor, and by ``up``."""

from __future__ import annotations

import json

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude


async def test_the_agent_itself_says_whether_it_is_logged_in(
    machine: Machine, model_server: ModelServer
) -> None:
    async with PodiumDaemon(machine, ANTHROPIC_API_KEY=None) as podium:
        fresh = await podium.cli("doctor", "--json")
        left = sorted(path.name for path in machine.home.rglob("*"))
        # As after its first start: it has a file of its own, and is asked itself from now on.
        (machine.home / ".claude.json").write_text("{}")
        asked = await podium.cli("doctor", "--json")
    async with PodiumDaemon(machine) as podium:
        keyed = await podium.cli("doctor", "--json")

    states = [_claude(said.out) for said in (fresh, asked, keyed)]
    assert [state for state, _ in states] == ["warn", "warn", "ok"]
    assert states[0][1].startswith("claude is not logged in (2.1.328 ")
    assert states[1] == states[0]
    assert states[2][1].endswith(", key in ANTHROPIC_API_KEY")
    assert ".claude.json" not in left and ".claude" not in left
    assert model_server.requests == []


def _claude(document: str) -> tuple[str, str]:
    checks = json.loads(document)["checks"]
    (found,) = [one for one in checks if one["check"] == "agent claude"]
    return found["state"], found["message"]
