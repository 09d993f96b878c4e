"""Daemons that end while phones are connected: each phone comes back to what it had, and more."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import (
    VERSIONS,
    agrees,
    back,
    begun,
    exited,
    heard,
    holding,
    paired,
    started,
)
from tests.e2e.stories import ASKING, LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude

LONG = "Thinking about it. " * 20
ENDS = (signal.SIGKILL, signal.SIGTERM)


@pytest.mark.parametrize(("number", "variant"), list(zip(ENDS, VERSIONS, strict=True)))
async def test_the_daemon_ends_in_the_middle_of_a_turn_and_the_phone_loses_nothing(
    podium: PodiumDaemon,
    repo: GitRepo,
    model_server: ModelServer,
    number: signal.Signals,
    variant: str,
) -> None:
    slow = when("Take your time", {"text": "Here it is.", "hold": "slow"})
    model_server.load({"rules": [slow, when("Thank", {"text": "Welcome."})]})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await begun(phone, repo, "Take your time")
        await holding(model_server, "slow")
        await podium.restart(number)
        await back(podium, phone)
        model_server.release("slow")
        await heard(phone, session, "Here it is.")
        await phone.turns(session, 1)
        await phone.say("Thank you")
        await heard(phone, session, "Welcome.")
        assert phone.texts(session) == ["Take your time", "Here it is.", "Thank you", "Welcome."]
        assert phone.unsent(session) == [] and phone.faults == []
        await agrees(podium, phone, session)


async def test_the_daemon_ends_before_the_first_words_are_recorded(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The app waits for the session to be ready, with it on the screen."""
    model_server.load({"rules": [when("At once", {"text": "Here it is."})]})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await phone.new(str(repo.path), "At once")
        await podium.restart()
        await back(podium, phone)
        await heard(phone, session, "Here it is.")
        assert phone.texts(session) == ["At once", "Here it is."] and phone.faults == []
        await agrees(podium, phone, session)


@pytest.mark.parametrize("number", ENDS)
async def test_the_daemon_ends_in_the_middle_of_a_recipe_which_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, number: signal.Signals
) -> None:
    rules = [
        when("Work", held(word("complete", LONG), "work")),
        when("Review", held(word("no-issues", LONG), "review")),
    ]
    model_server.load({"rules": rules})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await started(phone, podium.machine.recipe("loop", LOOP), repo)
        await holding(model_server, "work")
        await podium.restart(number)
        await back(podium, phone)
        assert phone.model.board.active[session]["current_step"] == "work"
        model_server.release("work")
        await holding(model_server, "review")
        await phone.until(lambda p: p.model.board.active[session]["current_step"] == "review")
        await podium.restart(number)
        await back(podium, phone)
        assert phone.model.board.active[session]["current_step"] == "review"
        model_server.release("review")
        assert (await exited(phone, session))["reason"] == "turn-complete"
        await phone.open(session)
        await agrees(podium, phone, session)
        assert phone.model.board.active == {} and phone.faults == []


async def test_an_answer_given_just_before_a_kill_is_not_lost(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [bash("echo ran >> made"), word("complete")]})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await started(phone, podium.machine.recipe("asking", ASKING), repo)
        await phone.until(lambda p: p.model.board.questions)
        (question,) = phone.model.board.questions
        phone.send({"type": "answer_question", "question_id": question, "answer": "allow"})
        await phone.barrier()
        await podium.kill9()
        await podium.start()
        await back(podium, phone)
        assert (await exited(phone, session))["class"] == "completed"
        assert phone.model.counts["question"] == 1 and phone.faults == []
    assert (repo.path / "made").read_text() == "ran\n"
