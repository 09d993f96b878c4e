"""The list of sessions: whoever made them, whatever has become of their transcripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from tests.e2e.conversations import in_short, listed, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import bash, held, when
from tests.e2e.terminal import ask_alone, begin_alone
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude


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


# -- following a session live: every message once, in the file's order, whoever writes it


HELLO = {"default": {"text": "Hello."}}
ALLOWED = ("--allowedTools", "Bash")
FOUND = "It was found. " * 20


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
