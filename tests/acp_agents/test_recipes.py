"""A cross review by three real agents: Kimi works, Codex reviews, Claude judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import ROWS, Row
from tests.codex.app_server import CONFIG
from tests.codex.conftest import codex_binary
from tests.codex.rig import run
from tests.e2e.conftest import claude_binary
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import AGENT_SETTINGS, GitRepo
from tests.e2e.stories import when, word
from tests.fakes.model_server import ModelServer

__all__ = ["claude_binary", "codex_binary"]

pytestmark = [pytest.mark.acp_agents, pytest.mark.codex, pytest.mark.claude, pytest.mark.slow]

FINDING = "1. [high] shop.py:1: the price is nothing, nobody pays, it has to be 2."
RULING = "1. upheld: a price of 2, the task says so."


@pytest.fixture
def row() -> Row:
    """Kimi alone: of these agents it has no mode in which it only reads, so it works."""
    return ROWS["kimi"]


@pytest.fixture
def machine(
    row: Row,
    command: tuple[str, ...],
    codex_binary: Path,
    claude_binary: Path,
    server: ModelServer,
    tmp_path: Path,
) -> AgentMachine:
    """A machine on which Codex and Claude are agents too."""
    made = AgentMachine(tmp_path, tmp_path / "home", Path(command[0]), server, row, command)
    made.set_up()
    made.configure()
    codex = made.home / ".codex"
    codex.mkdir()
    (codex / "config.toml").write_text(CONFIG.format(url=server.url))
    env = ", ".join(f'{name} = "{value}"' for name, value in AGENT_SETTINGS.items())
    tables = {
        "codex": [f"command = {json.dumps(str(codex_binary))}"],
        "claude": [f"command = {json.dumps(str(claude_binary))}", f"env = {{ {env} }}"],
    }
    with (made.podium_home / "config.toml").open("a") as file:
        for name, lines in tables.items():
            file.write("\n".join((f"[agents.{name}]", *lines)) + "\n")
    return made


async def test_three_kinds_of_agents_implement_review_and_judge_one_task(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, row: Row
) -> None:
    first = when("Review a change", run("cat shop.py"), word("issues-found", detail=FINDING))
    commit = "git add -- shop.py && git commit --quiet --message='Open a shop'"
    # The last prompt of the author's session first: Kimi may send it together with the one before.
    author = {
        "Commit the work of this task": [row.run(commit), word("committed", "Committed.")],
        "Run the checks of this project": [word("passing", "There are none.")],
        "Do what the judge has": [
            row.run("echo 'price = 2' > shop.py"),
            word("complete", "1. done."),
        ],
        "Answer the findings of": [word("disagree", "1. disagree: it is free.")],
        "Implement one task in": [
            row.run("echo 'price = 0' > shop.py"),
            word("complete", "A shop."),
        ],
    }
    rules = [
        {**first, "times": 1},
        when("Review a change", word("no-issues", "Looked at shop.py.")),
        when("Decide what the author", word("upheld", detail=RULING)),
        *({"when": {"prompt": prompt}, "turns": turns} for prompt, turns in author.items()),
    ]
    server.load({"rules": rules})
    parts = ("-p", "implementer=kimi", "-p", "reviewer=codex", "-p", "judge=claude")
    said = await podium.cli("run", "cross-review", "-p", "task=A shop", *parts, cwd=repo.path)
    assert said.code == 0, said.out
    done = await podium.only_run()
    assert done["exit"]["reason"] == "changes-committed" and done["questions"] == []
    assert [visit["step"] for visit in done["history"]] == [
        *("implement", "changes", "review", "answer", "judge", "settle"),
        *("changes", "review", "prove", "commit"),
    ]
    assert repo.git("show", "HEAD:shop.py") == "price = 2"
    settled = [one.prompt for one in server.requests if "Do what the judge has" in one.prompt]
    assert RULING in settled[0]


async def test_an_agent_that_cannot_be_kept_from_writing_is_no_reviewer(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer
) -> None:
    said = await podium.cli("run", "cross-review", "-p", "reviewer=kimi", cwd=repo.path)
    assert said.code == 1 and server.requests == []
    assert "agent 'kimi' cannot be limited to tools that only read" in said.err
