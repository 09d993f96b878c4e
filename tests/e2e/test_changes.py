"""What the real agent changed: told while it works, at the end of its run, and on its page."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import bash, held, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

WORKING = """
initial = "work"

[params.task]
type = "string"

[steps.work]
prompt = "Work on it: {{task}}"
allow = ["Bash"]

[steps.work.on]
complete = { exit = "turn-complete", class = "completed" }
"""

WORK = (
    "echo new > new.txt; echo made > made.txt; git add made.txt; "
    "git -c user.name=A -c user.email=a@example.org commit -qm 'Make it'"
)
SAID = "## Done\n\nI made **made.txt**.\n"


async def test_a_run_s_changes_are_told_while_it_works_and_when_it_is_over(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [bash(WORK), held(word("complete", SAID))]})
    recipe = podium.machine.recipe("working", WORKING)
    (repo.path / "mine.txt").write_text("there before\n")
    params = {"task": "Make it"}
    async with podium.running(recipe, repo.path, params=params) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        now = await podium.rpc("runs.diff", run_id=run_id)
        assert [one["subject"] for one in now["commits"]] == ["Make it"]
        assert [one["path"] for one in now["uncommitted"]["files"]] == ["new.txt"]
        model_server.release("half")
        run = await feed.end()
    assert run["left"]["paths"] == ["new.txt"]

    short = run_id[:8]
    stat = await podium.cli("diff", short, "--stat")
    assert "Make it" in stat.out and "made.txt (new)" in stat.out and "mine.txt" not in stat.out
    patch = await podium.cli("diff", short)
    assert "+made\n" in patch.out and "+new\n" in patch.out
    shown = await podium.cli("runs", "show", short)
    assert f"Left uncommitted: new.txt (podium diff {short})" in shown.out
    followed = await podium.cli("attach", short)
    assert "left uncommitted: new.txt" in followed.out
    page = (await podium.cli("runs", "export", short)).out
    assert "<h5>Done</h5>" in page and "<strong>made.txt</strong>" in page
    assert "Bash: echo new &gt; new.txt" in page and "StructuredOutput" not in page
    assert repo.head[:12] in page and "+made" in page
