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


async def test_an_interrupted_run_lets_its_person_speak_and_then_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The go-on prompt is no visit, and the person's own exchange is nothing foreign."""
    model_server.load({"rules": [when("Work", held(word("complete", LONG)))]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        run = await podium.rpc("runs.interrupt", run_id=run_id)
        assert run["status"] == "paused" and podium.children() == []
        rules = [when("How far", {"text": "Half way."}), when(GO_ON, word("blocked"))]
        model_server.load({"rules": rules})
        aside = await podium.rpc(
            "sessions.prompt", text="How far are you?", session_id=run["session_id"], wait=True
        )
        assert aside["text"] == "Half way." and aside["exit"]["reason"] == "turn-complete"
        await podium.rpc("runs.resume", run_id=run_id)
        run = await feed.end()
    assert run["exit"]["reason"] == "implementation-blocked"
    assert (run["step_count"], run["visits"]) == (1, {"work": 1})
    assert feed.data("turn.ended")[0]["report"]["kind"] == "interrupted"
    said = [
        line.partition("\n")[0] for line in podium.machine.prompts(run["session_id"], repo.path)
    ]
    assert [line for line in said if not line.startswith("[Request interrupted")] == [
        "Work on it.",
        "How far are you?",
        f"{GO_ON} If it is already finished, say how it went.",
    ]


async def test_a_steer_reaches_the_agent_at_its_next_tool(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [held(bash("true", LONG)), word("blocked")]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        steered = await podium.rpc("runs.steer", run_id=run_id, text="Mind the gap.")
        assert steered == {"state": "queued"}
        model_server.release("half")
        delivered = await feed.until("effect.ended", state="delivered")
        run = await feed.end()
    uuid = feed.data("steer.intended")[0]["uuid"]
    assert delivered["effect"] == f"steer:{uuid}"
    assert "Mind the gap." in model_server.requests[1].anywhere
    assert feed.data("run.ended")[0]["undelivered"] == []
    assert run["turns"] == 1, "the turn was still judged for its outcome"
    lines = podium.machine.transcript(run["session_id"], repo.path)
    assert sum(uuid.encode() in line and b"queued_command" in line for line in lines) == 1


async def test_after_a_cancel_the_session_is_plain_chat_byte_for_byte(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"rules": [when("Work", held(word("complete", LONG)))]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        await podium.rpc("runs.steer", run_id=run_id, text="Never mind.")
        run = await podium.rpc("runs.cancel", run_id=run_id)
        assert podium.children() == [] and await podium.rpc("sessions.locks") == []
        ended = await feed.end()
    assert {name: ended[name] for name in run} == run, "its history apart"
    assert (run["exit"]["reason"], run["exit"]["class"]) == ("user-requested", "cancelled")
    assert feed.data("run.ended")[0]["undelivered"] == ["Never mind."]
    answer = {"text": 'Well. {"outcome": "complete"}'}
    model_server.load({"default": answer})
    turn = await podium.rpc(
        "sessions.prompt", text=HOSTILE, session_id=run["session_id"], wait=True
    )
    assert turn["text"] == answer["text"] and turn["outcome"] is None
    assert turn["exit"]["reason"] == "turn-complete"
    assert podium.machine.prompts(run["session_id"], repo.path)[-1] == HOSTILE
    assert "Work on it." in model_server.requests[-1].anywhere, "the same conversation"


async def test_a_server_that_the_agent_left_behind_is_ended_and_reported(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    serve = "python3 -m http.server --bind 127.0.0.1 0"
    command = f"nohup setsid {serve} >/dev/null 2>&1 & echo started"
    model_server.load({"turns": [bash(command), word("blocked", "It serves.")]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run = await feed.end()
    assert "started" in model_server.requests[1].result
    stopped = feed.data("turn.ended")[0]["report"]["background_stopped"]
    assert any("http.server" in line for line in stopped), stopped
    assert podium.children() == []
    assert run["exit"]["reason"] == "implementation-blocked"


# -- ``podium down``, and a daemon whose socket was taken away: nobody is left without a word


SCRIPT = """
[[turns]]
times = 0
ask = { tool = "Bash" }
text = "Never said."
"""


def asking(machine: Machine, tmp_path: Path) -> PodiumDaemon:
    """A daemon whose scripted agent asks before everything, and waits."""
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    return PodiumDaemon(machine, PODIUM_AGENTS_SCRIPTED_SCRIPT=str(script))


async def test_everyone_who_follows_is_told_what_down_has_ended(
    machine: Machine, tmp_path: Path
) -> None:
    """Four prompts, each followed by a client of its own: as many as run at once."""
    async with asking(machine, tmp_path) as podium, AsyncExitStack() as stack:
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


async def test_a_daemon_without_its_socket_is_named_and_can_be_stopped(
    machine: Machine, repo: GitRepo, tmp_path: Path
) -> None:
    async with asking(machine, tmp_path) as podium:
        machine.socket.unlink()
        status = await podium.cli("status")
        up = await podium.cli("up")
        down = await podium.cli("down")
        assert await podium.wait() == 0
    assert status.code == 6 and f"(pid {podium.pid}) runs" in status.err
    assert "'podium down'" in status.err
    assert up.code == 1 and "'podium down' stops it" in up.err
    assert down.code == 0, down
    assert f"pid {podium.pid}" in down.out and "signal" in down.out


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
