"""The worker engine against a worker that hears nothing and can fail in every way."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import sys
import threading
import tomllib
import wave
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import INSTALL, LIBRARY, AudioError, SpeechUnavailable
from podiumd.speech.audio import wav
from podiumd.speech.audio.wav import sniff
from podiumd.speech.engines import wire
from podiumd.speech.engines.local import WorkerEngine, open_worker_engine
from podiumd.speech.engines.process import WorkerProcess
from podiumd.speech.models import Models
from podiumd.speech.service import Speech, open_speech
from podiumd.speech.worker.agreement import Agreement
from podiumd.speech.worker.source import File, Source, Stream
from podiumd.tools.process.processes import Identity, alive, start_of, wait_gone
from tests.house.source import ROOT
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.speech import speeches
from tests.speech.speeches import SECOND, fake_worker, request


async def say(speech: Speech, id: str = "u1", seconds: int = 1) -> str:
    return (await speeches.say(speech, id, seconds)).text


def identity(worker: WorkerProcess | None) -> Identity:
    assert worker is not None
    start = start_of(worker.pid)
    assert start is not None
    return Identity(worker.pid, start)


async def test_audio_goes_through_the_worker_and_text_comes_back(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well", language="fr") as (speech, engine):
        assert speech.status().state == "idle" and engine.worker is None
        utterance = await speech.open(request(hotwords=("podium",)))
        await utterance.feed(SECOND)
        found = await utterance.end()
        assert (found.text, found.terms_used) == ("32000 bytes of pcm16 in fr", ("podium",))
        assert speech.status().state == "ready"


async def test_the_worker_starts_when_the_microphone_opens(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well") as (speech, engine):
        await speech.open(request())
        while engine.worker is None:
            await trio.lowlevel.checkpoint()
        assert speech.status().state in ("loading", "ready")


async def test_one_worker_serves_all(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well") as (speech, engine):
        await say(speech, "a")
        first = engine.worker
        async with trio.open_nursery() as nursery:
            nursery.start_soon(say, speech, "b", 2)
            nursery.start_soon(say, speech, "c", 3)
        assert engine.worker is first is not None


async def test_partial_texts_come_from_the_worker(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well") as (speech, _):
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        async for text in utterance.partials():
            assert text == "32000 so far"
            break
        utterance.cancel()


async def test_no_worker_is_left_when_the_service_ends(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well") as (speech, engine):
        await say(speech)
        worker = identity(engine.worker)
        assert alive(worker)
    assert not alive(worker)


async def test_a_worker_that_nobody_uses_is_unloaded(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well", idle_unload_seconds=0.01) as (speech, engine):
        await say(speech)
        kept = engine.worker
        if kept is not None:
            await wait_gone(identity(kept)) if start_of(kept.pid) else None
        await say(speech, "b")  # and started again when it is needed


@pytest.mark.parametrize("how", sampled(["nonsense", "die", "endless"]))
async def test_a_worker_that_fails_once_costs_nobody_a_word(tmp_path: Path, how: str) -> None:
    async with fake_worker(tmp_path, how, once=True) as (speech, _):
        assert await say(speech, seconds=3) == "96000 bytes of pcm16 in None"
        assert speech.status().problem is None


async def test_a_worker_that_hangs_is_killed_and_the_audio_read_again(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "hang", once=True, timeout_seconds=10.0) as (speech, _):
        assert await say(speech) == "32000 bytes of pcm16 in None"


@pytest.mark.long("test_a_worker_that_hangs_is_killed_and_the_audio_read_again")
async def test_a_worker_that_takes_no_audio_is_killed(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "deaf", once=True, timeout_seconds=10.0) as (speech, _):
        assert await say(speech, seconds=60) == "1920000 bytes of pcm16 in None"


async def test_a_worker_killed_in_the_middle_of_a_sentence_loses_nothing(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well") as (speech, engine):
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        async for _ in utterance.partials():
            break
        victim = identity(engine.worker)
        os.kill(victim.pid, signal.SIGKILL)
        await wait_gone(victim)
        await utterance.feed(SECOND)
        assert (await utterance.end()).text == "64000 bytes of pcm16 in None"


async def test_two_who_speak_when_the_worker_dies_both_get_their_text(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "die", once=True) as (speech, _):
        texts: list[str] = []

        async def one(id: str, seconds: int) -> None:
            texts.append(await say(speech, id, seconds))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(one, "a", 1)
            nursery.start_soon(one, "b", 2)
        assert sorted(texts) == ["32000 bytes of pcm16 in None", "64000 bytes of pcm16 in None"]


@pytest.mark.parametrize(
    ("how", "reason"),
    sampled([("broken", "The model is no model"), ("die", "killed by signal 9")]),
)
async def test_a_worker_that_always_fails_is_told_with_the_audio_kept(
    tmp_path: Path, how: str, reason: str
) -> None:
    async with fake_worker(tmp_path, how) as (speech, _):
        with pytest.raises(AudioError, match=reason) as caught:
            await say(speech)
        assert caught.value.code == "engine_failed"
        assert Path(caught.value.message.rpartition(": ")[2]).read_bytes()[44:] == SECOND
        status = speech.status()
        assert status.state == "failed" and reason in (status.problem or "")


async def test_audio_that_the_worker_refuses_is_told_at_once(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "refuse") as (speech, engine):
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        await utterance._over.wait()
        with pytest.raises(AudioError, match="too long") as caught:
            await utterance.feed(SECOND)
        assert caught.value.code == "too_long" and engine.worker is not None


async def test_a_cancelled_utterance_leaves_the_worker_to_the_others(tmp_path: Path) -> None:
    async with fake_worker(tmp_path, "well") as (speech, engine):
        utterance = await speech.open(request("a"))
        await utterance.feed(SECOND)
        async for _ in utterance.partials():
            break
        worker = engine.worker
        utterance.cancel()
        assert await say(speech, "b") == "32000 bytes of pcm16 in None"
        assert engine.worker is worker


async def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    voice = VoiceSettings(model=str(tmp_path / "model"))
    async with fake_worker(tmp_path, "well"):
        pass
    command = [str(tmp_path / "none")]
    async with (
        open_worker_engine(
            voice, Models(tmp_path, {}), {}, command=command, installed=True
        ) as engine,
        open_speech(voice, tmp_path, {}, engine=engine) as speech,
    ):
        with pytest.raises(AudioError, match="cannot be started"):
            await say(speech)


@pytest.mark.parametrize(
    ("installed", "model", "state", "says"),
    [
        (False, "base", "not-installed", re.escape(INSTALL)),
        (True, "base", "no-model", "podium voice install base"),
        (True, "huge", "no-model", "Name one of: tiny"),
        (True, "/no/where", "no-model", "/no/where holds no model"),
    ],
)
async def test_what_is_missing_is_a_state_that_says_what_to_do(
    tmp_path: Path, installed: bool, model: str, state: str, says: str
) -> None:
    voice = VoiceSettings(model=model)
    models = Models(tmp_path, {"HOME": str(tmp_path)})
    async with (
        open_worker_engine(voice, models, {}, installed=installed) as engine,
        open_speech(voice, tmp_path, {}, engine=engine) as speech,
    ):
        assert isinstance(engine, WorkerEngine)
        speech.warm()
        assert speech.status().state == state
        with pytest.raises(SpeechUnavailable, match=says) as caught:
            await speech.open(request())
        assert caught.value.state == state


def test_speech_is_installed_where_podium_itself_is() -> None:
    program, *rest = shlex.split(INSTALL)
    assert program == sys.executable
    assert rest == ["-m", "pip", "install", LIBRARY]


def test_what_the_advice_the_guide_and_the_extra_install_is_the_same() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert package["project"]["optional-dependencies"]["voice"] == [LIBRARY]
    guide = (ROOT / "docs" / "voice.md").read_text("utf-8")
    assert f'-m pip install "{LIBRARY}"' in guide and f'pipx inject podium "{LIBRARY}"' in guide


# -- small parts: frames, first bytes, heads of files, agreement, growing sources ------------


@given(st.sampled_from([wire.OPEN, wire.DATA]), st.integers(0, 2**32 - 1), st.binary())
def test_a_frame_is_taken_apart_as_it_was_made(kind: bytes, job: int, content: bytes) -> None:
    made = wire.frame(kind, job, content)
    assert int.from_bytes(made[:4], "big") == len(made) - 4
    assert wire.take_apart(made[4:]) == (kind, job, content)


def test_a_frame_without_a_job_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame of 3 bytes"):
        wire.take_apart(b"abc")


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b"RIFF\x24\0\0\0WAVEfmt ", "wav"),
        (b"\0\0\0\x1cftypM4A ", "m4a"),
        (b"\0\0\0\x18ftypisom", "mp4"),
        (b"\0\0\0\x18styp", "mp4"),
        (b"OggS\0\x02", "ogg"),
        (b"\x1aE\xdf\xa3", "webm"),
        (b"caff\0\x01", "caf"),
        (b"fLaC", "flac"),
        (b"ID3\x04", "mp3"),
        (b"\xff\xfb\x90\x64", "mp3"),
        (b"\xff\xf1\x50\x80", None),
        (b"\xff\xfb\xf0\x64", None),
        (b"#EXTM3U\n", None),
        (b"ffconcat version 1.0", None),
        (b"RIFF\x24\0\0\0AVI ", None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_a_container_is_known_by_its_first_bytes(head: bytes, format: str | None) -> None:
    assert sniff(head) == format


@pytest.mark.parametrize("rate", [8000, 16_000, 48_000])
def test_a_head_makes_a_wav_file(rate: int) -> None:
    data = bytes(range(200))
    with wave.open(io.BytesIO(wav.head(len(data), rate) + data)) as file:
        assert file.getparams()[:4] == (1, 2, rate, 100)
        assert file.readframes(100) == data
    assert wav.rate_of(wav.head(0, rate)) == rate


def test_only_words_that_two_readings_agree_on_are_told() -> None:
    agreement = Agreement()
    told = [
        agreement.take(text)
        for text in (
            "And",
            "And Mister",
            "And Mr. John dash",
            "And Mr. John, Dashwood had",
            "And",
            "And Mr",
            "And Mr. John Dashwood had then",
            "And Mr. John Dashwood had then leisure",
        )
    ]
    assert told == [
        "",
        "And",
        "And",
        "And Mr. John,",
        "And Mr. John,",
        "And Mr. John,",
        "And Mr. John,",
        "And Mr. John Dashwood had then",
    ]


@given(st.lists(st.text("ab .", max_size=12)))
def test_what_was_told_never_gets_shorter(readings: list[str]) -> None:
    agreement, last = Agreement(), 0
    for text in readings:
        told = len(agreement.take(text).split())
        assert told >= last
        last = told


def test_a_reader_waits_for_what_has_not_come_yet() -> None:
    source, read = Source(), list[bytes]()

    def follow() -> None:
        stream = Stream(source)
        while data := stream.read():
            read.append(data)

    thread = threading.Thread(target=follow)
    thread.start()
    for piece in (b"one", b"two"):
        source.add(piece)
    source.finish()
    thread.join(HANG_SECONDS)
    assert b"".join(read) == b"onetwo" and not thread.is_alive()


def test_a_file_is_jumped_in() -> None:
    source = Source()
    source.add(b"0123456789")
    source.finish()
    file = File(source)
    assert file.seekable() and file.seek(8) == 8 and file.read(9) == b"89"
    assert file.seek(-4, 1) == file.tell() == 6 and file.read(1) == b"6"
    assert file.seek(99) == 99 and file.read(1) == b""
    assert file.seek(-1, 2) == 9 and file.read(1) == b"9"


def test_what_is_decoded_is_forgotten() -> None:
    source = Source()
    source.add(bytes(100))
    source.clear()
    assert len(source) == 0 and source.at(0, 9) == source.exactly(0, 9) == b""
