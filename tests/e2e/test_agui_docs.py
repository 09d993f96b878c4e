"""The manual of AG-UI: every command in it is run as it stands, and answers as it says."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import ROOT, GitRepo
from tests.e2e.test_http_docs import EXAMPLE_PROJECT, Example, run
from tests.fakes.model_server import ModelServer
from tests.gateway.agui.caller import interrupts
from tests.gateway.agui.checked import checked, frames

pytestmark = pytest.mark.claude

Json = dict[str, Any]

PAGE = (ROOT / "docs/agui.md").read_text(encoding="utf-8")
FENCED = re.compile(r"```sh\n(.+?)```\n\n```(json|events) (\d{3})\n(.+?)```", re.DOTALL)
EXAMPLES = [Example(*found) for found in FENCED.findall(PAGE)]

BUYERS = [{"id": "neighbours", "label": "Neighbours"}, {"id": "everybody", "label": "Everybody"}]
ASK = {"question": "Who buys there?", "options": BUYERS}
MODEL: Json = {
    "rules": [
        {
            "when": {"prompt": "^Help me to find out"},
            "turns": [
                {
                    "text": "A shop has buyers.",
                    "tools": [{"name": "mcp__podium__ask", "input": ASK}],
                },
                {"text": ""},
            ],
        },
        {"when": {"prompt": "The answer: Neighbours"}, "text": "Good neighbours."},
        {"when": {"prompt": "^And the baker"}, "text": "The baker too."},
    ]
}


def holds(told: Any, expected: Any) -> bool:
    """Whether something is told with all that the manual shows of it."""
    if isinstance(expected, dict):
        if not isinstance(told, dict):
            return False
        return all(name in told and holds(told[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return isinstance(told, list) and all(map(holds, told, expected))
    return bool(told == expected)


def in_order(told: list[Json], expected: list[Json]) -> None:
    """Everything that the manual shows comes, in its order."""
    rest = iter(told)
    for wanted in expected:
        assert any(holds(event, wanted) for event in rest), (wanted, told)


def test_every_command_of_the_manual_has_its_answer_there() -> None:
    assert len(EXAMPLES) == PAGE.count("```sh\n") == PAGE.count("curl -s") == 4


async def test_the_commands_of_the_manual_answer_as_it_says(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """One after the other: later ones take up what earlier began."""
    model_server.load(MODEL)
    key = (await podium.rpc("gateway.pair", name="shell"))["key"]
    asked = "none"
    for example in EXAMPLES:
        command = example.command.replace(EXAMPLE_PROJECT, str(repo.path))
        command = command.replace('"ID"', f'"{asked}"')
        status, body = await run(command, podium, str(repo.path), key)
        assert status == example.status, (command, body)
        if example.kind == "json":
            assert json.loads(body) == json.loads(example.answer)
            continue
        events = checked(frames(body.encode()))
        in_order(events, frames(example.answer.replace("\n", "\n\n").encode()))
        if events[-1]["outcome"]["type"] == "interrupt":
            asked = interrupts(events)[0]["id"]
