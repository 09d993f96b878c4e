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
)
from tests.e2e.stories import ASKING, held, when, word
from tests.e2e.terminal import ask_alone, begin_alone
from tests.e2e.test_recipe_loop import LOOP as IMPLEMENT_AND_REVIEW
from tests.e2e.test_recipe_loop import WALK
from tests.e2e.test_session_places import GIST, SUM_UP, SUMMARY
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


async def test_the_react_native_app_sees_a_recipe_start_and_end(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": word("complete")})
    recipe = podium.machine.recipe("asking", ASKING)
    url, key = await paired(podium)
    async with Phone(url, key, "rn") as phone:
        start = {
            "type": "start_recipe",
            "session_id": "0c5f4a52-7f0e-4f04-8f0b-1d3e5f6a7b8c",
            "recipe_id": recipe,
            "working_directory": str(repo.path),
        }
        told = await phone.request(start, "recipe_started")
        assert told["session_id"] == start["session_id"]
        assert (await exited(phone, told["session_id"]))["reason"] == "turn-complete"
        assert phone.faults == []


# -- what a phone does with its sessions: summed up, stopped, in a terminal, in a tree of its own


HELLO = {"default": {"text": "Hello."}}


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_session_goes_on_in_a_terminal_and_comes_back(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    rules = [when("At the desk", {"text": "Seen."}), when("Under way", {"text": "Again."})]
    model_server.load({"rules": rules, **HELLO})
    url, key = await paired(podium)
    machine = podium.machine
    session = await begin_alone(machine, repo.path, "Hi.")
    async with Phone(url, key, variant) as phone:
        await phone.until(lambda p: session in p.model.listed or p.model.recents)
        await phone.open(session)
        await heard(phone, session, "Hello.")
        await phone.say("Under way")
        await heard(phone, session, "Again.")
        await ask_alone(machine, session, repo.path, "At the desk")
        await heard(phone, session, "Seen.")
        await phone.background()
        await ask_alone(machine, session, repo.path, "Without the phone")
        await phone.foreground()
        await heard(phone, session, "Without the phone")
        await agrees(podium, phone, session)
        assert len(phone.texts(session)) == 8 and phone.faults == []


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_session_is_stopped_and_summed_up_and_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    rules = [when(SUM_UP, SUMMARY), when("Take your time", held({"text": LONG}))]
    model_server.load({"rules": rules, **HELLO})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await begun(phone, repo, "Hi.", "Hello.")
        await phone.turns(session, 1)
        await phone.say("Take your time")
        await holding(model_server, "half")
        await heard(phone, session, "Take your time")
        with phone.listening("turn_complete") as ended:
            await asked(phone, "kill_session", session, "session_killed")
            await phone.until(lambda _: ended)
        assert ended[0]["aborted"] is True
        await phone.say("Still there?")
        await phone.until(lambda p: p.texts(session)[-1:] == ["Hello."])
        await phone.turns(session, 3)
        told = await asked(
            phone, "compact_session", session, "compaction_complete", "compaction_error"
        )
        assert told["type"] == "compaction_complete"
        await phone.until(lambda p: any(GIST in text for text in p.texts(session)))
        await phone.say("And after that?")
        await phone.until(lambda p: p.texts(session)[-1:] == ["Hello."])
        assert podium.machine.prompts(session, repo.path)[-1] == "And after that?"
        await agrees(podium, phone, session)
        assert phone.unsent(session) == [] and phone.faults == []
