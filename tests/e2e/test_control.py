"""A person takes hold of a run: interrupt, pause, steer, cancel, and goes on by hand."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

LONG = "Thinking about it. " * 20
GO_ON = "Go on with this step where you stopped."
HOSTILE = "  Wie geht's?\n\n\tÜbrig: {{x}} $HOME `id` \\n \u2028 ende \U0001f3b5  "


async def test_a_run_is_steered_interrupted_spoken_to_and_cancelled_and_leaves_plain_chat(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The go-on prompt is no visit, and the person's own exchange is nothing foreign."""
    turns = [held(bash("true", LONG), "tool"), held(word("complete", LONG))]
    model_server.load({"turns": turns})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id, session = feed.seen[0]["run_id"], feed.seen[0]["session_id"]
        await holding(model_server, "tool")
        steered = await podium.rpc("runs.steer", run_id=run_id, text="Mind the gap.")
        assert steered == {"state": "queued"}
        model_server.release("tool")
        await holding(model_server, "half")
        assert "Mind the gap." in model_server.requests[1].anywhere
        run = await podium.rpc("runs.interrupt", run_id=run_id)
        assert run["status"] == "paused" and podium.children() == []

        go_on = when(GO_ON, held(word("complete", LONG), "again"))
        model_server.load({"rules": [when("How far", {"text": "Half way."}), go_on]})
        said = {"session_id": session, "wait": True}
        aside = await podium.rpc("sessions.prompt", text="How far are you?", **said)
        assert aside["text"] == "Half way." and aside["exit"]["reason"] == "turn-complete"
        await podium.rpc("runs.resume", run_id=run_id)
        await holding(model_server, "again")
        await podium.rpc("runs.steer", run_id=run_id, text="Never mind.")
        run = await podium.rpc("runs.cancel", run_id=run_id)
        assert podium.children() == [] and await podium.rpc("sessions.locks") == []
        ended = await feed.end()
    assert {name: ended[name] for name in run} == run, "its history apart"
    assert (ended["exit"]["reason"], ended["exit"]["class"]) == ("user-requested", "cancelled")
    assert (ended["step_count"], ended["visits"]) == (1, {"work": 1})
    assert feed.data("turn.ended")[0]["report"]["kind"] == "interrupted"
    assert feed.data("run.ended")[0]["undelivered"] == ["Never mind."]
    uuid = feed.data("steer.intended")[0]["uuid"]
    effects = {one["effect"]: one["state"] for one in feed.data("effect.ended")}
    assert effects[f"steer:{uuid}"] == "delivered"
    lines = podium.machine.transcript(session, repo.path)
    assert sum(uuid.encode() in line and b"queued_command" in line for line in lines) == 1

    answer = {"text": 'Well. {"outcome": "complete"}'}
    model_server.load({"default": answer})
    turn = await podium.rpc("sessions.prompt", text=HOSTILE, **said)
    assert turn["text"] == answer["text"] and turn["outcome"] is None
    assert turn["exit"]["reason"] == "turn-complete"
    prompts = podium.machine.prompts(session, repo.path)
    assert prompts[-1] == HOSTILE and "Work on it." in model_server.requests[-1].anywhere
    begins = [line.partition("\n")[0] for line in prompts[:-1]]
    assert [line for line in begins if not line.startswith("[Request interrupted")] == [
        "Work on it.",
        "How far are you?",
        f"{GO_ON} If it is already finished, say how it went.",
    ]


# -- ``podium down``: every follower is notified


SCRIPT = """
[[turns]]
times = 0
ask = { tool = "Bash" }
text = "Never said."
"""


async def test_everyone_who_follows_is_told_what_down_has_ended(
    machine: Machine, tmp_path: Path
) -> None:
    """Four prompts, each followed by a client of its own: as many as run at once."""
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    podium = PodiumDaemon(machine, PODIUM_AGENTS_SCRIPTED_SCRIPT=str(script))
    async with podium, AsyncExitStack() as stack:
        words = ["--agent", "scripted", "--json"]
        screens = [
            await stack.enter_async_context(podium.watching("prompt", f"Wait {n}.", *words))
            for n in range(4)
        ]
        for screen in screens:
            await screen.until('"question.opened"')
        assert (await podium.cli("down")).code == 0
        for screen in screens:
            assert '"run.ended"' in await screen.until("user-requested")


# -- what the real agent changed: told while it works, at the end of its run, and on its page


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
