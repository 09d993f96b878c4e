"""The agent asks before it does what it was not allowed; a person answers over the socket."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, bash, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

UNASKED = LOOP.replace('allow = ["Bash", "Write"]', "")


def settings_written(podium: PodiumDaemon, repo: GitRepo) -> list[str]:
    """The files in which the CLI keeps permissions, of the project and of the person."""
    places = (repo.path / ".claude", podium.machine.home / ".claude")
    return [str(path) for place in places for path in place.glob("settings*.json")]


@pytest.mark.long(
    "tests/core/test_kernel.py::test_always_for_commands_like_this_allows_the_rule_that_was_shown_and_no_more"
)
async def test_always_for_commands_like_this_holds_for_those_alone(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The agent matches the rule itself, in this turn and in the next; more than one command on
    the line is another question."""
    rules = [
        when("Work", bash("mkdir -p a"), bash("mkdir -p b"), word("complete")),
        when("Review", bash("mkdir -p c"), bash("mkdir -p d && touch e"), word("no-issues")),
    ]
    model_server.load({"rules": rules})
    recipe = podium.machine.recipe("unasked", UNASKED)
    async with podium.running(recipe, repo.path) as feed:
        asked = await feed.until("question.opened")
        assert {"id": "always-like"}.items() <= asked["choices"][2].items()
        assert asked["choices"][2]["label"].endswith("commands that begin with 'mkdir'")
        answer = {"question_id": asked["question_id"], "answer": "always-like"}
        await podium.rpc("questions.answer", **answer)
        more = await feed.until("question.opened")
        assert more["input"]["command"] == "mkdir -p d && touch e"
        await podium.rpc("questions.answer", question_id=more["question_id"], answer="deny")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert [(repo.path / name).exists() for name in "abcde"] == [True, True, True, False, False]
    assert settings_written(podium, repo) == []
