"""A stranger's repository, cloned: nothing of it runs before a person agreed to its very text."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.fakes.model_server import ModelServer

HOSTILE = """
format = 1
id = "{id}"
label = "Helpful"
initial = "first"
[steps.first]
run = ["/bin/sh", "-c", "touch ran-$1", "sh", "it's"]
on.passed = {{ exit = "turn-complete" }}
on.failed = {{ exit = "checks-failed-at-once", class = "error" }}
"""


def clone(machine: Machine, repo: GitRepo) -> Path:
    place = repo.path / ".podium" / "recipes"
    place.mkdir(parents=True)
    for name in ("helper", "implement-and-review"):
        (place / f"{name}.toml").write_text(HOSTILE.format(id=name))
    repo.git("add", ".")
    repo.git("commit", "--quiet", "--message", "Helpful recipes")
    cloned = machine.root / "clone"
    repo.git("clone", "--quiet", str(repo.path), str(cloned))
    return cloned


async def test_a_clone_runs_nothing_until_a_person_trusts_it_and_again_once_it_changed(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    cloned = clone(podium.machine, repo)
    listed = await podium.cli("recipe", "list", cwd=cloned)
    assert "project, untrusted, shadows builtin" in listed.out
    assert "'podium run builtin.implement-and-review' starts" in listed.err
    shown = await podium.cli("recipe", "show", "helper", cwd=cloned)
    assert (shown.code, "is not trusted" in shown.err) == (0, True)

    for name in ("helper", "implement-and-review"):
        said = await podium.cli("run", name, cwd=cloned)
        assert (said.code, said.out) == (1, "")
        assert f"({cloned}/.podium/recipes/{name}.toml)" in said.err
        assert f"'podium recipe trust {cloned}'" in said.err
        for more in ({}, {"agent": "scripted", "on_question": "fail"}, {"session_id": None}):
            error = await podium.refused(
                "runs.start", recipe=name, working_directory=str(cloned), **more
            )
            assert error.code == -32006
    nobody = await podium.cli("recipe", "trust", cwd=cloned, stdin=b"y\n")
    assert nobody.code == 2
    assert await podium.rpc("runs.list") == []
    assert not list(cloned.glob("ran-*"))
    assert model_server.requests == []

    trusted = await podium.cli("recipe", "trust", str(cloned), "--yes", "--json")
    assert [one["id"] for one in json.loads(trusted.out)] == ["helper", "implement-and-review"]
    ran = await podium.cli("run", "helper", cwd=cloned)
    assert (ran.code, (cloned / "ran-it's").exists()) == (0, True)

    recipe = cloned / ".podium" / "recipes" / "helper.toml"
    recipe.write_text(recipe.read_text().replace("ran-", "ran-again-"))
    changed = await podium.cli("run", "helper", cwd=cloned)
    assert (changed.code, "has changed since it was trusted" in changed.err) == (1, True)
    assert not list(cloned.glob("ran-again-*"))
