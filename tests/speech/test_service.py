"""Utterances and files, whatever the engine is."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.speech import service
from podiumd.speech.api import AudioError, SpeechUnavailable
from tests.speech.speeches import SECOND, request, say, scripted


async def refusal(asked: Awaitable[object]) -> str:
    """The code of the error that something ends with."""
    with pytest.raises(AudioError) as caught:
        await asked
    return caught.value.code


def audio_files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "voice").rglob("*") if path.is_file()]


async def test_what_is_said_is_told_with_what_is_known_of_it(tmp_path: Path) -> None:
    async with scripted(tmp_path, "hello world") as speech:
        found = await say(speech, language="de", hotwords=("podium",))
    assert (found.text, found.language, found.duration_ms) == ("hello world", "de", 1000)
    assert (found.terms_used, found.no_speech, found.engine) == (("podium",), False, "scripted")
    assert found.latency_ms >= 0


@pytest.mark.parametrize(
    ("asked", "language"),
    [("de", "de"), ("en-US", "en"), ("pt_BR", "pt"), ("English", "en"), ("", "en"), ("d€", "en")],
)
async def test_a_language_is_taken_by_its_code(tmp_path: Path, asked: str, language: str) -> None:
    async with scripted(tmp_path, "x") as speech:
        utterance = await speech.open(request(language=asked))
        assert (await utterance.end()).language == language
        found = await speech.transcribe(SECOND, format="pcm16", language=asked)
        assert found.language == language


async def test_silence_is_no_text(tmp_path: Path) -> None:
    async with scripted(tmp_path, "") as speech:
        found = await say(speech)
    assert (found.text, found.no_speech) == ("", True)


async def test_terms_may_be_named_while_the_person_speaks(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        utterance.expect(("session_lock",))
        assert (await utterance.end()).terms_used == ("session_lock",)


async def test_terms_that_were_named_are_spelt_as_they_are(tmp_path: Path) -> None:
    async with scripted(tmp_path, "see phone-link") as speech:
        utterance = await speech.open(request(hotwords=("phone_link",)))
        assert (await utterance.end()).text == "see phone_link"


async def test_audio_is_ours_alone_and_deleted_once_it_is_answered(tmp_path: Path) -> None:
    async with scripted(tmp_path, "hello") as speech:
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        (file,) = audio_files(tmp_path)
        assert file.read_bytes()[44:] == SECOND
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        await utterance.end()
        await trio.testing.wait_all_tasks_blocked()
        assert audio_files(tmp_path) == []


async def test_nothing_is_made_before_somebody_speaks(tmp_path: Path) -> None:
    async with scripted(tmp_path) as speech:
        assert speech.status().state == "ready"
        assert list(tmp_path.iterdir()) == []


async def test_partial_texts_come_as_they_are_understood_and_end_with_it(tmp_path: Path) -> None:
    seen: list[str] = []
    async with scripted(tmp_path, "one two three") as speech, trio.open_nursery() as nursery:
        utterance = await speech.open(request())

        async def watch() -> None:
            seen.extend([text async for text in utterance.partials()])

        nursery.start_soon(watch)
        for _ in range(2):
            await utterance.feed(bytes(8000))
            await trio.testing.wait_all_tasks_blocked()
        await utterance.end()
    assert seen == ["one", "one two"]


async def test_the_same_utterance_goes_on_after_a_lost_connection(tmp_path: Path) -> None:
    async with scripted(tmp_path, "whole sentence") as speech:
        first = await speech.open(request(owner="phone"))
        await first.feed(SECOND, 0)
        await first.feed(SECOND, 1)
        again = await speech.open(request(owner="phone"))
        assert again is first and again.next_frame == 2
        await again.feed(SECOND, 1)  # sent once more: it is here already
        await again.feed(SECOND, 2)
        found = await again.end()
        assert (found.duration_ms, found.text) == (3000, "whole sentence")
        assert (await first.end()) is found


async def test_who_waits_for_a_text_may_leave_and_come_back(tmp_path: Path) -> None:
    async with scripted(tmp_path, "still here") as speech:
        utterance = await speech.open(request())
        with trio.CancelScope() as scope:
            scope.cancel()
            await utterance.end()
        assert scope.cancelled_caught
        assert (await utterance.end()).text == "still here"


async def test_another_owner_has_another_utterance(tmp_path: Path) -> None:
    async with scripted(tmp_path, "mine", "yours") as speech:
        mine = await speech.open(request(owner="a"))
        await trio.testing.wait_all_tasks_blocked()
        yours = await speech.open(request(owner="b"))
        assert speech.find("a", "u1") is mine is not yours
        assert [(await one.end()).text for one in (mine, yours)] == ["mine", "yours"]


async def test_a_gap_in_the_frames_is_told_and_loses_nothing(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        utterance = await speech.open(request())
        await utterance.feed(SECOND, 0)
        with pytest.raises(AudioError, match="Frame 1 is missing") as caught:
            await utterance.feed(SECOND, 2)
        assert caught.value.code == "frame_gap"
        await utterance.feed(SECOND, 1)
        assert (await utterance.end()).duration_ms == 2000


async def test_a_cancelled_utterance_is_gone_at_once(tmp_path: Path) -> None:
    async with scripted(tmp_path, "never") as speech:
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        utterance.cancel()
        assert await refusal(utterance.end()) == "cancelled"
        await trio.testing.wait_all_tasks_blocked()
        assert speech.find("local", "u1") is None and audio_files(tmp_path) == []


async def test_nothing_can_be_added_after_the_end(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        utterance = await speech.open(request())
        await utterance.end()
        assert await refusal(utterance.feed(SECOND)) == "not_open"


async def test_a_silent_microphone_is_given_up(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    async with scripted(tmp_path, "x", keep_seconds=60) as speech:
        silent, cut_off = [await speech.open(request(name)) for name in "ab"]
        await cut_off.feed(SECOND)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(61)
        for utterance, kept in ((silent, 0), (cut_off, 1)):
            await utterance._over.wait()
            with pytest.raises(AudioError, match="60 s") as caught:
                await utterance.end()
            assert caught.value.code == "expired"
            assert caught.value.message.count("The recording is kept: ") == kept
    assert [path.parent.name for path in audio_files(tmp_path)] == ["kept"]


async def test_a_text_nobody_fetches_is_kept_for_a_while(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    async with scripted(tmp_path, "x", keep_seconds=60) as speech:
        utterance = await speech.open(request())
        await utterance.end()
        for seconds, found in ((50, utterance), (20, None)):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(seconds)
            await trio.testing.wait_all_tasks_blocked()
            assert speech.find("local", "u1") is found


async def test_a_text_that_was_delivered_is_forgotten(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        utterance = await speech.open(request())
        await utterance.end()
        utterance.release()
        await trio.testing.wait_all_tasks_blocked()
        assert speech.find("local", "u1") is None


async def test_an_engine_that_fails_is_asked_once_more(tmp_path: Path) -> None:
    async with scripted(tmp_path, "!engine", "now I hear") as speech:
        assert (await say(speech)).text == "now I hear"


async def test_audio_that_no_engine_could_read_is_kept_and_told(tmp_path: Path) -> None:
    async with scripted(tmp_path, "!engine", "!engine") as speech:
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
        with pytest.raises(AudioError, match="The recording is kept: ") as caught:
            await utterance.end()
        assert caught.value.code == "engine_failed"
    path = Path(caught.value.message.rpartition(": ")[2])
    data = path.read_bytes()
    assert path.suffix == ".wav" and data[:4] == b"RIFF" and data[44:] == SECOND
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_of_the_recordings_that_are_kept_the_oldest_go(tmp_path: Path) -> None:
    async with scripted(tmp_path, "!engine") as speech:
        for number in range(10):
            utterance = await speech.open(request(str(number)))
            await utterance.feed(SECOND)
            with pytest.raises(AudioError):
                await utterance.end()
            utterance.release()
            await trio.testing.wait_all_tasks_blocked()
    assert len(audio_files(tmp_path)) == 8


async def test_what_an_earlier_daemon_could_not_answer_is_kept(tmp_path: Path) -> None:
    left = tmp_path / "voice" / "abc.webm.audio"
    left.parent.mkdir()
    left.write_bytes(b"half a sentence")
    async with scripted(tmp_path, "x") as speech:
        await (await speech.open(request())).end()
        kept = tmp_path / "voice" / "kept" / "abc.webm"
        assert kept.read_bytes() == b"half a sentence" and not left.exists()


@pytest.mark.parametrize("code", ["not_audio", "too_long", "truncated"])
async def test_audio_at_fault_is_told_and_not_tried_again(tmp_path: Path, code: str) -> None:
    async with scripted(tmp_path, f"!{code}", "no") as speech:
        assert await refusal(say(speech)) == code
        assert [path.parent.name for path in audio_files(tmp_path)] == ["kept"]


async def test_audio_has_a_largest_size(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x", max_megabytes=1) as speech:
        utterance = await speech.open(request())
        await utterance.feed(bytes(1_048_576))
        with pytest.raises(AudioError, match="1 MiB"):
            await utterance.feed(b"x")
        with pytest.raises(AudioError, match=r"voice\.max_megabytes"):
            await speech.transcribe(bytes(1_048_577), format="pcm16")
        big = tmp_path / "big.wav"
        big.write_bytes(bytes(1_048_577))
        with pytest.raises(AudioError, match="1 MiB"):
            await speech.transcribe(big)


@pytest.mark.parametrize("fields", [{"format": "midi"}, {"sample_rate": 1}, {"format": "../x"}])
async def test_audio_of_no_known_kind_is_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    async with scripted(tmp_path, "x") as speech:
        assert await refusal(speech.open(request(**fields))) == "unknown_format"
        assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    words, empty = tmp_path / "words.txt", tmp_path / "empty.wav"
    words.write_text("these are words")
    empty.touch()
    async with scripted(tmp_path, "x") as speech:
        known = r"The file words\.txt is no recording that is known: wav, m4a, .*flac; raw samples"
        with pytest.raises(AudioError, match=known) as caught:
            await speech.transcribe(words)
        assert caught.value.code == "unknown_format"
        with pytest.raises(AudioError, match=r"The file empty\.wav is empty\.") as caught:
            await speech.transcribe(empty)
        assert caught.value.code == "not_audio"
        with pytest.raises(AudioError, match=r"The recording is no recording that is known"):
            await speech.transcribe(b"noise")
        assert (await speech.transcribe(words, format="pcm16")).text == "x"


async def test_too_much_at_once_is_told(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        for number in range(4):
            await speech.open(request(str(number), owner="a"))
        with pytest.raises(AudioError) as one:
            await speech.open(request("more", owner="a"))
        for number in range(4):
            await speech.open(request(str(number), owner="b"))
        with pytest.raises(AudioError) as all_of_them:
            await speech.transcribe(SECOND, format="pcm16", owner="c")
        assert one.value.code == all_of_them.value.code == "busy"


async def test_what_was_heard_leaves_its_place_to_the_next(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        for number in range(20):
            utterance = await speech.open(request(str(number), owner="a"))
            await utterance.feed(SECOND)
            await utterance.end()
            assert (await speech.transcribe(SECOND, format="pcm16", owner="a")).text == "x"
        assert speech.find("a", "0") is not None  # whoever asks once more is told once more


async def test_the_oldest_text_that_nobody_has_fetched_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_KEPT", 2)
    async with scripted(tmp_path, "x") as speech:
        for owner, number in (("b", "0"), ("a", "0"), ("a", "1"), ("a", "2")):
            await (await speech.open(request(number, owner=owner))).end()
        await trio.testing.wait_all_tasks_blocked()
        assert [speech.find("a", number) is None for number in "012"] == [True, False, False]
        assert speech.find("b", "0") is not None


async def test_what_begins_at_the_same_moment_counts(tmp_path: Path) -> None:
    refused: list[str] = []

    async def begin(id: str) -> None:
        try:
            await speech.open(request(id, owner="a"))
        except AudioError as refusal:
            refused.append(refusal.code)

    async with scripted(tmp_path, "x") as speech:
        async with trio.open_nursery() as nursery:
            for number in range(6):
                nursery.start_soon(begin, str(number))
        assert refused == ["busy", "busy"]


async def test_speech_that_is_switched_off_says_so(tmp_path: Path) -> None:
    async with scripted(tmp_path, enabled=False) as speech:
        assert speech.status().state == "off" and speech.status().model is None
        with pytest.raises(SpeechUnavailable, match=r"voice\.enabled"):
            await speech.open(request())
        with pytest.raises(SpeechUnavailable):
            await speech.transcribe(SECOND)


async def test_a_file_is_read_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "note.bin"
    file.write_bytes(b"OggS" + bytes(100))
    async with scripted(tmp_path) as speech:
        assert (await speech.transcribe(file)).text == "104 bytes of ogg"
        assert (await speech.transcribe(b"RIFF0000WAVE", format="mp3")).text == "12 bytes of wav"
        assert (await speech.transcribe(b"\xff\xfb\x90\0" * 9, format="pcm16")).text.endswith(
            "pcm16"
        )
        with pytest.raises(AudioError, match="is no file"):
            await speech.transcribe(tmp_path)
        with pytest.raises(FileNotFoundError):
            await speech.transcribe(tmp_path / "none")
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(AudioError, match="is no file"):
            await speech.transcribe(pipe)
    assert file.exists() and audio_files(tmp_path) == []


async def test_a_file_is_tried_once_more_too(tmp_path: Path) -> None:
    async with scripted(tmp_path, "!engine", "heard", "!engine", "!engine") as speech:
        assert (await speech.transcribe(SECOND, format="pcm16")).text == "heard"
        assert await refusal(speech.transcribe(SECOND, format="pcm16")) == "engine_failed"


async def test_a_daemon_that_stops_leaves_the_audio_for_the_next(tmp_path: Path) -> None:
    async with scripted(tmp_path, "x") as speech:
        utterance = await speech.open(request())
        await utterance.feed(SECOND)
    assert await refusal(utterance.end()) == "expired"
    assert [path.suffix for path in audio_files(tmp_path)] == [".wav"]
