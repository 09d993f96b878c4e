"""The model's API fails, refuses, is used up, or never answers."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import LOOP, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude


async def test_who_is_not_logged_in_is_told_once_what_to_do(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    async with PodiumDaemon(machine, ANTHROPIC_API_KEY=None) as podium:
        recipe = machine.recipe("loop", LOOP)
        ran = await podium.cli("run", recipe, cwd=repo.path)
        asked = await podium.cli("prompt", "hi", cwd=repo.path)
        run = await podium.only_run()
    assert run["exit"]["reason"] == "error"
    told = "claude is not logged in: run 'claude' in a terminal of the daemon's machine and log in"
    for said in (ran, asked):
        assert said.code == 1
        assert (said.out + said.err).count(told) == 1, said
        assert "/login" not in said.out + said.err
        assert "the environment that the daemon was started in" in said.out + said.err
    assert model_server.requests == []


async def test_a_provider_that_cannot_be_reached_is_named_with_each_try(
    machine: Machine, repo: GitRepo
) -> None:
    machine.configure(env={"CLAUDE_CODE_MAX_RETRIES": "2"})
    async with PodiumDaemon(machine, ANTHROPIC_BASE_URL="http://127.0.0.1:9") as podium:
        said = await podium.cli("prompt", "hi", cwd=repo.path)
    assert said.code == 1
    for number in (1, 2):
        assert f"(try {number} of 2)" in said.err
    assert "… claude cannot reach its provider; it tries again " in said.err
    assert "claude cannot reach its provider: Connection refused" in said.err
    assert "check the network, and ANTHROPIC_BASE_URL and the proxy" in said.err
    assert "unknown" not in said.err


def used_up(reset: int) -> dict[str, Any]:
    """An answer that says: the account's limit is reached until then (seconds since 1970)."""
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(reset),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    error = {"status": 429, "type": "rate_limit_error", "message": "x", "headers": headers}
    return {"error": error}


LOGIN = {"CLAUDE_CODE_OAUTH_TOKEN": "dummy", "ANTHROPIC_API_KEY": None}


async def test_a_used_up_account_parks_the_run_until_it_goes_on_by_itself(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    """It costs neither a step nor a visit nor an attempt, and the wait is no time of the run's."""
    reset = int(time.time()) + 3
    model_server.load({"turns": [used_up(reset), word("blocked")]})
    async with (
        PodiumDaemon(machine, **LOGIN) as podium,
        podium.running(machine.recipe("loop", LOOP), repo.path) as feed,
    ):
        await feed.until("run.parked")
        assert (await feed.until("run.resumed"))["why"] == "limit-reset"
        assert time.time() >= reset
        run = await feed.end()
    assert "Go on with this step" in model_server.requests[1].prompt
    assert run["exit"]["reason"] == "implementation-blocked"
    assert (run["step_count"], run["visits"]) == (1, {"work": 1})
    assert [visit["attempts"] for visit in run["history"]] == [1]
    spent = sum(turn["seconds"] for turn in feed.data("turn.ended"))
    assert run["seconds"] == pytest.approx(spent, abs=0.01)
