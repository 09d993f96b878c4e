"""Each step has the agent, the model and the permission mode that the recipe gives it."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

RECIPE = """
initial = "write"

[steps.write]
prompt = "Write it."
model = "claude-sonnet-4-5"
permission_mode = "acceptEdits"

[steps.write.on]
complete = { to = "judge" }

[steps.judge]
prompt = "Judge it."
model = "claude-haiku-4-5"
permission_mode = "dontAsk"

[steps.judge.on]
complete = { to = "tell" }

[steps.tell]
prompt = "Tell it."
agent = "scripted"

[steps.tell.on]
told = { exit = "turn-complete", class = "completed" }
"""

SCRIPT = """
[[turns]]
when = "Tell it"
text = "Told by nobody."
outcome = { outcome = "told" }
"""


async def test_agent_model_and_permission_mode_are_those_of_the_step(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    """Nothing is allowed by name and nobody answers: the modes alone let a file be written in the
    first step, and nothing happen in the second."""
    script = machine.root / "script.toml"
    script.write_text(SCRIPT)
    config = machine.podium_home / "config.toml"
    config.write_text(f'{config.read_text()}\n[agents.scripted]\nscript = "{script}"\n')
    made, other = repo.path / "made.txt", repo.path / "other.txt"
    write = [
        {"tools": [{"name": "Write", "input": {"file_path": str(path), "content": "it"}}]}
        for path in (made, other)
    ]
    model_server.load(
        {
            "rules": [
                when("Write it", write[0], word("complete")),
                when("Judge it", write[1], word("complete")),
            ]
        }
    )
    recipe = machine.recipe("agents", RECIPE)
    async with (
        PodiumDaemon(machine) as podium,
        podium.running(recipe, repo.path, on_question="fail") as feed,
    ):
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert (made.read_text(), other.exists()) == ("it", False)
    models = [request.body["model"] for request in model_server.requests]
    assert models == ["claude-sonnet-4-5"] * 2 + ["claude-haiku-4-5"] * 2
    turns = [(turn["agent"], turn["permission_mode"]) for turn in feed.data("turn.intended")]
    assert turns == [("claude", "acceptEdits"), ("claude", "dontAsk"), ("scripted", None)]
    assert [turn["text"] for turn in feed.data("turn.ended")][2].startswith("Told by nobody.")
