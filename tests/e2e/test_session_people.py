"""A person goes on with a session in a terminal, between two turns of ours."""

from __future__ import annotations

import pytest
import trio

from tests.e2e.conversations import listed, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Json, connected
from tests.e2e.stories import LOOP, held, when, word
from tests.e2e.terminal import terminal
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

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
        assert "Somebody else has written into this session" in asked["text"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="continue")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    async with subscribed(podium, session) as conversation:
        messages = await conversation.until(len(conversation.messages))
    said = [m["text"].partition("\n")[0] for m in messages if m["role"] == "user" and m["text"]]
    assert said == ["Work on it.", "Behind-your-back", "Review it."]
    assert not any("forks_from" in message for message in messages)


async def test_a_plain_prompt_asks_too(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("Behind", {"text": "Noted."})]
    model_server.load({"rules": rules, "default": {"text": "Hello."}})
    first = await podium.rpc(
        "sessions.prompt", text="Hi.", working_directory=str(repo.path), wait=True
    )
    session = first["session_id"]
    await say_in_a_terminal(podium, session, repo, "Behind-your-back", holder="foreign")
    turns: list[Json] = []

    async def prompt(text: str) -> None:
        asked = {"text": text, "session_id": session, "wait": True}
        turns.append(await podium.rpc("sessions.prompt", **asked))

    async with connected(podium.machine.socket) as connection, trio.open_nursery() as nursery:
        await connection.call("events.subscribe", {"types": ["question.opened"]})
        nursery.start_soon(prompt, "Hi again.")
        question = (await connection.notification())["data"]
        assert question["kind"] == "recover" and "Somebody else" in question["text"]
        assert len(model_server.requests) == 2, "nothing is sent before the answer"
        answer = {"question_id": question["question_id"], "answer": "continue"}
        await podium.rpc("questions.answer", **answer)
    await prompt("And again.")  # what was accepted once is not asked about twice
    assert [turn["text"] for turn in turns] == ["Hello.", "Hello."]
    assert podium.machine.prompts(session, repo.path) == [
        "Hi.",
        "Behind-your-back",
        "Hi again.",
        "And again.",
    ]
