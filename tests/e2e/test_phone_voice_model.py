"""Phones that speak to a real model: recordings of people, the worker process, the real agent."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.phones import begun, heard, paired
from tests.fakes.model_server import ModelServer
from tests.phone.driver import AtOnce, Phone
from tests.speech import assets

pytestmark = pytest.mark.claude

PIECE = 3200
"""A tenth of a second."""

WORKER = "podiumd.speech.worker"


@pytest.fixture(scope="session")
def recordings() -> dict[str, bytes]:
    """People's voices. Never skips: without them nothing is proved, and that is a failure."""
    try:
        return {name: path.read_bytes() for name, path in assets.recordings().items()}
    except assets.AssetError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="session")
def tiny() -> Path:
    """A model of English."""
    try:
        return assets.model("tiny.en")
    except assets.AssetError as error:
        pytest.fail(str(error))


@pytest.fixture
def machine(machine: Machine, tiny: Path) -> Machine:
    """The same, with a model for speech."""
    machine.voice(model=str(tiny), language="en")
    return machine


def words(text: str) -> set[str]:
    """The words of a text; how they are written is the model's own business."""
    return {word.strip(".,!?").casefold() for word in text.split()}


def workers(podium: PodiumDaemon) -> list[int]:
    """The processes that read speech."""
    return [one.pid for one, line in podium.living() if WORKER in line]


async def test_what_a_person_says_reaches_the_agent(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, recordings: dict[str, bytes]
) -> None:
    """Twice over: as raw samples from the microphone, and as a file."""
    model_server.load({"default": {"text": "Going."}})
    url, key = await paired(podium)
    async with Phone(url, key) as phone:
        session = await begun(phone, repo, "Hello", "Going.")
        await phone.turns(session, 1)
        sound = recordings["goforward.raw"]
        told = await phone.speak(sound, session_id=session, deliver="prompt")
        assert {"go", "forward", "meters"} <= words(told["text"])
        assert (told["delivered"], told["language"]) == (True, "en")
        await phone.turns(session, 2)
        assert podium.machine.prompts(session, repo.path)[-1] == told["text"]
        told = await phone.speak(recordings["austen-0890.wav"], format="wav")
        assert {"unless", "rather", "selfish"} <= words(told["text"])
        assert told["latency_ms"] < 5000 and phone.faults == []
        assert (await podium.rpc("voice.status"))["state"] == "ready"


async def test_a_cut_connection_and_a_killed_worker_cost_no_word(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, recordings: dict[str, bytes]
) -> None:
    model_server.load({"default": {"text": "Yes."}})
    url, key = await paired(podium)
    sound = recordings["austen-0890.wav"]
    half = len(sound) // 2
    async with Phone(url, key, retries=AtOnce()) as phone:
        session = await begun(phone, repo, "Hello", "Yes.")
        await phone.turns(session, 1)
        await phone.speak(recordings["goforward.raw"])  # the model is loaded now
        (worker,) = workers(podium)
        mine = await phone.press("wav", session_id=session, deliver="prompt")
        await phone.utter(mine, sound[:half], PIECE)
        os.kill(worker, signal.SIGKILL)
        phone.cut()
        await phone.until(lambda p: p.connections == 2 and p.up)
        await phone.utter(mine, sound[half:], PIECE)
        told = await phone.release(mine)
        assert {"unless", "rather", "selfish"} <= words(told["text"]), told
        assert told["delivered"] is True
        await heard(phone, session, told["text"])
        assert podium.machine.prompts(session, repo.path) == ["Hello", told["text"]]
        assert workers(podium) != [worker] and phone.faults == []
