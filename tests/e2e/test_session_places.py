"""Transcripts that move: a message keeps its number and its uuid wherever the file goes."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.e2e.conversations import in_short, listed, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, held, when, word
from tests.e2e.terminal import ask_alone, begin_alone, terminal
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude


async def test_numbers_and_uuids_outlive_every_move_of_the_transcript(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Hello."}})
    machine, other, third = podium.machine, repo.path.parent / "other", repo.path.parent / "third"
    other.mkdir()
    third.mkdir()
    session = await begin_alone(machine, repo.path, "First.")
    path = machine.transcript_path(session, repo.path)
    async with subscribed(podium, session) as conversation:
        await conversation.until(2)
        # From another directory the agent goes on in the file that there is.
        await ask_alone(machine, session, other, "Second.")
        await conversation.until(4)
        assert not machine.transcript_path(session, other).exists()
        row = await listed(podium, session, message_count=4)
        assert row["working_directory"] == str(repo.path)
        # The directory of the project is renamed.
        renamed = path.parent.rename(path.parent.with_name("-a-project-of-another-name"))
        path = renamed / path.name
        await ask_alone(machine, session, other, "Third.")
        await conversation.until(6)
        assert conversation.generation == 1, "read on, not read anew"
        # A copy beside the first one: the one written last is the session.
        copy = machine.transcript_path(session, third)
        copy.parent.mkdir()
        shutil.copyfile(path, copy)
        await ask_alone(machine, session, third, "Fourth.")
        messages = await conversation.until(8)
        assert len(recorded(path.read_bytes().splitlines())) == 6
        path.unlink()
        path = copy
    assert conversation.seqs == [1, 2, 3, 4, 5, 6, 7, 8]
    assert list(map(in_short, messages)) == recorded(path.read_bytes().splitlines())
    # Taken away and brought back while a daemon looks, then while none does.
    data = path.read_bytes()
    path.unlink()
    await listed(podium, session, gone=True)
    path.write_bytes(data)
    await listed(podium, session, gone=False)
    async with subscribed(podium, session) as again:
        assert await again.until(8) == messages
    await podium.stop()
    for index in (machine.podium_home / "state").glob("index.db*"):
        index.unlink()
    path.rename(path.parent.parent / renamed.name / path.name)
    await podium.start()
    async with subscribed(podium, session) as again:
        assert await again.until(8) == messages
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    assert (row["session_id"], row["message_count"]) == (session, 8)
    turn = await podium.rpc("sessions.prompt", text="Fifth.", session_id=session, wait=True)
    assert turn["text"] == "Hello."
    async with subscribed(podium, session, after_seq=8) as again:
        assert [message["text"] for message in await again.until(2)] == ["Fifth.", "Hello."]


# -- summing a session up: the agent does it, and no message loses its number by it


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


# -- a person goes on with a session in a terminal, between two turns of ours


LONG = "Thinking. " * 20


async def say_in_a_terminal(
    podium: PodiumDaemon, session: str, repo: GitRepo, word: str, *, holder: str
) -> None:
    """Type a word into the session, which is listed as held so, and leave once it is answered."""
    asked = await podium.rpc("sessions.messages", session_id=session)
    async with (
        subscribed(podium, session, after_seq=asked["last_seq"]) as conversation,
        terminal(podium.machine, session, repo.path) as screen,
    ):
        assert (await listed(podium, session))["holder"]["kind"] == holder
        await screen.say(word)
        said, answer = await conversation.until(2)
    assert (said["text"], answer["text"]) == (word, "Noted.")


async def test_a_recipe_asks_before_it_goes_on_top_of_a_persons_words(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [
        when("Work", held(word("complete", LONG))),
        when("Review", word("no-issues")),
        when("Behind", {"text": "Noted."}),
    ]
    model_server.load({"rules": rules})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id, session = feed.seen[0]["run_id"], feed.seen[0]["session_id"]
        await holding(model_server, "half")
        recipe = (await listed(podium, session))["active_recipe"]
        assert (recipe["run_id"], recipe["recipe_id"]) == (run_id, "loop")
        assert (recipe["current_step"], recipe["max_total_steps"]) == ("work", 6)
        await podium.rpc("runs.pause", run_id=run_id)
        model_server.release("half")
        await feed.until("run.paused")
        await say_in_a_terminal(podium, session, repo, "Behind-your-back", holder="run")
        await podium.rpc("runs.resume", run_id=run_id)
        asked = await feed.until("question.opened", kind="recover")
        assert "Another program has written into this session" in asked["text"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="continue")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    async with subscribed(podium, session) as conversation:
        messages = await conversation.until(len(conversation.messages))
    said = [m["text"].partition("\n")[0] for m in messages if m["role"] == "user" and m["text"]]
    assert said == ["Work on it.", "Behind-your-back", "Review it."]
    assert not any("forks_from" in message for message in messages)
