"""Older apps on the real agent: what their shapes allow, and nothing that they stumble over."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import exited, heard, paired
from tests.e2e.stories import ASKING, when, word
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude

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
