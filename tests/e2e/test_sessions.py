"""The list of sessions: whoever made them, whatever has become of their transcripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import trio

from tests.e2e.claude_process import running
from tests.e2e.conversations import in_short, listed, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import bash, held, when
from tests.e2e.terminal import ask_alone, begin_alone
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

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


# -- following a session live: every message once, in the file's order, whoever writes it


HELLO = {"default": {"text": "Hello."}}
ALLOWED = ("--allowedTools", "Bash")
FOUND = "It was found. " * 20
ODD_PROMPTS = [
    "--help",
    "  Two lines,\n\n\tindented,\r\nwith 👩‍👩‍👧 and \u2028 a separator   \n",
    "-" + "A long one, 🐢 by 🐢. " * 5_000,
]
"""As a message, in which it stands twice, more than is kept for a client that does not read."""


def as_recorded(machine: Machine, session: str, where: Path) -> list[tuple[str, str, str]]:
    """The messages of a session as its transcript has them."""
    return recorded(machine.transcript(session, where))


async def test_a_turn_is_followed_message_by_message_while_the_agent_works(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    look = when("Find it", bash("echo found", "I look."), held({"text": FOUND}))
    model_server.load({"rules": [look], **HELLO})
    machine = podium.machine
    session = await begin_alone(machine, repo.path, "Hi.")
    async with (
        subscribed(podium, session) as conversation,
        podium.watching("show", session[:8], "--follow") as words,
        podium.watching("show", session, "--follow", "--json", "-n", "1") as lines,
        trio.open_nursery() as nursery,
    ):
        assert len(await conversation.until(2)) == 2
        await words.until("Hello.")
        nursery.start_soon(ask_alone, machine, session, repo.path, "Find it.", *ALLOWED)
        await holding(model_server, "half")
        half = await conversation.until(6)
        assert list(map(in_short, half)) == as_recorded(machine, session, repo.path)
        kinds = [message["blocks"][0]["kind"] for message in half[2:]]
        assert kinds == ["text", "text", "tool_use", "tool_result"]
        call, result = half[4]["blocks"][0], half[5]["blocks"][0]
        assert (call["name"], call["input"]["command"]) == ("Bash", "echo found")
        assert (result["tool_use_id"], result["text"]) == (call["id"], "found")
        shown = await words.until("found\n")
        assert "Find it." in shown and "Bash: echo found" in shown and FOUND[:9] not in shown
        model_server.release("half")
        whole = await conversation.until(7)
        assert (whole[6]["role"], whole[6]["text"]) == ("assistant", FOUND)
        await words.until(FOUND)
        told = [json.loads(line) for line in (await lines.until(FOUND)).splitlines()]
    assert list(map(in_short, whole)) == as_recorded(machine, session, repo.path)
    assert conversation.seqs == [1, 2, 3, 4, 5, 6, 7]
    assert told == whole[1:]


@pytest.mark.long(
    "tests/drivers/test_claude_real.py::test_a_prompt_of_900_kb_arrives_whole_and_is_done_with_words_cost_and_mark"
)
async def test_prompts_are_shown_verbatim(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(HELLO)
    said = await podium.cli("prompt", "--", ODD_PROMPTS[0], cwd=repo.path)
    assert said.code == 0, said
    session = model_server.requests[0].session
    for text in ODD_PROMPTS[1:]:
        said = await podium.cli("prompt", "-", "--session", session, stdin=text.encode())
        assert said.code == 0, said
    async with subscribed(podium, session) as conversation:
        messages = await conversation.until(6)
    assert [message["text"] for message in messages[::2]] == ODD_PROMPTS
    assert list(map(in_short, messages)) == as_recorded(podium.machine, session, repo.path)
    assert messages == (await podium.rpc("sessions.messages", session_id=session))["messages"]
    shown = (await podium.cli("show", session)).out
    assert "Two lines,\n\n" in shown and "👩‍👩‍👧" in shown and "  --help\n" in shown
    last = await podium.cli("show", session, "-n", "2", "--json")
    assert json.loads(last.out)["messages"] == messages[4:]
