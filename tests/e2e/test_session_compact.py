"""Summing a session up: the agent does it, and no message loses its number by it."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conversations import in_short, listed, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import held, when
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

SUM_UP = "CRITICAL: Respond with TEXT ONLY"
GIST = "They greeted each other twice."
SUMMARY = {"text": f"<summary>{GIST}</summary>"}
REFUSED = {"error": {"status": 400, "type": "invalid_request_error", "message": "not today"}}


async def test_a_session_is_summed_up_and_goes_on_with_its_numbers_as_they_were(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"rules": [when(SUM_UP, held(SUMMARY))], "default": {"text": "Hello."}})
    where = {"working_directory": str(repo.path)}
    first = await podium.rpc("sessions.prompt", text="Hi.", **where, wait=True)
    session = first["session_id"]
    await podium.rpc("sessions.prompt", text="Hi again.", session_id=session, wait=True)
    async with subscribed(podium, session) as conversation:
        before = list(await conversation.until(4))
        async with podium.calling("sessions.compact", session_id=session) as compacted:
            await holding(model_server, "half")
            refusal = await podium.refused("sessions.compact", session_id=session)
            assert (refusal.code, refusal.data["holder"]["kind"]) == (-32001, "prompt")
            model_server.release("half")
            assert await compacted() == {}
        messages = await conversation.until(7)
        assert messages[:4] == before and conversation.generation == 1
        assert GIST in messages[4]["text"], "the summary is a message"
        after = await podium.rpc(
            "sessions.prompt", text="Still here?", session_id=session, wait=True
        )
        assert after["text"] == "Hello."
        messages = await conversation.until(9)
    lines = podium.machine.transcript(session, repo.path)
    assert [json.loads(line).get("subtype") for line in lines].count("compact_boundary") == 1
    assert list(map(in_short, messages)) == recorded(lines)
    assert not any("forks_from" in message for message in messages), "a line, not a fork"
    assert GIST in model_server.requests[-1].anywhere
    assert "Hi again." not in model_server.requests[-1].anywhere
    assert (await listed(podium, session, message_count=9))["name"] == "Hi."


async def test_a_session_that_cannot_be_summed_up_says_why_and_is_as_it_was(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"rules": [when(SUM_UP, REFUSED)], "default": {"text": "Hello."}})
    first = await podium.rpc(
        "sessions.prompt", text="Hi.", working_directory=str(repo.path), wait=True
    )
    session = first["session_id"]
    refusal = await podium.refused("sessions.compact", session_id=session)
    assert "not summed up" in refusal.message and "not today" in refusal.message
    after = await podium.rpc("sessions.prompt", text="Still here?", session_id=session, wait=True)
    assert after["text"] == "Hello."
    assert "Hi." in model_server.requests[-1].anywhere
    unknown = "dddddddd-0000-4000-8000-000000000000"
    assert (await podium.refused("sessions.compact", session_id=unknown)).code == -32002
