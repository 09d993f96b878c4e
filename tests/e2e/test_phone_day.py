"""A day of a phone: the simulated app, a real daemon, the real agent."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import (
    VERSIONS,
    agrees,
    begun,
    exited,
    heard,
    paired,
)
from tests.e2e.stories import when
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


# -- older apps on the real agent: what their shapes allow, and nothing that they stumble over


OLDER = ("android", "rn")


@pytest.mark.parametrize("variant", OLDER)
async def test_older_apps_get_their_answers(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    rules = [when("Hello", {"text": "Hi there."}), when("More", {"text": "A bit."})]
    model_server.load({"rules": rules})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await phone.new(str(repo.path), "Hello")
        await heard(phone, session, "Hi there.")
        locked = phone.model.session(session)
        await phone.until(lambda _: not locked.locked)  # type: ignore[union-attr]
        known = phone.session(session).session_id
        await phone.open(known)
        assert phone.texts(known).count("Hi there.") == 1, "the answer is the same row"
        await phone.say("More")
        await heard(phone, known, "A bit.")
        await phone.background()
        await phone.foreground()
        await phone.until(lambda p: p.model.sync.settled(known))
        texts = phone.texts(known)
        assert (texts.count("Hi there."), texts.count("A bit.")) == (1, 1)
        assert phone.faults == [] and phone.model.errors == []
