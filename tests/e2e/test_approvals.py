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
    "tests/drivers/test_claude_real.py::test_an_allowed_tool_runs_a_denied_one_does_not_and_always_holds_for_the_session"
)
async def test_a_tool_that_a_person_denies_does_not_run_and_the_agent_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [bash("echo ran > made"), word("complete")]})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        asked = await feed.until("question.opened")
        answer = {"question_id": asked["question_id"], "answer": "deny", "note": "Not here."}
        closed = await podium.rpc("questions.answer", **answer)
        assert (closed["answer"], closed["closed"]) == ("deny", "answered")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert not (repo.path / "made").exists()
    assert "Not here." in model_server.requests[1].result


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


@pytest.mark.long(
    "tests/drivers/test_claude_real.py::test_an_allowed_tool_runs_a_denied_one_does_not_and_always_holds_for_the_session"
)
async def test_always_holds_for_the_run_and_is_written_nowhere(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """Later calls of the turn and later turns are not asked for; the next run asks again."""
    rules = [
        when("Work", bash("echo 1 > one"), bash("echo 2 > two"), word("complete")),
        when("Review", bash("echo 3 > three"), word("no-issues")),
    ]
    model_server.load({"rules": rules})
    recipe = podium.machine.recipe("unasked", UNASKED)
    async with podium.running(recipe, repo.path) as feed:
        asked = await feed.until("question.opened")
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="always")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert len(feed.data("question.opened")) == 1
    assert all((repo.path / name).exists() for name in ("one", "two", "three"))
    assert settings_written(podium, repo) == []
    async with podium.running(recipe, repo.path) as feed:
        await feed.until("question.opened")


@pytest.mark.long(
    "tests/runtime/test_questions.py::test_a_question_the_agent_withdraws_is_superseded"
)
async def test_an_interrupt_withdraws_the_question_and_the_agent_asks_again_later(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    call = bash("echo ran >> made")
    model_server.load({"turns": [call, call, word("complete")]})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        first = await feed.until("question.opened")
        run = await podium.rpc("runs.interrupt", run_id=run_id)
        assert (run["status"], run["questions"], podium.children()) == ("paused", [], [])
        closed = await feed.until("question.closed", question_id=first["question_id"])
        assert closed["closed"] == "superseded"
        await podium.rpc("runs.resume", run_id=run_id)
        second = await feed.until("question.opened")
        assert second["question_id"] != first["question_id"]
        await podium.rpc("questions.answer", question_id=second["question_id"], answer="allow")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"


@pytest.mark.long(
    "tests/runtime/test_run_control.py::test_a_cancel_returns_when_the_agent_is_gone_and_its_session_free"
)
async def test_a_cancel_ends_an_agent_that_waits_for_an_answer(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": bash("echo ran > made")})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        asked = await feed.until("question.opened")
        run = await podium.rpc("runs.cancel", run_id=feed.seen[0]["run_id"])
        assert run["exit"]["reason"] == "user-requested" and podium.children() == []
        late = await podium.refused(
            "questions.answer", question_id=asked["question_id"], answer="allow"
        )
    assert late.code == -32004 and not (repo.path / "made").exists()
    assert await podium.rpc("sessions.locks") == []


@pytest.mark.long(
    "tests/runtime/test_questions.py::test_an_unattended_run_ends_at_its_first_question"
)
async def test_an_unattended_run_ends_where_a_person_would_be_needed(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [bash("echo ran > made"), word("complete")]})
    recipe = podium.machine.recipe("asking", ASKING)
    said = await podium.cli("run", recipe, "--on-question", "fail", cwd=repo.path)
    (run,) = await podium.rpc("runs.list")
    assert said.code == 4 and run["exit"]["reason"] == "clarification-needed"
    assert not (repo.path / "made").exists()
    assert podium.children() == []
