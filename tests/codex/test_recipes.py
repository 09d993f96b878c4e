"""Whole recipes with the real Codex: a cross review beside the real Claude, a guided design."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.codex.machine import CodexMachine
from tests.codex.rig import run
from tests.e2e.conftest import claude_binary
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.design import SAVED, TALK, written
from tests.e2e.machine import AGENT_SETTINGS, GitRepo
from tests.e2e.stories import Turn, bash, when, word
from tests.fakes.model_server import ModelServer

__all__ = ["claude_binary"]

pytestmark = [pytest.mark.codex, pytest.mark.claude, pytest.mark.slow]

FINDINGS = (
    "1. [high] shop.py:1: the price is nothing, nobody pays, it has to be 2.\n"
    "2. [low] shop.py:1: the name is short, readers wonder, it has to be longer."
)
REASONS = "1. fixed: shop.py.\n2. disagree: 'price' is a word of the task."
RULING = "2. dismissed: the task itself says 'price'."
PARTS: Final[dict[str, Callable[[str], Turn]]] = {"claude": bash, "codex": run, "umpire": bash}
"""How each agent runs a command."""


@pytest.fixture
def machine(
    codex_binary: Path, claude_binary: Path, server: ModelServer, tmp_path: Path
) -> CodexMachine:
    """A machine with Codex, Claude, and a second account of Claude."""
    made = CodexMachine(tmp_path, tmp_path / "home", codex_binary, server)
    made.set_up()
    made.configure()
    with (made.podium_home / "config.toml").open("a") as file:
        for table in ("claude", "umpire"):
            env = ", ".join(f'{name} = "{value}"' for name, value in AGENT_SETTINGS.items())
            lines = (f"[agents.{table}]", 'driver = "claude"', f'command = "{claude_binary}"')
            file.write("\n".join((*lines, f"env = {{ {env} }}")) + "\n")
    return made


@pytest.fixture
async def podium(machine: CodexMachine) -> AsyncIterator[PodiumDaemon]:
    async with PodiumDaemon(machine) as daemon:
        yield daemon
    print(daemon.log_text())  # shown where the test fails


@pytest.fixture
def repo(machine: CodexMachine) -> GitRepo:
    return machine.repository()


def story(implementer: str, reviewer: str) -> dict[str, Any]:
    """What each says: the reviewer tries to change a file, and may not."""
    does, looks = PARTS[implementer], PARTS[reviewer]
    rules = [
        when("Implement one task", does("echo 'price = 0' > shop.py"), word("complete", "A shop.")),
        {
            **when("Review", looks("echo 1 > my.py"), word("issues-found", detail=FINDINGS)),
            "times": 1,
        },
        when("Review a change", word("no-issues", "Looked at shop.py.")),
        when(
            "Answer the findings",
            does("echo 'price = 2' > shop.py"),
            word("disagree", detail=REASONS),
        ),
        when("Decide what the author", word("dismissed", detail=RULING)),
        when("Run the checks", does("cat shop.py"), word("passing", "price = 2")),
        when(
            "Commit the work",
            does("git add -- shop.py && git commit --quiet --message='Open a shop'"),
            word("committed", "Committed."),
        ),
    ]
    return {"rules": rules}


@pytest.mark.parametrize(("implementer", "reviewer"), [("claude", "codex"), ("codex", "claude")])
async def test_codex_and_claude_review_each_other_and_another_account_decides(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, implementer: str, reviewer: str
) -> None:
    server.load(story(implementer, reviewer))
    parts = ("--param", f"reviewer={reviewer}", "-p", "judge=umpire", "--agent", implementer)
    said = await podium.cli("run", "cross-review", "-p", "task=A shop", *parts, cwd=repo.path)
    assert said.code == 0, said.out
    done = await podium.only_run()
    assert done["exit"]["reason"] == "changes-committed" and done["questions"] == []
    assert [visit["step"] for visit in done["history"]] == [
        *("implement", "changes", "review", "answer", "judge"),
        *("changes", "review", "prove", "commit"),
    ]
    assert repo.git("log", "--format=%s").splitlines() == ["Open a shop", "Begin"]
    assert repo.git("show", "HEAD:shop.py") == "price = 2"
    assert repo.git("status", "--porcelain") == "", "who reviews can only read"
    asked = [one.prompt for one in server.requests]
    judged = next(prompt for prompt in asked if prompt.startswith("Decide what the author"))
    assert FINDINGS in judged and REASONS in judged
    again = [prompt for prompt in asked if prompt.startswith("Review a change")][-1]
    assert RULING in again and "?? shop.py" in again


def codex_turns() -> Iterator[Turn]:
    """The guided design as Codex plays it: Podium's tools over MCP, then words."""
    for said in TALK:
        for call in said.calls:
            used = {"name": call.tool, "namespace": "mcp__podium", "input": call.args}
            yield {"tools": [used]}
        yield {"text": said.text}


async def test_codex_leads_a_person_through_a_guided_design_in_one_thread(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    server.load({"turns": list(codex_turns())})
    async with podium.running("guided-design", repo.path, agent="codex") as feed:
        session = feed.seen[0]["session_id"]
        answers = {
            "Who is it for?": "nurses,kin",
            "Is that right?": "it is right",
            "Which shifts are there?": '[{"shift": "early", "nurses": 3}]',
        }
        for text, answer in answers.items():
            opened = await feed.until("question.opened", text=text)
            await podium.rpc("questions.answer", question_id=opened["question_id"], answer=answer)
        await feed.until("turn.output", lambda data: "Shall I write it?" in data["delta"])
        await podium.rpc("sessions.prompt", session_id=session, text="Write it.")
        done = await feed.end()
    assert done["exit"]["reason"] == "conversation-complete"
    assert written(repo.path) == {"phase": "blueprint-design", **SAVED}
    assert done["ctx"] == SAVED and repo.subjects == ["Begin"]
    assert [visit["outcome"] for visit in done["history"]] == [
        *("agreed", "configured", "designed", "conversation-complete"),
    ]
    (rollout,) = machine.codex.glob("sessions/*/*/*/*.jsonl")
    assert len(machine.said(rollout.stem[-36:])) == len(TALK), "one thread, nothing in it twice"
