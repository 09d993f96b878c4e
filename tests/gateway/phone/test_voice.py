"""Speech from a phone: pieces, lost connections, what is told and what is told again."""

from __future__ import annotations

import pytest
import trio

from podiumd.gateway.phone.voice import utterances
from podiumd.speech.api import AudioError, EngineFailed
from tests.gateway.harness import wait_until
from tests.gateway.phone.office import Office
from tests.gateway.phone.speaking import SECOND, began, piece, results, spoke

ERROR = "voice_error"


async def test_what_is_said_becomes_text_for_review(office: Office) -> None:
    """P-15.5"""
    line = await office.connected()
    office.ears.says("rename the session lock")
    told = await spoke(line)
    assert told == {
        "type": "voice_transcript",
        "utterance_id": "u1",
        "text": "rename the session lock",
        "language": "en",
        "duration_ms": 1000,
        "latency_ms": told["latency_ms"],
        "delivered": False,
    }
    assert office.ears.heard == [SECOND]
    assert line.of("error") == []


async def test_partial_text_comes_while_the_person_speaks(office: Office) -> None:
    line = await office.connected()
    office.ears.says("one two")
    await began(line, language="de-AT", sample_rate=48_000)
    line.write(piece(0, b"\0" * 1000))
    assert (await line.hears("voice_partial"))["text"] == "word"
    line.write(piece(1, b"\0" * 1000))
    assert (await line.hears("voice_partial", 2))["text"] == "word word"
    line.say("voice_end", utterance_id="u1")
    assert (await line.hears("voice_transcript"))["language"] == "de"
    (request,) = office.ears.requests
    assert (request.sample_rate, request.format) == (48_000, "pcm16")


async def test_silence_is_an_empty_text(office: Office) -> None:
    """P-15.16"""
    line = await office.connected()
    told = await spoke(line, deliver="prompt")
    assert (told["text"], told["delivered"]) == ("", False)


async def test_ready_tells_whether_a_model_has_to_be_loaded_first(office: Office) -> None:
    line = await office.connected()
    office.ears.state = "idle"
    assert (await began(line))["state"] == "loading"
    office.ears.state = "ready"
    assert (await began(line, "u2"))["state"] == "ready"


async def test_speech_that_is_not_available_says_what_to_do(office: Office) -> None:
    """P-15.2, P-15.9"""
    line = await office.connected()
    office.ears.state, office.ears.problem = "no-model", "Run: podium voice install base"
    told = await began(line)
    line.write(piece(0, SECOND))
    line.say("voice_end", utterance_id="u1")
    line.say("voice_cancel", utterance_id="u1")
    await line.caught_up()
    assert told["state"] == "unavailable"
    assert told["message"] == "Run: podium voice install base"
    assert [each["type"] for each in line.sent] == ["voice_ready", "pong"]


async def test_a_sentence_that_a_lost_connection_cuts_goes_on(office: Office) -> None:
    """P-15.10"""
    _, key = await office.devices.pair("phone")
    line = await office.connected(key)
    office.ears.says("first and second half")
    assert (await began(line))["next_frame"] == 0
    line.write(piece(0, b"one"))
    line.write(piece(1, b"two"))
    await line.caught_up()
    line.hang_up()
    back = await office.connected(key)
    assert (await began(back, from_frame=3))["next_frame"] == 2
    back.write(piece(1, b"two"))  # it may begin earlier, too
    back.write(piece(2, b"three"))
    back.write(piece(3, b"four"))
    back.say("voice_end", utterance_id="u1")
    told = await back.hears("voice_transcript")
    assert told["text"] == "first and second half"
    assert office.ears.heard == [b"onetwothreefour"]
    assert line.of("voice_transcript") == []


async def test_pieces_that_are_missing_are_asked_for_once(office: Office) -> None:
    """P-15.11"""
    line = await office.connected()
    await began(line)
    for number in (0, 2, 3):
        line.write(piece(number, b"%d" % number))
    assert (await line.hears("voice_ready", 2))["next_frame"] == 1
    line.say("voice_end", utterance_id="u1")  # it does not know yet that something is missing
    await line.caught_up()
    assert len(line.of("voice_ready")) == 2 and results(line) == []
    for number in (1, 2, 3):
        line.write(piece(number, b"%d" % number))
    line.say("voice_end", utterance_id="u1")
    await line.hears("voice_transcript")
    assert office.ears.heard == [b"0123"]


async def test_an_answer_that_was_lost_is_told_again(office: Office) -> None:
    """P-15.12"""
    _, key = await office.devices.pair("phone")
    line = await office.connected(key)
    office.ears.says("once", "twice")
    first = await spoke(line)
    line.hang_up()
    back = await office.connected(key)
    assert (await began(back))["next_frame"] == 1
    assert await back.hears("voice_transcript") == first
    back.say("voice_end", utterance_id="u1")
    assert await back.hears("voice_transcript", 2) == first
    assert len(office.ears.heard) == 1


async def test_the_text_comes_to_the_connection_that_asks_while_it_is_read(office: Office) -> None:
    _, key = await office.devices.pair("phone")
    line = await office.connected(key)
    office.ears.says("slowly")
    office.ears.hold()
    await began(line)
    line.write(piece(0, SECOND))
    line.say("voice_end", utterance_id="u1")
    await line.caught_up()
    line.hang_up()
    back = await office.connected(key)
    await began(back)
    office.ears.let_go.set()
    assert (await back.hears("voice_transcript"))["text"] == "slowly"


async def test_an_utterance_goes_on_where_it_was_started_last(office: Office) -> None:
    """A phone that has changed its network may leave its old connection open."""
    _, key = await office.devices.pair("phone")
    line, other = await office.connected(key), await office.connected(key)
    office.ears.says("here")
    await began(line)
    await began(other)
    line.write(piece(0, b"stale"))
    await line.caught_up()
    other.write(piece(0, b"fresh"))
    other.say("voice_end", utterance_id="u1")
    assert (await other.hears("voice_transcript"))["text"] == "here"
    assert office.ears.heard == [b"fresh"] and results(line) == []


async def test_no_device_gets_at_anothers_utterance(office: Office) -> None:
    """P-15.13"""
    line, stranger = await office.connected(), await office.connected()
    office.ears.says("mine", "yours")
    await began(line)
    line.write(piece(0, b"mine"))
    await line.caught_up()
    stranger.say("voice_end", utterance_id="u1")
    stranger.say("voice_cancel", utterance_id="u1")
    assert (await stranger.hears(ERROR))["code"] == "not_open"
    assert (await began(stranger))["next_frame"] == 0
    stranger.write(piece(0, b"yours"))
    await stranger.caught_up()
    line.say("voice_end", utterance_id="u1")
    assert (await line.hears("voice_transcript"))["text"] == "mine"
    stranger.say("voice_end", utterance_id="u1")
    assert (await stranger.hears("voice_transcript"))["text"] == "yours"
    assert office.ears.heard == [b"mine", b"yours"]


async def test_an_id_is_for_one_utterance(office: Office) -> None:
    """P-15.13"""
    line = await office.connected()
    await began(line)
    line.say("voice_start", utterance_id="u1", format="ogg")
    assert (await line.hears(ERROR))["code"] == "other_utterance"


async def test_what_is_cancelled_is_forgotten_at_once(office: Office) -> None:
    """P-15.14"""
    line = await office.connected()
    await began(line)
    line.write(piece(0, b"sound"))
    line.say("voice_cancel", utterance_id="u1")
    line.write(piece(1, b"late"))
    await line.caught_up()
    assert results(line) == [] and list(office.daemon.machine.state.glob("voice/*.audio")) == []
    office.ears.says("anew")
    assert (await spoke(line))["text"] == "anew"
    assert office.ears.heard == [SECOND]


async def test_an_id_that_was_cancelled_can_be_taken_again_at_once(office: Office) -> None:
    line = await office.connected()
    office.ears.says("anew")
    await began(line)
    line.write(piece(0, b"old"))
    line.say("voice_cancel", utterance_id="u1")
    line.say("voice_start", utterance_id="u1", format="pcm16")
    line.write(piece(0, b"new"))
    line.say("voice_end", utterance_id="u1")
    assert (await line.hears("voice_transcript"))["text"] == "anew"
    assert office.ears.heard == [b"new"] and line.of(ERROR) == []


async def test_one_utterance_that_two_connections_start_at_once_is_one(office: Office) -> None:
    _, key = await office.devices.pair("phone")
    lines = [await office.connected(key) for _ in range(2)]
    office.ears.says("once")
    for line in lines:
        line.say("voice_start", utterance_id="u1", format="pcm16")
    for line in lines:
        await line.hears("voice_ready")
    assert len(office.hub.services.utterances._all) == 1
    lines[1].write(piece(0, b"sound"))
    lines[1].say("voice_end", utterance_id="u1")
    assert (await lines[1].hears("voice_transcript"))["text"] == "once"


async def test_a_phone_that_does_not_read_gets_no_partial_text(office: Office) -> None:
    line = await office.connected()
    office.ears.says("text")
    await began(line)
    line.take(100_000)
    line.write(piece(0, b"\0" * 5000))
    await line.caught_up()
    await trio.testing.wait_all_tasks_blocked()
    line.take(0)
    line.say("voice_end", utterance_id="u1")
    await line.hears("voice_transcript")
    assert line.of("voice_partial") == []


async def test_what_is_being_read_can_be_cancelled(office: Office) -> None:
    line = await office.connected()
    office.ears.says("told")
    office.ears.hold()
    await began(line, deliver="prompt")
    line.write(piece(0, SECOND))
    line.say("voice_end", utterance_id="u1")
    line.say("voice_cancel", utterance_id="u1")
    await line.caught_up()
    office.ears.let_go.set()
    assert (await spoke(line, "u2"))["utterance_id"] == "u2"
    assert len(results(line)) == 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (AudioError("not_audio", "That is no audio."), "not_audio"),
        (AudioError("too_long", "It is longer than 600 s."), "too_long"),
        (EngineFailed("It died."), "engine_failed"),
    ],
)
async def test_what_cannot_be_read_says_why(
    office: Office, fault: AudioError | EngineFailed, code: str
) -> None:
    """P-15.7"""
    line = await office.connected()
    office.ears.says(fault, fault)
    told = await spoke(line)
    assert (told["type"], told["utterance_id"], told["code"]) == (ERROR, "u1", code)
    assert told["message"].startswith(str(fault).split(".")[0])
    line.forget()
    await began(line)
    assert (await line.hears(ERROR))["code"] == code


async def test_an_engine_that_fails_once_is_not_noticed(office: Office) -> None:
    line = await office.connected()
    office.ears.says(EngineFailed("It died."), "understood")
    assert (await spoke(line))["text"] == "understood"


async def test_an_utterance_has_its_bounds(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-15.15"""
    monkeypatch.setattr(utterances, "FRAME_BYTES", 10)
    monkeypatch.setattr(utterances, "MOST_FRAMES", 2)
    line = await office.connected()
    await began(line)
    line.write(piece(0, b"x" * 11))
    assert (await line.hears(ERROR))["code"] == "too_big"
    line.write(piece(0, b"x"))
    line.say("voice_end", utterance_id="u1")
    assert (await line.hears(ERROR, 2))["code"] == "too_big"
    await began(line, "u2")
    for number in range(3):
        line.write(piece(number, b"x"))
    assert (await line.hears(ERROR, 3))["utterance_id"] == "u2"
    assert office.ears.heard == []


async def test_a_phone_cannot_hold_many_microphones_open(office: Office) -> None:
    """P-15.15"""
    line = await office.connected()
    for number in range(5):
        line.say("voice_start", utterance_id=f"u{number}", format="pcm16")
    told = await line.hears(ERROR)
    assert (told["utterance_id"], told["code"]) == ("u4", "busy")


async def test_the_oldest_answers_are_forgotten_first(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utterances, "MOST_KEPT", 2)
    line = await office.connected()
    for number in range(4):
        office.ears.says(f"text {number}")
        await spoke(line, f"u{number}")
    line.forget()
    assert (await began(line, "u3"))["next_frame"] == 1
    assert (await began(line, "u0"))["next_frame"] == 0


async def test_pieces_without_an_utterance_get_one_error(office: Office) -> None:
    """P-15.3"""
    line = await office.connected()
    line.write(piece(0, b"lost"))
    line.write(piece(1, b"lost"))
    line.say("voice_end", utterance_id="u9")
    await line.caught_up()
    assert [(each["utterance_id"], each["code"]) for each in line.of(ERROR)] == [(None, "not_open")]


async def test_a_phone_that_never_comes_back_is_waited_for_a_while(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.10"""
    monkeypatch.setattr(office.speech, "_keep_seconds", 0.05)
    monkeypatch.setattr(utterances, "KEEP_SECONDS", 0.05)
    _, key = await office.devices.pair("phone")
    line = await office.connected(key)
    await began(line)
    line.write(piece(0, SECOND))
    await line.caught_up()
    line.hang_up()
    await wait_until(lambda: not office.hub.services.utterances._all)
    assert list(office.daemon.machine.state.glob("voice/*.audio")) == []
    back = await office.connected(key)
    assert (await began(back, from_frame=1))["next_frame"] == 0


async def test_an_utterance_does_not_last_for_ever(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.15"""
    monkeypatch.setattr(utterances, "LONGEST_SECONDS", 0.05)
    line = await office.connected()
    await began(line)
    assert (await line.hears(ERROR))["code"] == "expired"


async def test_a_revoked_device_is_heard_no_more(office: Office) -> None:
    """P-15.17"""
    _, key = await office.devices.pair("phone")
    line = await office.connected(key)
    office.ears.says("do harm")
    office.ears.hold()
    await began(line, deliver="prompt")
    line.write(piece(0, SECOND))
    line.say("voice_end", utterance_id="u1")
    await line.caught_up()
    await office.devices.revoke("phone")
    assert office.hub.services.utterances._all == {}
    office.ears.let_go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert results(line) == [] and await office.daemon.service.list_runs(None, 10) == []


async def test_a_fault_of_ours_loses_no_words(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> list[object]:
        raise RuntimeError("broken")

    line = await office.connected()
    await began(line)
    monkeypatch.setattr(office.daemon.service, "open_questions", fails)
    office.ears.says("precious words")
    line.write(piece(0, SECOND))
    line.say("voice_end", utterance_id="u1")
    assert (await line.hears("voice_transcript"))["text"] == "precious words"
    assert (await line.hears(ERROR))["code"] == "failed"
