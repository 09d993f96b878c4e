"""A day of a phone: the simulated app, a real daemon, the real agent."""

from __future__ import annotations

import pytest
import trio

from podium.phone.requests import of_session
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import ASKING, bash, when, word
from tests.e2e.test_recipe_loop import LOOP
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude

PATIENCE = 40.0


async def paired(podium: PodiumDaemon) -> tuple[str, str]:
    """A new device: the gateway's address and the key."""
    made = await podium.rpc("gateway.pair")
    return made["url"], made["key"]


@pytest.mark.parametrize("variant", ["ios", "ios-0.4"])
async def test_a_day_from_the_first_words_to_a_recipe(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    chat = [when("Good morning", {"text": "Morning."}), when("And now", {"text": "Tea."})]
    model_server.load({"rules": [*chat, *LOOP["rules"]]})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await phone.new(str(repo.path), "Good morning")
        await phone.until(lambda p: "Morning." in p.texts(session), PATIENCE)
        await phone.turns(session, 1, PATIENCE)
        assert phone.unsent(session) == [] and phone.texts(session)[0] == "Good morning"
        await phone.say("And now?")
        await phone.until(lambda p: "Tea." in p.texts(session), PATIENCE)
        await phone.turns(session, 2, PATIENCE)
        phone.send(of_session("start_recipe", session, recipe_id="implement-and-review"))
        await phone.until(lambda p: p.model.board.active.get(session), PATIENCE)
        await phone.background()
        await phone.foreground()
        await phone.until(lambda p: p.model.board.exited, PATIENCE)
        ended = phone.model.board.exited[0]
        assert (ended["reason"], ended["category"]) == ("changes-committed", "completed")
        assert phone.model.board.active == {} and phone.faults == []
    assert repo.subjects == ["Open a shop", "Begin"]


async def test_an_approval_is_given_on_the_phone_and_a_second_phone_sees_it_closed(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [bash("echo ran >> made"), word("complete")]})
    recipe = podium.machine.recipe("asking", ASKING)
    url, key = await paired(podium)
    _, other_key = await paired(podium)
    async with Phone(url, key, "ios") as phone, Phone(url, other_key, "ios") as other:
        started = await phone.request(
            {
                "type": "start_recipe",
                "session_id": None,
                "recipe_id": recipe,
                "working_directory": str(repo.path),
            },
            "recipe_started",
            seconds=PATIENCE,
        )
        await phone.until(lambda p: p.model.board.questions, PATIENCE)
        (question,) = phone.model.board.questions.values()
        assert question["input"]["command"] == "echo ran >> made"
        assert list(other.model.board.questions) == [question["question_id"]]
        answer = {"question_id": question["question_id"], "answer": "allow"}
        phone.send({"type": "answer_question", **answer})
        await other.until(lambda p: p.model.board.closed, PATIENCE)
        await phone.until(lambda p: p.model.board.exited, PATIENCE)
        assert phone.model.board.exited[0]["session_id"] == started["session_id"]
        assert phone.faults == other.faults == []
    assert (repo.path / "made").read_text() == "ran\n"


async def test_the_daemon_dies_in_the_middle_of_a_turn_and_the_phone_loses_nothing(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"rules": [when("Take your time", {"text": "Here it is.", "hold": "slow"})]})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await phone.new(str(repo.path), "Take your time")
        await trio.to_thread.run_sync(model_server.wait_holding, "slow", PATIENCE)
        await podium.restart()
    status = await podium.rpc("daemon.status")
    async with Phone(status["gateway"]["url"], key, "ios") as phone:
        await phone.open(session)
        model_server.release("slow")
        await phone.until(lambda p: "Here it is." in p.texts(session), PATIENCE)
        assert phone.texts(session) == ["Take your time", "Here it is."] and phone.faults == []


@pytest.mark.parametrize("variant", ["android", "rn"])
async def test_older_apps_get_their_answers(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    model_server.load({"rules": [when("Hello", {"text": "Hi there."})]})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await phone.new(str(repo.path), "Hello")
        await phone.until(lambda p: any("Hi there." in t for t in p.texts(session)), PATIENCE)
        assert phone.faults == []
