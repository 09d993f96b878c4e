"""The agent asks before it does what it was not allowed; a person answers over the socket."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import ASKING, LOOP, bash, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

UNASKED = LOOP.replace('allow = ["Bash", "Write"]', "")


def settings_written(podium: PodiumDaemon, repo: GitRepo) -> list[str]:
    """The files in which the CLI keeps permissions, of the project and of the person."""
    places = (repo.path / ".claude", podium.machine.home / ".claude")
    return [str(path) for place in places for path in place.glob("settings*.json")]


async def test_a_tool_that_a_person_allows_runs_once(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [bash("echo ran >> made"), word("complete")]})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        asked = await feed.until("question.opened")
        (listed,) = await podium.rpc("questions.list")
        assert listed["question_id"] == asked["question_id"] and listed["kind"] == "approval"
        assert [choice["id"] for choice in listed["choices"]] == ["allow", "deny", "always"]
        assert listed["input"]["command"] == "echo ran >> made"
        run = await podium.rpc("runs.get", run_id=listed["run_id"])
        assert run["status"] == "waiting" and not (repo.path / "made").exists()
        refusal = await podium.refused(
            "questions.answer", question_id=listed["question_id"], answer="maybe"
        )
        assert refusal.code == -32602
        said = await podium.cli("answer", listed["question_id"][:8], "allow")
        assert said.code == 0, said
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    late = await podium.refused(
        "questions.answer", question_id=listed["question_id"], answer="deny"
    )
    assert late.code == -32004


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
