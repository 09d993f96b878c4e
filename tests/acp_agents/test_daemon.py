"""The daemon drives the real agents: questions, Podium's tools, further turns, stops, kills."""

from __future__ import annotations

import json
import os
import signal
from contextlib import AbstractAsyncContextManager, suppress

import pytest
import trio

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import Row
from tests.acp_agents.stories import ONCE, SIDE, step, when
from tests.e2e.conversations import listed
from tests.e2e.daemon import PodiumDaemon, gone
from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Feed
from tests.e2e.stories import held, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.pictures import png, shown

pytestmark = [pytest.mark.acp_agents, pytest.mark.slow]


def asked_of(
    podium: PodiumDaemon, machine: AgentMachine, repo: GitRepo, *, reads: bool = False
) -> AbstractAsyncContextManager[Feed]:
    """Run a recipe of one step with the agent."""
    return podium.running(
        machine.recipe("asking", step(reads=reads)), repo.path, agent=machine.row.name
    )


async def answered(podium: PodiumDaemon, feed: Feed, answer: str, words: str = ONCE) -> None:
    """Answer the next question, which is about these words."""
    asked = await feed.until("question.opened")
    assert asked["tool"] == "Bash" and words in str(asked["input"]), asked
    await podium.rpc("questions.answer", question_id=asked["question_id"], answer=answer)


async def test_a_command_is_asked_about_and_runs_once_it_is_allowed(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    server.load(
        {
            "side": {"text": "A title"},
            "rules": [when("Work on it", row.run(ONCE), word("complete"))],
        }
    )
    async with asked_of(podium, machine, repo) as feed:
        await answered(podium, feed, "allow")
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"


async def test_a_second_command_is_asked_about_as_the_first(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    other, same = "touch other", "echo again >> made"
    story = when("Work on it", row.run(ONCE), row.run(other), row.run(same), word("complete"))
    server.load({**SIDE, "rules": [story], "default": word("complete")})
    async with asked_of(podium, machine, repo) as feed:
        await answered(podium, feed, "allow")
        await answered(podium, feed, "allow", other)
        await answered(podium, feed, "deny", same)
        await feed.end()
    assert (repo.path / "made").read_text() == "ran\n" and (repo.path / "other").exists()


async def test_a_denied_command_does_not_run_and_the_turn_goes_on(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    story = when("Work on it", row.run(ONCE), word("complete"))
    server.load({**SIDE, "rules": [story], "default": word("complete")})
    async with asked_of(podium, machine, repo) as feed:
        await answered(podium, feed, "deny")
        done = await feed.end()
    assert not (repo.path / "made").exists(), "it ran although it was denied"
    assert done["exit"]["reason"] == "turn-complete" and done["turns"] == 1


async def test_a_change_of_a_file_is_asked_about(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    write = {"tools": [row.write(str(repo.path / "made"), "ran\n")]}
    server.load({**SIDE, "rules": [when("Work on it", write, {"text": "Done."})]})
    agent = {"agent": machine.row.name, "working_directory": str(repo.path)}
    run = await podium.rpc("sessions.prompt", text="Work on it.", **agent)
    async with podium.follow(run["run_id"]) as feed:
        asked = await feed.until("question.opened")
        assert asked["tool"] == "Edit" and not (repo.path / "made").exists()
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
        await feed.end()
    assert (repo.path / "made").read_text().strip() == "ran"


async def test_a_tool_of_podiums_is_called_and_asked_of_nobody(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    call = row.call("report_outcome", outcome="complete", detail="By the tool.")
    server.load({**SIDE, "rules": [when("Work on it", call, {"text": "Done."})]})
    async with asked_of(podium, machine, repo) as feed:
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete" and done["questions"] == []


async def test_a_daemon_killed_while_it_asks_asks_again_and_the_command_runs_once(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    server.load(
        {
            "side": {"text": "A title"},
            "rules": [when("Work on it", row.run(ONCE), word("complete"))],
        }
    )
    async with asked_of(podium, machine, repo) as feed:
        before = await feed.until("question.opened")
        run_id = feed.seen[0]["run_id"]
    await podium.kill9()
    await podium.start()
    async with podium.follow(run_id) as feed:
        asked = await feed.until("question.opened")
        assert asked["question_id"] == before["question_id"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
    done = await podium.ended(run_id)
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    assert len([one for one in server.requests if one.matched == "rules[0]"]) == 2


async def test_a_session_goes_on_with_all_that_was_said(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    rules = [
        when("Work on it", word("complete", "The word is plum.")),
        when("go on", {"text": "And on."}),
    ]
    server.load({**SIDE, "rules": rules})
    async with asked_of(podium, machine, repo) as feed:
        done = await feed.end()
    said = await podium.cli("prompt", "go on", "--session", done["session_id"], cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "And on."), said
    (asked,) = [one for one in server.requests if one.matched == "rules[1]"]
    assert "Work on it." in asked.anywhere and "The word is plum." in asked.anywhere


async def test_what_only_reads_changes_nothing_and_asks_nobody(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    server.load(
        {
            "side": {"text": "A title"},
            "rules": [when("Work on it", row.run(ONCE), word("complete"))],
        }
    )
    async with asked_of(podium, machine, repo, reads=True) as feed:
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete" and done["questions"] == []
    assert not (repo.path / "made").exists()


async def test_a_turn_is_stopped_while_its_command_runs_and_nothing_lives_on(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    os.mkfifo(repo.path / "begun")
    line = "sleep 3599 & echo $! > begun; wait"
    server.load(
        {
            "side": {"text": "A title"},
            "rules": [when("Work on it", row.run(line), word("complete"))],
        }
    )
    async with asked_of(podium, machine, repo) as feed:
        await answered(podium, feed, "allow", "sleep 3599")
        pid = int(await trio.to_thread.run_sync((repo.path / "begun").read_text))
        await podium.rpc("runs.interrupt", run_id=feed.seen[0]["run_id"])
        await gone(pid)


async def test_an_agent_killed_with_its_daemon_is_told_that_it_was_interrupted(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine, row: Row
) -> None:
    rules = [
        when("You were interrupted", word("complete", "I saw.")),
        when("Work on it", row.run(ONCE), held({"text": "Thinking about it. " * 20})),
    ]
    server.load({**SIDE, "rules": rules})
    async with asked_of(podium, machine, repo) as feed:
        await answered(podium, feed, "allow")
        await holding(server, "half")
    await podium.kill9()
    for one, _ in podium.living():  # some agents are several processes
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
        await gone(one.pid)
    await podium.start()
    done = await podium.ended(feed.seen[0]["run_id"])
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"


async def test_a_session_is_listed_and_read_under_one_name(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    server.load({**SIDE, "rules": [when("Look around", {"text": "I looked."})]})
    agent = ("--agent", machine.row.name)
    said = await podium.cli("prompt", "Look around", *agent, cwd=repo.path)
    assert said.code == 0, said
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    session = row["session_id"]
    await listed(podium, session, agent=machine.row.name, name="Look around", preview="I looked.")
    assert (await podium.rpc("sessions.list"))["total"] == 1
    read = await podium.rpc("sessions.messages", session_id=session)
    assert [one["text"] for one in read["messages"]][-2:] == ["Look around", "I looked."]


async def test_the_model_gets_the_images_of_a_prompt(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    (repo.path / "door.png").write_bytes(png(10))
    server.load({"side": {"text": "A title"}, "rules": [when("What is it", {"text": "A door."})]})
    asked = ("What is it?", "--file", "door.png", "--agent", machine.row.name)
    said = await podium.cli("prompt", *asked, cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "A door."), said
    assert any(shown(one.body) for one in server.requests)


async def test_a_failure_of_the_model_is_no_success(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    error = {"error": {"status": 401, "type": "authentication_error", "message": "invalid key"}}
    server.load({"default": error})
    agent = ("--agent", machine.row.name)
    said = await podium.cli("prompt", "Look around", *agent, cwd=repo.path)
    assert said.code == 1, said


async def test_a_session_is_copied_and_both_go_on_apart(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    rules = [
        when("Work on it", word("complete", "The word is plum.")),
        when("the copy", {"text": "So it is."}),
        when("the first", {"text": "As before."}),
    ]
    server.load({**SIDE, "rules": rules})
    async with asked_of(podium, machine, repo) as feed:
        first = (await feed.end())["session_id"]
    fork = ("--session", first, "--fork")
    copied = await podium.cli("prompt", "Say the copy", *fork, cwd=repo.path)
    assert (copied.code, copied.out.strip()) == (0, "So it is."), copied
    again = await podium.cli("prompt", "Say the first", "--session", first, cwd=repo.path)
    assert (again.code, again.out.strip()) == (0, "As before."), again
    asked = [
        [one.anywhere for one in server.requests if one.matched == f"rules[{n}]"] for n in (1, 2)
    ]
    assert all(any("plum" in words for words in each) for each in asked), asked
    assert not any("the copy" in words for words in asked[1])


async def test_it_is_tried_without_a_prompt(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    said = await podium.cli("agent", "try", machine.row.name, "--json", cwd=repo.path)
    told = json.loads(said.out)
    assert said.code == 0 and told["ok"], told
    assert told["greeting"]["version"] and told["greeting"]["modes"]
    assert {one["verdict"] for one in told["cases"]} == {"passed"}
    assert server.requests == []
    (listed,) = [one for one in await podium.rpc("agents.list") if one["name"] == machine.row.name]
    assert listed["capabilities"] == told["capabilities"] and listed["program"]
