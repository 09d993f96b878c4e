"""The list of sessions: whoever made them, whatever has become of their transcripts."""

from __future__ import annotations

import json
import os

import pytest

from tests.e2e.claude_process import running
from tests.e2e.conversations import listed, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import bash, when
from tests.e2e.terminal import begin_alone
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

ASK_A_HELPER = {
    "name": "Agent",
    "input": {
        "description": "Look around",
        "prompt": "Look around.",
        "subagent_type": "general-purpose",
    },
}
MANY_LINES = bash("seq 1 60000")
HELPED = {
    "rules": [
        {"when": {"agent": "."}, "text": "The helper found nothing."},
        when("Ask a helper", {"tools": [ASK_A_HELPER]}, MANY_LINES, {"text": "Done."}),
    ]
}


async def test_sessions_of_podium_and_of_a_plain_claude_are_listed_alike(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Because of Rayleigh."}})
    machine, other = podium.machine, podium.machine.repository("other")
    asked = await podium.cli("prompt", "Why is the\nsky blue?", "--json", cwd=repo.path)
    ours = model_server.requests[0].session
    assert (asked.code, ours in asked.out) == (0, True)
    plain = await begin_alone(machine, other.path, "And the sea?", "--name", "Colours")
    expected = {"message_count": 2, "preview": "Because of Rayleigh.", "agent": "claude"}
    for session, name, where in (
        (ours, "Why is the sky blue?", repo.path),
        (plain, "Colours", other.path),
    ):
        row = await listed(podium, session, **expected)
        assert (row["name"], row["working_directory"]) == (name, str(where))
        assert (row["holder"], row["active_recipe"], row["gone"]) == (None, None, False)
        assert row["size"] == machine.transcript_path(session, where).stat().st_size
        assert row == await podium.rpc("sessions.get", session_id=session)
    everything = json.loads((await podium.cli("sessions", "--json")).out)
    assert [row["session_id"] for row in everything["sessions"]] == [plain, ours]
    assert everything == await podium.rpc("sessions.list") and everything["total"] == 2
    assert (await podium.rpc("daemon.status"))["sessions"] == 2
    told = await podium.cli("sessions", "--project", ".", cwd=other.path)
    assert plain[:8] in told.out and "Colours" in told.out and ours[:8] not in told.out


@pytest.mark.long("tests/sessions/test_tree.py::test_files_beside_a_session_belong_to_it")
async def test_transcripts_of_helpers_and_long_results_belong_to_their_session(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(HELPED)
    session = await begin_alone(
        podium.machine, repo.path, "Ask a helper.", "--allowedTools", "Bash", "Agent"
    )
    row = await listed(podium, session, message_count=6, subagents=1, tool_results=1)
    directory = podium.machine.transcript_path(session, repo.path).with_suffix("")
    assert len(list(directory.rglob("*.*"))) == 3, "a helper's transcript, its meta data, a result"
    assert (await podium.rpc("sessions.list"))["sessions"] == [row]
    page = await podium.rpc("sessions.messages", session_id=session)
    kinds = [[block["kind"] for block in message["blocks"]] for message in page["messages"]]
    call = [["tool_use"], ["tool_result"]]
    assert kinds == [["text"], *call, *call, ["text"]]
    assert page["messages"][-1]["text"] == "Done."


@pytest.mark.long(
    "tests/sessions/test_transcripts_gone.py::test_a_deleted_transcript_stays_listed_with_its_numbers"
)
async def test_what_the_agent_itself_cleans_up_is_gone_and_not_lost_from_the_list(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """It deletes what is old some seconds after a session of some length has begun."""
    model_server.load({"default": {"text": "Hello."}})
    machine = podium.machine
    old = await begin_alone(machine, repo.path, "Long ago.")
    path = machine.transcript_path(old, repo.path)
    os.utime(path, (0, 0))
    clean_up = ("--settings", '{"cleanupPeriodDays": 1}')
    async with (
        subscribed(podium, old) as conversation,
        running(machine.claude, model_server, machine.home, *clean_up) as claude,
    ):
        await conversation.until(2)
        await claude.prompt("Today.")
        await claude.finish()
        while conversation.generation == 1:
            await conversation.told()
        assert not path.exists()
    row = await listed(podium, old, gone=True)
    assert (row["name"], row["message_count"]) == ("Long ago.", 2)
    assert (await listed(podium, claude.session))["gone"] is False
    await podium.rpc("sessions.forget", session_id=old)
    assert (await podium.rpc("sessions.list"))["total"] == 1
