"""A question, and a call of a Podium tool, wait as long as the daemon is dead.

How long is HOLD_MINUTES, which ``make agents`` sets. Both wait at the same time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest
import trio

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import ROWS, Row
from tests.acp_agents.stories import ONCE, SIDE, step, when
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.stories import word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = [pytest.mark.acp_agents, pytest.mark.slow]

VARIABLE: Final = "HOLD_MINUTES"
HELD: Final = ("kimi", "qwen")
"""The agents that are held: each takes the whole time."""


@pytest.fixture(params=[ROWS[name] for name in HELD], ids=HELD)
def row(request: pytest.FixtureRequest) -> Row:
    """Each of those agents."""
    found = request.param
    assert isinstance(found, Row)
    return found


async def test_a_question_and_a_call_wait_for_the_next_daemon(
    podium: PodiumDaemon, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    minutes = float(os.environ[VARIABLE])
    call = row.call("report_outcome", outcome="complete", detail="By the tool.")
    rules = [
        when("Ask for it", row.run(ONCE), word("complete")),
        when("Call for it", {**call, "hold": "half"}, {"text": "Done."}),
    ]
    server.load({**SIDE, "rules": rules})
    asks, calls = machine.repository("asks"), machine.repository("calls")

    async def begin(recipe: str, prompt: str, where: Path) -> str:
        start = {"recipe": machine.recipe(recipe, step(prompt)), "agent": row.name}
        run = await podium.rpc("runs.start", working_directory=str(where), **start)
        return str(run["run_id"])

    asking = await begin("asking", "Ask for it.", asks.path)
    calling = await begin("calling", "Call for it.", calls.path)
    async with podium.follow(asking) as feed:
        before = await feed.until("question.opened")
    await holding(server, "half")
    await podium.kill9()
    server.release("half")
    await trio.sleep(minutes * 60)
    await podium.start()
    async with podium.follow(asking) as feed:
        asked = await feed.until("question.opened")
        assert asked["question_id"] == before["question_id"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
    assert (await podium.ended(asking))["exit"]["reason"] == "turn-complete"
    assert (asks.path / "made").read_text() == "ran\n"
    async with podium.follow(calling) as feed:
        while not (done := await feed.next())["type"].startswith(("question.opened", "run.ended")):
            pass
        if done["type"] == "question.opened":
            question = done["data"]["question_id"]
            await podium.rpc("questions.answer", question_id=question, answer="allow")
    done = await podium.ended(calling)
    assert done["exit"]["reason"] == "turn-complete", done
    assert done["turns"] == 1
