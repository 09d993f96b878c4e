"""Speech as the edges use it: what is asked, which words to expect, what is said at the machine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from podiumd.config.settings import VoiceSettings
from podiumd.runtime.errors import InvalidParameter, NotFound
from podiumd.runtime.voice import service as voice_module
from podiumd.runtime.voice.service import Voice, speak_aloud
from podiumd.speech.audio.speaker import Speaker, open_speaker
from podiumd.speech.service import open_speech
from tests.gateway.fake_engine import FakeEngine
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running


@asynccontextmanager
async def voiced(machine: Machine) -> AsyncIterator[tuple[Daemon, Voice]]:
    async with (
        running(machine) as daemon,
        open_speech(VoiceSettings(), machine.state, {}, engine=FakeEngine()) as speech,
        open_speaker(VoiceSettings, os.environ) as speaker,
    ):
        yield daemon, Voice(speech, speaker, daemon.service)


async def test_what_is_asked_is_known_with_its_risks_the_oldest_first(machine: Machine) -> None:
    async with voiced(machine) as (daemon, voice):
        asked = []
        for command in ("rm -rf build", "make test"):
            run = await daemon.prompt("Do it")
            turn = await daemon.turn()
            turn.asks(input={"command": command})
            asked.append((await daemon.question(run["run_id"]), run["session_id"]))
        first, second = daemon.service.open_questions()
        assert [first.asked.question_id, second.asked.question_id] == [
            question["question_id"] for question, _ in asked
        ]
        assert first.asked.risks == ("destructive",) and second.asked.risks == ()
        assert [each.sessions for each in (first, second)] == [(s, s) for _, s in asked]
        assert voice.control.open_questions() == {
            first.asked.question_id,
            second.asked.question_id,
        }


async def test_the_words_of_a_project_hold_its_recipes(machine: Machine) -> None:
    async with voiced(machine) as (_, voice):
        machine.one_step("mend-the-gate")
        found = await voice.vocabulary(None, str(machine.project))
        assert "mend-the-gate" in found.words


async def test_words_need_a_place(machine: Machine) -> None:
    async with voiced(machine) as (_, voice):
        with pytest.raises(InvalidParameter):
            await voice.vocabulary(None, None)
        with pytest.raises(NotFound):
            await voice.vocabulary("no-such-session", None)


async def test_a_session_that_is_not_there_yet_has_no_words_of_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: str) -> None:
        raise OSError("unreadable")

    async with voiced(machine) as (daemon, voice):
        assert await voice.terms(None) == ()
        assert await voice.terms("no-such-session") == ()
        monkeypatch.setattr(daemon.service, "sessions_get", broken)
        assert await voice.terms("session") == ()


class Mouth:
    """A speaker that fails the first time."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.heard = trio.Event()

    def say(self, text: str) -> None:
        self.said.append(text)
        if len(self.said) == 1:
            raise RuntimeError("hoarse")
        self.heard.set()

    def stop(self) -> None:
        """Nothing is being said."""


async def test_a_voice_that_fails_goes_on_with_what_comes_next(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voice_module, "AGAIN_SECONDS", 0)
    mouth: Any = Mouth()
    speaker: Speaker = mouth
    async with voiced(machine) as (daemon, _), trio.open_nursery() as nursery:
        nursery.start_soon(speak_aloud, daemon.service, speaker, lambda: "summary")
        while not mouth.heard.is_set():
            await trio.testing.wait_all_tasks_blocked()
            run = await daemon.prompt("Hello")
            (await daemon.turn()).end(done(text="Fine."))
            await daemon.service.run_gone(run["run_id"])
        assert set(mouth.said) == {"Fine."}
        nursery.cancel_scope.cancel()
