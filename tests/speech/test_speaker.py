from __future__ import annotations

import json
import os
import stat
import sys
import wave
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from podiumd.config.settings import VoiceSettings
from podiumd.core.recipe.exits import Exit
from podiumd.core.run import facts as f
from podiumd.speech.audio.announcer import Mode, speak_events
from podiumd.speech.audio.speaker import MOST_WAITING, SpeakerMissing, open_speaker
from podiumd.wire.event import Event
from podiumd.wire.runs import Run
from tests.patience import HANG_SECONDS
from tests.plain import some

RECORDER = """\
#!{python}
import json, os, sys, time
said = sys.stdin.read()
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], said]) + "\\n")
if "for ever" in said:
    os.mkfifo({fifo!r} + ".never")
    open({fifo!r}, "w").close()
    open({fifo!r} + ".never").read()
sys.exit(3 if "fail" in said else 0)
"""


class Recorder:
    """A program that speaks into a file; it hangs where it is told to speak for ever."""

    def __init__(self, directory: Path, name: str = "espeak-ng") -> None:
        self.directory = directory
        self.log = directory / "said"
        self.hangs = directory / "hangs"
        self.program = directory / name
        os.mkfifo(self.hangs)
        text = RECORDER.format(python=sys.executable, log=str(self.log), fifo=str(self.hangs))
        self.program.write_text(text)
        self.program.chmod(stat.S_IRWXU)

    @property
    def said(self) -> list[tuple[list[str], str]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [(arguments, text.rstrip("\n")) for arguments, text in map(json.loads, lines)]

    @property
    def texts(self) -> list[str]:
        return [text for _arguments, text in self.said]

    async def hanging(self) -> None:
        """Return once the program hangs."""
        await trio.to_thread.run_sync(self.hangs.read_text)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def settings(**given: Any) -> Callable[[], VoiceSettings]:
    made = replace(VoiceSettings(speak="summary"), **given)
    return lambda: made


def environ(recorder: Recorder) -> dict[str, str]:
    return {"PATH": str(recorder.directory), "HOME": "/", "PODIUM_SECRET": "x"}


async def test_texts_are_said_one_after_the_other(recorder: Recorder) -> None:
    async with open_speaker(settings(language="de", speak_rate=200), environ(recorder)) as speaker:
        speaker.say("Eins.")
        speaker.say("-v Zwei.")
        assert speaker.speaking
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    arguments = ["-s", "200", "-v", "de", "--stdin"]
    assert recorder.said == [(arguments, "Eins."), (arguments, "-v Zwei.")]
    assert not speaker.speaking


async def test_a_program_of_the_persons_own_gets_the_text_on_its_input(recorder: Recorder) -> None:
    command = (str(recorder.program), "--model", "own voice")
    async with open_speaker(settings(speak_command=command), {}) as speaker:
        speaker.say("Hello.")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    assert recorder.said == [(["--model", "own voice"], "Hello.")]


async def test_silence_comes_at_once_and_what_waited_is_not_said(recorder: Recorder) -> None:
    async with open_speaker(settings(), environ(recorder)) as speaker:
        speaker.say("This is said for ever.")
        speaker.say("This waits.")
        with trio.fail_after(HANG_SECONDS):
            await recorder.hanging()
            speaker.stop()
            await speaker.silence()
            speaker.say("This comes after.")
            await speaker.silence()

    assert recorder.texts == ["This is said for ever.", "This comes after."]


async def test_to_stop_a_silent_speaker_changes_nothing(recorder: Recorder) -> None:
    async with open_speaker(settings(), environ(recorder)) as speaker:
        speaker.stop()
        speaker.say("Still there.")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()
        speaker.stop()

    assert recorder.texts == ["Still there."]


async def test_the_end_of_the_daemon_is_silence(recorder: Recorder) -> None:
    with trio.fail_after(HANG_SECONDS):
        async with open_speaker(settings(), environ(recorder)) as speaker:
            speaker.say("This is said for ever.")
            await recorder.hanging()


async def test_of_too_many_texts_the_newest_are_said(recorder: Recorder) -> None:
    async with open_speaker(settings(), environ(recorder)) as speaker:
        for number in range(MOST_WAITING + 5):
            speaker.say(f"Text {number}.")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    assert recorder.texts == [f"Text {number}." for number in range(5, MOST_WAITING + 5)]


async def test_no_text_is_a_command_to_the_program(recorder: Recorder) -> None:
    async with open_speaker(settings(), environ(recorder)) as speaker:
        speaker.say("[[slnc 9000]] Hi\x1b[0m\x00")
        speaker.say(" \x07 ")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    assert recorder.texts == ["slnc 9000  Hi [0m"]


async def test_a_program_that_fails_or_is_missing_is_told_once(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "podium")
    current = [settings()()]
    async with open_speaker(lambda: current[0], environ(recorder)) as speaker:
        with trio.fail_after(HANG_SECONDS):
            for _ in range(2):
                speaker.say("fail")
                await speaker.silence()
            current[0] = settings(speak_command=("/nowhere/speak",))()
            speaker.say("Gone.")
            await speaker.silence()
    async with open_speaker(settings(), {"PATH": "/nowhere"}) as speaker:
        with pytest.raises(SpeakerMissing, match="espeak-ng"):
            speaker.command()
        speaker.say("Missing.")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    reasons = [record.__dict__["podium"]["reason"] for record in caplog.records]
    assert len(reasons) == 3
    assert "ended with status 3" in reasons[0]
    assert "/nowhere/speak" in reasons[1]
    assert "install espeak-ng" in reasons[2]


async def test_a_program_that_hangs_is_ended(
    recorder: Recorder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("WARNING", "podium")
    monkeypatch.setattr("podiumd.speech.audio.speaker.START_SECONDS", 0.5)
    monkeypatch.setattr("podiumd.speech.audio.speaker.SLOWEST", 1000.0)
    async with open_speaker(settings(), environ(recorder)) as speaker:
        speaker.say("This is said for ever.")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    assert "did not come to its end" in caplog.records[0].__dict__["podium"]["reason"]


async def test_the_program_of_macos_is_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say = Recorder(tmp_path, "say")
    monkeypatch.setattr("sys.platform", "darwin")
    async with open_speaker(settings(), environ(say)) as speaker:
        assert speaker.command() == [str(say.program), "-r", "175", "-f", "-"]


@pytest.mark.needs("espeak-ng")
async def test_espeak_ng_speaks(tmp_path: Path) -> None:
    file = tmp_path / "said.wav"
    command = ("espeak-ng", "-w", str(file), "--stdin")
    async with open_speaker(settings(speak_command=command), os.environ) as speaker:
        speaker.say("The tests have passed, and the work is committed.")
        with trio.fail_after(HANG_SECONDS):
            await speaker.silence()

    with wave.open(str(file)) as sound:
        seconds = sound.getnframes() / sound.getframerate()
        assert 1.5 < seconds < 8
        assert max(sound.readframes(sound.getnframes())) > 0


# -- events ----------------------------------------------------------------------------------


class Ear:
    """What would be spoken."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, text: str) -> None:
        if text:
            self.heard.append(text)

    def stop(self) -> None:
        self.heard.append("(silence)")


def event(fact: f.AnyFact, run: Run | None = None, run_id: str = "r1") -> Event:
    return Event(fact, at="", run_id=run_id, session_id="s", run=run)


def ended(kind: str, run_id: str = "r1") -> Event:
    why = "turn-complete" if kind == "prompt" else "x"
    end = some(Exit, reason=why, message="All committed")
    return event(f.RunEnded(exit=end), some(Run, kind=kind), run_id)


def turn(text: str, run_id: str = "r1") -> Event:
    return event(some(f.TurnEnded, text=text), run_id=run_id)


QUESTION = event(some(f.QuestionOpened, kind="gate", text="Commit?"))
CLOSED = event(some(f.QuestionClosed))


async def heard(mode: Mode, *events: Event) -> list[str]:
    ear = Ear()

    async def feed() -> AsyncIterator[Event]:
        for event in events:
            yield event

    await speak_events(feed(), ear, lambda: mode)  # type: ignore[arg-type]
    return ear.heard


async def test_nothing_is_said_at_the_machine_unless_it_is_wanted() -> None:
    assert await heard("off", turn("Done."), QUESTION, CLOSED, ended("prompt")) == []


async def test_a_summary_tells_questions_and_ends() -> None:
    said = await heard("summary", turn("It works.\n```\nx\n```"), QUESTION, ended("prompt"))
    assert said == ["A question: Commit?", "It works."]
    assert await heard("summary", turn("Long."), ended("recipe")) == ["All committed."]


async def test_in_full_the_answer_is_read_and_not_told_again() -> None:
    assert await heard("full", turn("It works."), ended("prompt")) == ["It works."]
    assert await heard("full", turn("It works."), ended("recipe")) == [
        "It works.",
        "All committed.",
    ]
    assert await heard("full", ended("prompt")) == ["Done."]


async def test_a_question_that_is_answered_is_not_read_on() -> None:
    assert await heard("summary", QUESTION, CLOSED) == ["A question: Commit?", "(silence)"]


async def test_the_answers_of_many_runs_are_not_kept_for_ever() -> None:
    turns = [turn(f"Answer {number}.", f"r{number}") for number in range(100)]
    assert await heard("summary", *turns, ended("prompt", "r0")) == ["Done."]
    assert await heard("summary", *turns, ended("prompt", "r99")) == ["Answer 99."]
