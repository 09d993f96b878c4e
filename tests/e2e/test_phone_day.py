"""A day of a phone: the simulated app, a real daemon, the real agent."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import (
    VERSIONS,
    agrees,
    asked,
    begun,
    exited,
    heard,
    holding,
    paired,
    started,
)
from tests.e2e.stories import LOOP, bash, held, when, word
from tests.e2e.test_recipe_loop import LOOP as IMPLEMENT_AND_REVIEW
from tests.e2e.test_recipe_loop import WALK
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone
from tests.phone_app.requests import of_session

pytestmark = pytest.mark.claude

LONG = "Thinking about it. " * 20


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_day_from_the_first_words_to_a_recipe(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    chat = [
        when("Good morning", {"text": "Morning."}),
        when("And now", {"text": "Tea."}),
        when("Well done", {"text": "Thanks."}),
    ]
    model_server.load({"rules": [*chat, *IMPLEMENT_AND_REVIEW["rules"]]})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await begun(phone, repo, "Good morning", "Morning.")
        await phone.turns(session, 1)
        await phone.say("And now?")
        await heard(phone, session, "Tea.")
        await phone.turns(session, 2)
        listed = await phone.request({"type": "refresh_sessions"}, "session_list")
        assert [row["session_id"] for row in listed["sessions"]] == [session]
        offered = await phone.request({"type": "get_available_recipes"}, "available_recipes")
        assert "implement-and-review" in [row["id"] for row in offered["recipes"]]
        with phone.listening("recipe_started") as steps:
            phone.send(of_session("start_recipe", session, recipe_id="implement-and-review"))
            await phone.until(lambda p: p.model.board.active.get(session))
            await phone.background()
            await phone.foreground()
            told = await exited(phone, session)
        assert (told["reason"], told["category"]) == ("changes-committed", "completed")
        assert phone.model.board.active == {} and steps[-1]["current_step"] == WALK[-1]
        counts = [step["step_count"] for step in steps]
        assert counts == sorted(counts) and counts[-1] == len(WALK)
        await phone.say("Well done.")
        await heard(phone, session, "Thanks.")
        assert phone.unsent(session) == []
        await agrees(podium, phone, session)
        assert phone.faults == []
    assert repo.subjects == ["Open a shop", "Begin"]


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_recipe_is_steered_paused_resumed_and_left(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    rules = [
        when("Work", held(bash("true", LONG)), word("complete")),
        when("Review", held(word("no-issues", LONG), "review")),
        when("Just", {"text": "Talking."}),
    ]
    model_server.load({"rules": rules})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await started(phone, podium.machine.recipe("loop", LOOP), repo)
        await holding(model_server, "half")
        await phone.open(session)
        steered = await asked(phone, "steer", session, "steer_result", text="Mind the gap.")
        assert steered["state"] == "queued"
        await phone.say("And the step.")
        assert phone.model.acks[-1] in (
            "Delivered into the running turn",
            "Queued: the recipe's next prompt carries it",
        ), phone.describe()
        phone.send(of_session("pause_recipe", session))
        await phone.barrier()
        model_server.release("half")
        await phone.until(lambda p: p.model.counts["recipe_paused"])
        await asked(phone, "resume_recipe", session, "recipe_resumed")
        await holding(model_server, "review")
        phone.send(of_session("exit_recipe", session))
        assert (await exited(phone, session))["reason"] == "user-requested"
        await phone.say("Just talk.")
        await heard(phone, session, "Talking.")
        said = podium.machine.prompts(session, repo.path)
        assert said[-1] == "Just talk." and phone.faults == []
        everything = "".join(request.anywhere for request in model_server.requests)
        assert "Mind the gap." in everything and "And the step." in everything
        await agrees(podium, phone, session)
