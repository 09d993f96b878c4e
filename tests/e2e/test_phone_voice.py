"""Phones that speak: from the voice to the agent's answer, with the real daemon and agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.phones import begun, exited, heard, paired, started
from tests.e2e.stories import ASKING, bash, when, word
from tests.fakes.model_server import ModelServer
from tests.phone.driver import AtOnce, Phone
from tests.phone_app.fields import Json

pytestmark = pytest.mark.claude

SOUND = b"\1\0" * 24_000
"""A second and a half of PCM16 at 16 kHz; the scripted engine hears a word each quarter."""

PIECES = [SOUND[at : at + 6000] for at in range(0, len(SOUND), 6000)]


async def said(phone: Phone, session: str | None = None, **more: object) -> Json:
    """Say something; what it came to."""
    where = {} if session is None else {"session_id": session}
    return await phone.speak(SOUND, **where, **more)


@asynccontextmanager
async def phone_of(podium: PodiumDaemon, **settings: Any) -> AsyncIterator[Phone]:
    """A phone of its own, connected; nothing that it is sent may be at fault."""
    url, key = await paired(podium)
    async with Phone(url, key, **settings) as phone:
        yield phone
        assert phone.faults == []


async def greeted(phone: Phone, repo: GitRepo, words: str, answer: str) -> str:
    """A session that has begun with typed words and waits for the next."""
    session = await begun(phone, repo, words, answer)
    await phone.turns(session, 1)
    return session


async def back_again(phone: Phone, podium: PodiumDaemon) -> None:
    """The daemon is killed, and the phone finds the next one."""
    phone.carrier.hang_up()
    await podium.restart()
    url = (await podium.rpc("daemon.status"))["gateway"]["url"]
    await phone.foreground(url=url)


async def test_a_spoken_prompt_is_answered_and_the_answer_spoken(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [
        when("Good morning", {"text": "Morning."}),
        when("What does it do", {"text": "It sells tea. See `shop/till.py`."}),
    ]
    model_server.load({"rules": rules})
    machine.speech("What does it do?")
    async with PodiumDaemon(machine) as podium, phone_of(podium) as phone:
        session = await greeted(phone, repo, "Good morning", "Morning.")
        told = await said(phone, session, deliver="prompt")
        assert (told["text"], told["delivered"]) == ("What does it do?", True)
        assert told["session_id"] == session and told["duration_ms"] == 1500
        await heard(phone, session, "It sells tea. See `shop/till.py`.")
        answer = (session, "It sells tea. See till.py.")
        await phone.until(lambda p: answer in p.model.voice.said)
        (utterance,) = phone.model.voice.utterances.values()
        assert utterance.partials[-1] == "What does it do?"
        assert machine.prompts(session, repo.path)[-1] == "What does it do?"
        assert phone.model.errors == []


async def test_a_connection_that_is_cut_in_mid_sentence_loses_no_sound(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("Hello", {"text": "Hi."}), when("And now", {"text": "All of it."})]
    model_server.load({"rules": rules})
    machine.speech("And now the second half")
    async with PodiumDaemon(machine) as podium, phone_of(podium, retries=AtOnce()) as phone:
        session = await greeted(phone, repo, "Hello", "Hi.")
        mine = await phone.press(session_id=session, deliver="prompt")
        for opened, piece in enumerate(PIECES, 1):
            phone.model.voice.add(mine, piece)
            phone.flush()
            if opened % 3:  # else some of it is still on its way
                await phone.barrier()
            phone.cut()
            await phone.until(lambda p: not p.up)
            await phone.until(lambda p: p.up)
        told = await phone.release(mine)
        assert (told["delivered"], told["duration_ms"]) == (True, 1500)
        await heard(phone, session, "All of it.")
        phone.model.voice.again(mine)  # as if the answer had been lost
        phone.flush()
        assert await phone.told(mine) == told
        assert machine.prompts(session, repo.path) == ["Hello", "And now the second half"]


async def test_a_daemon_that_is_killed_in_mid_sentence_hears_it_once(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    """The next one hears all of it; and of what was delivered it delivers nothing again."""
    rules = [when("Hello", {"text": "Hi."}), when("Go on", {"text": "Going on."})]
    model_server.load({"rules": rules})
    machine.speech("Go on please")
    async with PodiumDaemon(machine) as podium, phone_of(podium, retries=AtOnce()) as phone:
        session = await greeted(phone, repo, "Hello", "Hi.")
        mine = await phone.press(session_id=session, deliver="prompt")
        await phone.utter(mine, SOUND)
        await back_again(phone, podium)
        assert (await phone.release(mine))["delivered"] is True
        await heard(phone, session, "Going on.")
        mine.result = None
        await back_again(phone, podium)
        told = await phone.told(mine)
        assert (told["delivered"], told["session_id"]) == (True, session)
        assert machine.prompts(session, repo.path) == ["Hello", "Go on please"]


async def test_an_approval_is_given_by_voice_and_a_risky_one_is_confirmed(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    turns = [bash("echo ran >> made"), bash("rm -rf build"), word("complete")]
    model_server.load({"turns": turns})
    machine.speech("Approve.", "approve", "confirm")
    (repo.path / "build").mkdir()
    recipe = machine.recipe("asking", ASKING)
    async with PodiumDaemon(machine) as podium, phone_of(podium) as phone:
        session = await started(phone, recipe, repo)
        await phone.until(lambda p: p.model.board.questions)
        told = await said(phone, session)
        assert (told["command"], told["state"], told["choice"]) == (
            "approve",
            "applied",
            "allow",
        )
        assert "echo ran" in told["read_back"]
        await phone.until(lambda p: p.model.counts["question"] == 2)
        told = await said(phone, session)
        assert (told["command"], told["state"]) == ("approve", "confirm")
        assert "rm -rf build" in told["read_back"] and (repo.path / "build").exists()
        told = await said(phone, session)
        assert (told["command"], told["state"]) == ("confirm", "applied")
        assert (await exited(phone, session))["class"] == "completed"
        answers = {one["answer"] for one in phone.model.board.closed.values()}
        assert answers == {"allow"}
        assert any("question" in text for _, text in phone.model.voice.said)
    assert (repo.path / "made").read_text() == "ran\n" and not (repo.path / "build").exists()
