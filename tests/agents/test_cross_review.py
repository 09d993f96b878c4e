"""A cross review by three agents, each with a script of its own, on a real daemon."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.fakes.model_server import ModelServer

Turn = dict[str, Any]

PRICE = "1. [high] shop.py:1: the price is nothing, nobody pays, it has to be 2."
NAME = "2. [low] shop.py:1: the name is short, readers wonder, it has to be longer."
REASON = "1. disagree: the task asks for a free shop.\n2. disagree: 'price' is a word."
RULING = "1. upheld: a price of 2, the task says so.\n2. dismissed: a matter of taste."


def says(when: str, outcome: str, text: str, **more: Any) -> Turn:
    return {"when": when, "text": text, "outcome": {"outcome": outcome}, **more}


AUTHOR = (
    says(
        "^Implement one",
        "complete",
        "A shop.",
        write=[{"path": "shop.py", "content": "price = 0\n"}],
    ),
    says("^Answer the findings", "disagree", REASON),
    says(
        "1\\. upheld: a price of 2",
        "complete",
        "1. done: shop.py.",
        write=[{"path": "shop.py", "content": "price = 2\n"}],
    ),
    says("^Run the checks", "passing", "make: nothing to be done."),
    says(
        "^Commit the work",
        "committed",
        "Committed.",
        run=[["git", "add", "shop.py"], ["git", "commit", "--quiet", "--message", "Open a shop"]],
    ),
)
CRITIC = (
    says("<change>\n\\?\\? shop\\.py\n", "issues-found", f"{PRICE}\n{NAME}"),
    says("<rulings>\n1\\. upheld.*\n2\\. dismissed", "no-issues", "Looked at shop.py."),
)
UMPIRE = (says("(?s)<findings>\n1\\..*<answers>\n1\\. disagree", "upheld", RULING),)


class ScriptedMachine(Machine):
    """A machine on which three scripted agents are configured, and no program is."""

    def script(self, **agents: tuple[Turn, ...]) -> None:
        """Configure them: their turns by their names."""
        lines = ["[gateway]", "port = 0"]
        for name, turns in agents.items():
            path = self.root / f"{name}.json"
            path.write_text(json.dumps({"turns": turns}))
            lines += [
                f"[agents.{name}]",
                'driver = "scripted"',
                f"script = {json.dumps(str(path))}",
            ]
        (self.podium_home / "config.toml").write_text("\n".join(lines) + "\n")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[ScriptedMachine]:
    with ModelServer() as server:
        made = ScriptedMachine(tmp_path, tmp_path / "home", Path("/nowhere/claude"), server)
        made.set_up()
        made.script(author=AUTHOR, critic=CRITIC, umpire=UMPIRE)
        yield made


@pytest.fixture
async def podium(machine: ScriptedMachine) -> AsyncIterator[PodiumDaemon]:
    async with PodiumDaemon(machine) as daemon:
        yield daemon


@pytest.fixture
def repo(machine: ScriptedMachine) -> GitRepo:
    return machine.repository()


CROSS = ("run", "cross-review", "-p", "task=Open a shop", "--agent", "author")


async def test_one_implements_another_reviews_and_a_third_decides_what_they_disagree_about(
    podium: PodiumDaemon, repo: GitRepo
) -> None:
    parts = ("-p", "reviewer=critic", "-p", "judge=umpire")
    said = await podium.cli(*CROSS, *parts, cwd=repo.path)
    assert said.code == 0, said.out
    done = await podium.only_run()
    assert done["exit"]["reason"] == "changes-committed" and done["questions"] == []
    assert [visit["step"] for visit in done["history"]] == [
        *("implement", "changes", "review", "answer", "judge", "settle"),
        *("changes", "review", "prove", "commit"),
    ]
    assert repo.git("log", "--format=%s").splitlines() == ["Open a shop", "Begin"]
    assert repo.git("show", "HEAD:shop.py") == "price = 2"
    lines = [line.strip() for line in said.out.splitlines()]
    assert [line for line in lines if line.startswith("taken by")] == [
        "taken by critic",
        "taken by umpire",
        "taken by critic",
    ]
    assert "⚠" not in said.out
    log = await podium.cli("runs", "log", done["run_id"])
    assert "doubts" not in log.out


async def test_one_agent_in_two_parts_is_said_and_an_unknown_one_refused(
    podium: PodiumDaemon, repo: GitRepo
) -> None:
    said = await podium.cli(*CROSS, "-p", "reviewer=critic", "-p", "judge=umpir", cwd=repo.path)
    assert said.code == 2, said
    assert "Agent 'umpir' cannot be used: there is no such agent." in said.err
    assert "The nearest is 'umpire'" in said.err
    assert await podium.rpc("runs.list") == []
    said = await podium.cli(*CROSS, "-p", "reviewer=critic", "--detach", cwd=repo.path)
    assert said.code == 0, said
    run = await podium.only_run()
    assert run["params"]["judge"] == "author"
    shown = await podium.cli("attach", run["run_id"])
    assert "⚠ 'author' is implementer and judge: these parts are meant for" in shown.out
