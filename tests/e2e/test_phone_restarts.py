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
    paired,
    started,
)
from tests.e2e.stories import LOOP, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
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
