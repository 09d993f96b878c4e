"""A person's own recipe, from its first line to a run: written, checked, drawn, walked, run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import bash, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

RELEASE = """
initial = "test"

[params.what]
type = "string"

[limits]
max_step_visits = 2
max_minutes = 60

[steps.test]
run = ["/bin/sh", "-c", "echo \\"tests of $1\\"; test -e fixed", "sh", "{{what}}"]
timeout_minutes = 1

[steps.test.on]
passed = { to = "ask" }
failed = { to = "repair" }

[steps.repair]
recipe = "repair"
params = { what = "{{what}}", why = "{{last.test.detail}}" }

[steps.repair.on]
repaired = { to = "test" }

[steps.ask]
ask = "The tests of {{what}} pass. {{last.repair.detail}} Release?"
choices = ["release", "later"]

[steps.ask.on]
release = { to = "tag" }
later = { exit = "left-for-later", class = "completed" }

[steps.tag]
shell = "git tag released && git tag --list | tee tags"
irreversible = true

[steps.tag.on]
passed = { exit = "turn-complete", message = "It is released" }
failed = { exit = "not-tagged", class = "error" }
"""

REPAIR = """
initial = "repair"

[params.what]
type = "string"

[params.why]
type = "string"

[steps.repair]
prompt = "Repair {{what}}. The test said: {{why}}"
allow = ["Bash"]

[steps.repair.on]
done = { exit = "repaired", class = "completed" }
"""

HARD = """the "till" isn't {{why}} $(touch evil)\n`touch evil`; touch evil"""


async def test_commands_questions_and_called_recipes_lead_an_agent_to_a_release(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    podium.machine.recipe("repair", REPAIR)
    release = podium.machine.recipe("release", RELEASE)
    model_server.load(
        {"rules": [when("Repair", bash("touch fixed"), word("done", detail="A file was missing."))]}
    )
    checked = await podium.cli("recipe", "check", release, cwd=repo.path)
    assert (checked.code, checked.out.count("error")) == (0, 0)
    assert "at worst 8 turns, 60 minutes" in checked.out

    started = await podium.cli(
        "run", release, "-p", f"what={HARD}", "--detach", "--json", cwd=repo.path
    )
    run_id = json.loads(started.out)["run_id"]
    async with podium.follow(run_id) as feed:
        asked = await feed.until("question.opened")
        assert asked["text"] == f"The tests of {HARD} pass. A file was missing. Release?"
        assert [choice["id"] for choice in asked["choices"]] == ["release", "later"]
        shown = await podium.cli("answer", asked["question_id"])
        assert "release" in shown.out and "later" in shown.out
        said = await podium.cli("answer", asked["question_id"], "release")
        assert said.code == 0
        run = await feed.end()
    assert [(visit["step"], visit["outcome"]) for visit in run["history"]] == [
        ("test", "failed"),
        ("repair.repair", "done"),
        ("test", "passed"),
        ("ask", "release"),
        ("tag", "passed"),
    ]
    assert (run["exit"]["reason"], run["exit"]["message"]) == (
        "turn-complete",
        "It is released",
    )
    assert model_server.requests[0].prompt.startswith(
        f"Repair {HARD}. The test said: tests of {HARD}\n"
    )
    assert (run["turns"], repo.git("tag", "--list")) == (1, "released")
    assert (repo.path / "tags").read_text() == "released\n"
    assert not (repo.path / "evil").exists()
    attached = await podium.cli("attach", run_id)
    assert attached.code == 0 and "It is released" in attached.out


async def test_a_new_recipe_checks_clean_and_runs_once_it_is_trusted(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": word("unclear", "Which shop?")})
    made = await podium.cli("recipe", "new", "open-a-shop", "--json", cwd=repo.path)
    path = Path(json.loads(made.out)["path"])
    assert path == repo.path / ".podium" / "recipes" / "open-a-shop.toml"
    for given in (str(path), "open-a-shop"):
        checked = await podium.cli("recipe", "check", given, cwd=repo.path)
        assert checked.code == 0 and checked.out.startswith("✓ no faults; at worst ")
    reply = b'Not yet.\n---\nNow it is. {"outcome": "complete"}'
    played = await podium.cli(
        *("recipe", "sim", "open-a-shop", "--step", "work", "--script", "-"),
        cwd=repo.path,
        stdin=reply,
    )
    assert played.code == 0 and played.out.splitlines()[1:] == [
        "reply 2  ✓ complete (text)",
        "→ review",
    ]
    repo.git("add", ".podium")
    repo.git("commit", "--quiet", "--message=A recipe")
    start = ("run", "open-a-shop", "-p", "task=Open a shop")
    assert "is not trusted" in (await podium.cli(*start, cwd=repo.path)).err
    trusted = await podium.cli("recipe", "trust", "--yes", cwd=repo.path)
    assert trusted.code == 0 and "Trusted: open-a-shop." in trusted.out
    ran = await podium.cli(*start, cwd=repo.path)
    assert (ran.code, "clarification-needed" in ran.out) == (4, True)
    assert len(model_server.requests) == 1
