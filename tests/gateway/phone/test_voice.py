"""Speech from a phone: pieces, lost connections, what is told and what is told again."""

from __future__ import annotations

import pytest
import trio

from podiumd.gateway.phone.voice import utterances
from podiumd.speech.api import AudioError, EngineFailed
from tests.gateway.harness import wait_until
from tests.gateway.phone.phone_server import PhoneServer
from tests.gateway.phone.speaking import SECOND, began, piece, results, spoke

ERROR = "voice_error"


async def test_what_is_said_becomes_text_for_review(server: PhoneServer) -> None:
    """P-15.5"""
    client = await server.connected()
    server.engine.says("rename the session lock")
    told = await spoke(client)
    assert told == {
        "type": "voice_transcript",
        "utterance_id": "u1",
        "text": "rename the session lock",
        "language": "en",
        "duration_ms": 1000,
        "latency_ms": told["latency_ms"],
        "delivered": False,
    }
    assert server.engine.heard == [SECOND]
    assert client.of("error") == []


async def test_partial_text_comes_while_the_person_speaks(server: PhoneServer) -> None:
    client = await server.connected()
    server.engine.says("one two")
    await began(client, language="de-AT", sample_rate=48_000)
    client.write(piece(0, b"\0" * 1000))
    assert (await client.hears("voice_partial"))["text"] == "word"
    client.write(piece(1, b"\0" * 1000))
    assert (await client.hears("voice_partial", 2))["text"] == "word word"
    client.say("voice_end", utterance_id="u1")
    assert (await client.hears("voice_transcript"))["language"] == "de"
    (request,) = server.engine.requests
    assert (request.sample_rate, request.format) == (48_000, "pcm16")


async def test_silence_is_an_empty_text(server: PhoneServer) -> None:
    """P-15.16"""
    client = await server.connected()
    told = await spoke(client, deliver="prompt")
    assert (told["text"], told["delivered"]) == ("", False)


async def test_ready_tells_whether_a_model_has_to_be_loaded_first(server: PhoneServer) -> None:
    client = await server.connected()
    server.engine.state = "idle"
    assert (await began(client))["state"] == "loading"
    server.engine.state = "ready"
    assert (await began(client, "u2"))["state"] == "ready"


async def test_speech_that_is_not_available_says_what_to_do(server: PhoneServer) -> None:
    """P-15.2, P-15.9"""
    client = await server.connected()
    server.engine.state, server.engine.problem = "no-model", "Run: podium voice install base"
    told = await began(client)
    client.write(piece(0, SECOND))
    client.say("voice_end", utterance_id="u1")
    client.say("voice_cancel", utterance_id="u1")
    await client.caught_up()
    assert told["state"] == "unavailable"
    assert told["message"] == "Run: podium voice install base"
    assert [each["type"] for each in client.sent] == ["voice_ready", "pong"]


async def test_a_sentence_that_a_lost_connection_cuts_goes_on(server: PhoneServer) -> None:
    """P-15.10"""
    _, key = await server.devices.pair("phone")
    client = await server.connected(key)
    server.engine.says("first and second half")
    assert (await began(client))["next_frame"] == 0
    client.write(piece(0, b"one"))
    client.write(piece(1, b"two"))
    await client.caught_up()
    client.hang_up()
    back = await server.connected(key)
    assert (await began(back, from_frame=3))["next_frame"] == 2
    back.write(piece(1, b"two"))  # it may begin earlier, too
    back.write(piece(2, b"three"))
    back.write(piece(3, b"four"))
    back.say("voice_end", utterance_id="u1")
    told = await back.hears("voice_transcript")
    assert told["text"] == "first and second half"
    assert server.engine.heard == [b"onetwothreefour"]
    assert client.of("voice_transcript") == []


async def test_nothing_is_kept_of_a_connection_that_is_gone(server: PhoneServer) -> None:
    client = await server.connected()
    await began(client)
    client.hang_up()
    await wait_until(lambda: not server.hub.phones)
    assert server.hub.services.utterances._of_phone == {}


async def test_pieces_that_are_missing_are_asked_for_once(server: PhoneServer) -> None:
    """P-15.11"""
    client = await server.connected()
    await began(client)
    for number in (0, 2, 3):
        client.write(piece(number, b"%d" % number))
    assert (await client.hears("voice_ready", 2))["next_frame"] == 1
    client.say("voice_end", utterance_id="u1")  # it does not know yet that something is missing
    await client.caught_up()
    assert len(client.of("voice_ready")) == 2 and results(client) == []
    for number in (1, 2, 3):
        client.write(piece(number, b"%d" % number))
    client.say("voice_end", utterance_id="u1")
    await client.hears("voice_transcript")
    assert server.engine.heard == [b"0123"]


async def test_an_answer_that_was_lost_is_told_again(server: PhoneServer) -> None:
    """P-15.12"""
    _, key = await server.devices.pair("phone")
    client = await server.connected(key)
    server.engine.says("once", "twice")
    first = await spoke(client)
    client.hang_up()
    back = await server.connected(key)
    assert (await began(back))["next_frame"] == 1
    assert await back.hears("voice_transcript") == first
    back.say("voice_end", utterance_id="u1")
    assert await back.hears("voice_transcript", 2) == first
    assert len(server.engine.heard) == 1


async def test_the_text_comes_to_the_connection_that_asks_while_it_is_read(
    server: PhoneServer,
) -> None:
    _, key = await server.devices.pair("phone")
    client = await server.connected(key)
    server.engine.says("slowly")
    server.engine.hold()
    await began(client)
    client.write(piece(0, SECOND))
    client.say("voice_end", utterance_id="u1")
    await client.caught_up()
    client.hang_up()
    back = await server.connected(key)
    await began(back)
    server.engine.let_go.set()
    assert (await back.hears("voice_transcript"))["text"] == "slowly"


async def test_an_utterance_goes_on_where_it_was_started_last(server: PhoneServer) -> None:
    """A phone that has changed its network may leave its old connection open."""
    _, key = await server.devices.pair("phone")
    client, other = await server.connected(key), await server.connected(key)
    server.engine.says("here")
    await began(client)
    await began(other)
    client.write(piece(0, b"stale"))
    await client.caught_up()
    other.write(piece(0, b"fresh"))
    other.say("voice_end", utterance_id="u1")
    assert (await other.hears("voice_transcript"))["text"] == "here"
    assert server.engine.heard == [b"fresh"] and results(client) == []


async def test_no_device_gets_at_anothers_utterance(server: PhoneServer) -> None:
    """P-15.13"""
    client, stranger = await server.connected(), await server.connected()
    server.engine.says("mine", "yours")
    await began(client)
    client.write(piece(0, b"mine"))
    await client.caught_up()
    stranger.say("voice_end", utterance_id="u1")
    stranger.say("voice_cancel", utterance_id="u1")
    assert (await stranger.hears(ERROR))["code"] == "not_open"
    assert (await began(stranger))["next_frame"] == 0
    stranger.write(piece(0, b"yours"))
    await stranger.caught_up()
    client.say("voice_end", utterance_id="u1")
    assert (await client.hears("voice_transcript"))["text"] == "mine"
    stranger.say("voice_end", utterance_id="u1")
    assert (await stranger.hears("voice_transcript"))["text"] == "yours"
    assert server.engine.heard == [b"mine", b"yours"]


async def test_an_id_is_for_one_utterance(server: PhoneServer) -> None:
    """P-15.13"""
    client = await server.connected()
    await began(client)
    client.say("voice_start", utterance_id="u1", format="ogg")
    assert (await client.hears(ERROR))["code"] == "other_utterance"


async def test_what_is_cancelled_is_forgotten_at_once(server: PhoneServer) -> None:
    """P-15.14"""
    client = await server.connected()
    await began(client)
    client.write(piece(0, b"sound"))
    client.say("voice_cancel", utterance_id="u1")
    client.write(piece(1, b"late"))
    await client.caught_up()
    assert results(client) == [] and list(server.daemon.machine.state.glob("voice/*.audio")) == []
    server.engine.says("anew")
    assert (await spoke(client))["text"] == "anew"
    assert server.engine.heard == [SECOND]


async def test_an_id_that_was_cancelled_can_be_taken_again_at_once(server: PhoneServer) -> None:
    client = await server.connected()
    server.engine.says("anew")
    await began(client)
    client.write(piece(0, b"old"))
    client.say("voice_cancel", utterance_id="u1")
    client.say("voice_start", utterance_id="u1", format="pcm16")
    client.write(piece(0, b"new"))
    client.say("voice_end", utterance_id="u1")
    assert (await client.hears("voice_transcript"))["text"] == "anew"
    assert server.engine.heard == [b"new"] and client.of(ERROR) == []


async def test_one_utterance_that_two_connections_start_at_once_is_one(server: PhoneServer) -> None:
    _, key = await server.devices.pair("phone")
    lines = [await server.connected(key) for _ in range(2)]
    server.engine.says("once")
    for client in lines:
        client.say("voice_start", utterance_id="u1", format="pcm16")
    for client in lines:
        await client.hears("voice_ready")
    assert len(server.hub.services.utterances._all) == 1
    lines[1].write(piece(0, b"sound"))
    lines[1].say("voice_end", utterance_id="u1")
    assert (await lines[1].hears("voice_transcript"))["text"] == "once"


async def test_a_phone_that_does_not_read_gets_no_partial_text(server: PhoneServer) -> None:
    client = await server.connected()
    server.engine.says("text")
    await began(client)
    client.take(100_000)
    client.write(piece(0, b"\0" * 5000))
    await client.caught_up()
    await trio.testing.wait_all_tasks_blocked()
    client.take(0)
    client.say("voice_end", utterance_id="u1")
    await client.hears("voice_transcript")
    assert client.of("voice_partial") == []


async def test_what_is_being_read_can_be_cancelled(server: PhoneServer) -> None:
    client = await server.connected()
    server.engine.says("told")
    server.engine.hold()
    await began(client, deliver="prompt")
    client.write(piece(0, SECOND))
    client.say("voice_end", utterance_id="u1")
    client.say("voice_cancel", utterance_id="u1")
    await client.caught_up()
    server.engine.let_go.set()
    assert (await spoke(client, "u2"))["utterance_id"] == "u2"
    assert len(results(client)) == 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (AudioError("not_audio", "That is no audio."), "not_audio"),
        (AudioError("too_long", "It is longer than 600 s."), "too_long"),
        (EngineFailed("It died."), "engine_failed"),
    ],
)
async def test_what_cannot_be_read_says_why(
    server: PhoneServer, fault: AudioError | EngineFailed, code: str
) -> None:
    """P-15.7"""
    client = await server.connected()
    server.engine.says(fault, fault)
    told = await spoke(client)
    assert (told["type"], told["utterance_id"], told["code"]) == (ERROR, "u1", code)
    assert told["message"].startswith(str(fault).split(".")[0])
    client.forget()
    await began(client)
    assert (await client.hears(ERROR))["code"] == code


async def test_an_engine_that_fails_once_is_not_noticed(server: PhoneServer) -> None:
    client = await server.connected()
    server.engine.says(EngineFailed("It died."), "understood")
    assert (await spoke(client))["text"] == "understood"


async def test_an_utterance_has_its_bounds(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.15"""
    monkeypatch.setattr(utterances, "FRAME_BYTES", 10)
    monkeypatch.setattr(utterances, "MOST_FRAMES", 2)
    client = await server.connected()
    await began(client)
    client.write(piece(0, b"x" * 11))
    assert (await client.hears(ERROR))["code"] == "too_big"
    client.write(piece(0, b"x"))
    client.say("voice_end", utterance_id="u1")
    assert (await client.hears(ERROR, 2))["code"] == "too_big"
    await began(client, "u2")
    for number in range(3):
        client.write(piece(number, b"x"))
    assert (await client.hears(ERROR, 3))["utterance_id"] == "u2"
    assert server.engine.heard == []


async def test_a_phone_cannot_hold_many_microphones_open(server: PhoneServer) -> None:
    """P-15.15"""
    client = await server.connected()
    for number in range(5):
        client.say("voice_start", utterance_id=f"u{number}", format="pcm16")
    told = await client.hears(ERROR)
    assert (told["utterance_id"], told["code"]) == ("u4", "busy")


async def test_the_oldest_answers_are_forgotten_first(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utterances, "MOST_KEPT", 2)
    client = await server.connected()
    for number in range(4):
        server.engine.says(f"text {number}")
        await spoke(client, f"u{number}")
    client.forget()
    assert (await began(client, "u3"))["next_frame"] == 1
    assert (await began(client, "u0"))["next_frame"] == 0


async def test_pieces_without_an_utterance_get_one_error(server: PhoneServer) -> None:
    """P-15.3"""
    client = await server.connected()
    client.write(piece(0, b"lost"))
    client.write(piece(1, b"lost"))
    client.say("voice_end", utterance_id="u9")
    await client.caught_up()
    assert [(each["utterance_id"], each["code"]) for each in client.of(ERROR)] == [
        (None, "not_open")
    ]


async def test_a_phone_that_never_comes_back_is_waited_for_a_while(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.10"""
    monkeypatch.setattr(server.speech, "_keep_seconds", 0.05)
    monkeypatch.setattr(utterances, "KEEP_SECONDS", 0.05)
    _, key = await server.devices.pair("phone")
    client = await server.connected(key)
    await began(client)
    client.write(piece(0, SECOND))
    await client.caught_up()
    client.hang_up()
    await wait_until(lambda: not server.hub.services.utterances._all)
    assert list(server.daemon.machine.state.glob("voice/*.audio")) == []
    back = await server.connected(key)
    assert (await began(back, from_frame=1))["next_frame"] == 0


async def test_an_utterance_does_not_last_for_ever(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.15"""
    monkeypatch.setattr(utterances, "LONGEST_SECONDS", 0.05)
    client = await server.connected()
    await began(client)
    assert (await client.hears(ERROR))["code"] == "expired"


async def test_a_revoked_device_is_heard_no_more(server: PhoneServer) -> None:
    """P-15.17"""
    _, key = await server.devices.pair("phone")
    client = await server.connected(key)
    server.engine.says("do harm")
    server.engine.hold()
    await began(client, deliver="prompt")
    client.write(piece(0, SECOND))
    client.say("voice_end", utterance_id="u1")
    await client.caught_up()
    await server.devices.revoke("phone")
    assert server.hub.services.utterances._all == {}
    server.engine.let_go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert results(client) == [] and await server.daemon.service.list_runs(None, 10) == []


async def test_a_fault_of_ours_loses_no_words(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> list[object]:
        raise RuntimeError("broken")

    client = await server.connected()
    await began(client)
    monkeypatch.setattr(server.daemon.service, "open_questions", fails)
    server.engine.says("precious words")
    client.write(piece(0, SECOND))
    client.say("voice_end", utterance_id="u1")
    assert (await client.hears("voice_transcript"))["text"] == "precious words"
    assert (await client.hears(ERROR))["code"] == "failed"
