"""``POST /v1/audio/transcriptions``, and prompts that are spoken."""

from __future__ import annotations

import pytest
import trio

from podiumd.gateway.routes import voice
from podiumd.speech.api import AudioError, EngineFailed
from tests.gateway.routes.station import Station
from tests.runtime.fake_agent import done

TRANSCRIPTIONS = "/v1/audio/transcriptions"
NOTE = ("note.wav", b"RIFF\0\0\0\0WAVEsound")


async def test_a_recording_becomes_text(station: Station) -> None:
    station.server.engine.says("Add a flag.")
    answer = await station.form(TRANSCRIPTIONS, NOTE, language="de", model="whisper-1")
    assert answer.status == 200
    assert answer.json == {"text": "Add a flag.", "language": "de", "duration": 0.001}
    (request,) = station.server.engine.requests
    assert (request.format, request.language, request.owner) == ("wav", "de", "device mine")
    assert station.server.engine.heard == [NOTE[1]]


async def test_text_alone_can_be_asked_for(station: Station) -> None:
    station.server.engine.says("Add a flag.")
    answer = await station.form(TRANSCRIPTIONS, NOTE, response_format="text")
    assert (answer.status, answer.body) == (200, b"Add a flag.\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_silence_is_an_empty_text(station: Station) -> None:
    assert (await station.form(TRANSCRIPTIONS, NOTE)).json["text"] == ""


async def test_raw_samples_go_by_their_name(station: Station) -> None:
    await station.form(TRANSCRIPTIONS, ("note.raw", b"RIFF\0\0\0\0WAVE"))
    assert station.server.engine.requests[0].format == "pcm16"


async def test_a_field_that_is_wrong_is_named(station: Station) -> None:
    cases = [
        ({"response_format": "srt"}, "response_format"),
        ({"language": "../en"}, "language"),
        ({"language": "e" * 17}, "language"),
        ({"colour": "red"}, "colour"),
    ]
    for fields, parameter in cases:
        told = (await station.form(TRANSCRIPTIONS, NOTE, **fields)).problem(422)
        assert told["parameter"] == parameter
        assert station.server.engine.requests == []


async def test_a_form_without_a_recording_is_refused(station: Station) -> None:
    told = (await station.form(TRANSCRIPTIONS, file=None)).problem(422)
    assert told["parameter"] == "file"


async def test_another_body_than_a_form_is_refused(station: Station) -> None:
    answer = await station.ask("POST", TRANSCRIPTIONS, b"RIFF", content_type="audio/wav")
    assert "multipart/form-data" in answer.problem(415)["detail"]


async def test_a_recording_that_cannot_be_read_says_why(station: Station) -> None:
    cases = [
        ("too_long", 413),
        ("too_big", 413),
        ("not_audio", 422),
        ("truncated", 422),
        ("unknown_format", 415),
        ("expired", 503),
    ]
    for code, status in cases:
        station.server.engine.says(AudioError(code, "It is not."))
        told = (await station.form(TRANSCRIPTIONS, NOTE)).problem(status)
        assert (told["code"], told["detail"]) == (code, "It is not.")


async def test_an_engine_that_fails_is_no_fault_of_the_caller(station: Station) -> None:
    station.server.engine.says(EngineFailed("It died."), EngineFailed("It died."))
    answer = await station.form(TRANSCRIPTIONS, NOTE)
    assert answer.problem(503)["code"] == "engine_failed"
    assert answer.headers["retry-after"] == "1"


async def test_a_format_that_nobody_knows_is_refused(station: Station) -> None:
    answer = await station.form(TRANSCRIPTIONS, ("note.doc", b"no sound"))
    assert answer.problem(415)["code"] == "unknown_format"


async def test_speech_that_is_not_available_says_what_to_do(station: Station) -> None:
    cases = [TRANSCRIPTIONS, "/v1/prompt"]
    for path in cases:
        station.server.engine.state = "no-model"
        station.server.engine.problem = "Run: podium voice install base"
        told = (await station.form(path, NOTE)).problem(503)
        assert told["title"] == "Speech not available"
        assert (told["detail"], told["reason"]) == ("Run: podium voice install base", "no-model")


async def test_a_recording_that_is_too_large_is_refused(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [TRANSCRIPTIONS, "/v1/prompt"]
    for path in cases:
        monkeypatch.setattr(voice, "FILE_BYTES", 10)
        (await station.form(path, NOTE)).problem(413)


async def test_what_is_said_goes_to_an_agent(station: Station) -> None:
    station.server.engine.says("What is this?")
    answers = []

    async def ask() -> None:
        fields = {"working_directory": station.where, "wait": "10"}
        answers.append(await station.form("/v1/prompt", NOTE, **fields))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        turn = await station.daemon.turn()
        assert turn.prompt == "What is this?"
        turn.end(done(text="A project."))
    told = answers[0].json
    assert (told["text"], told["heard"], told["status"]) == ("A project.", "What is this?", "ended")


async def test_text_comes_before_what_is_said(station: Station) -> None:
    station.server.engine.says("Why?")
    fields = {"text": "A note.", "working_directory": station.where, "wait": "false"}
    told = await station.form("/v1/prompt", NOTE, **fields)
    assert (told.status, told.json["heard"]) == (202, "Why?")
    turn = await station.daemon.turn()
    assert turn.prompt == "A note.\n\nWhy?"
    turn.complete()


async def test_a_form_may_have_text_alone_and_a_recipe(station: Station) -> None:
    recipe = station.daemon.machine.one_step(top='[params.task]\ntype = "string"\n')
    fields = {"recipe": recipe, "params": '{"task": "x"}', "working_directory": station.where}
    told = (await station.form("/v1/prompt", None, **fields, wait="0")).json
    assert told["delivery"] == "started" and "heard" not in told
    (await station.daemon.turn()).complete()


async def test_a_field_of_a_spoken_prompt_that_is_wrong_is_named(station: Station) -> None:
    cases = [
        ({"params": "{"}, "params"),
        ({"params": "[1]"}, "params"),
        ({"wait": "soon"}, "wait"),
        ({"wait": "99999"}, "wait"),
        ({"colour": "red"}, "colour"),
        ({"language": "?"}, "language"),
    ]
    for fields, parameter in cases:
        told = (await station.form("/v1/prompt", NOTE, **fields)).problem(422)
        assert told["parameter"] == parameter


async def test_nothing_said_sends_nothing(station: Station) -> None:
    told = await station.form("/v1/prompt", NOTE, working_directory=station.where)
    assert told.problem(422)["code"] == "no_speech"
    assert await station.daemon.service.locks() == []


async def test_the_same_key_sends_what_was_said_once(station: Station) -> None:
    """Though it would be heard otherwise the second time, be it by this daemon or the next."""
    station.server.engine.says("What is this?", "What's this?")
    fields = {"working_directory": station.where, "wait": "false", "h_Idempotency_Key": "k"}
    first = (await station.form("/v1/prompt", NOTE, **fields)).json
    again = (await station.form("/v1/prompt", NOTE, **fields)).json
    assert (again["run_id"], again["heard"]) == (first["run_id"], "What is this?")
    spoken = station.routes[("POST", "/v1/prompt")]._spoken
    spoken._known.clear()
    later = (await station.form("/v1/prompt", NOTE, **fields)).json
    assert later["run_id"] == first["run_id"]
    assert len(station.server.engine.heard) == 1
    (await station.daemon.turn()).end(done(text="A project."))
    await station.daemon.service.run_gone(first["run_id"])
    ended = (await station.form("/v1/prompt", NOTE, **fields)).json
    assert (ended["status"], ended["text"]) == ("ended", "A project.")
    assert len(station.daemon.machine.agent.turns) == 1


async def test_a_key_is_for_one_recording(station: Station) -> None:
    station.server.engine.says("One", "Two")
    fields = {"working_directory": station.where, "wait": "false", "h_Idempotency_Key": "k"}
    await station.form("/v1/prompt", NOTE, **fields)
    other = ("note.wav", NOTE[1] + b"more")
    told = (await station.form("/v1/prompt", other, **fields)).problem(422)
    assert told["parameter"] == "Idempotency-Key"
    (await station.daemon.turn()).complete()


async def test_no_command_is_heard_in_a_posted_recording(station: Station) -> None:
    """There is nobody whom it could be read back to."""
    run = await station.daemon.prompt("Do it")
    turn = await station.daemon.turn()
    turn.asks()
    question = await station.daemon.question(run["run_id"])
    station.server.engine.says("approve")
    fields = {"session_id": run["session_id"], "working_directory": station.where, "wait": "0"}
    await station.form("/v1/prompt", NOTE, **fields)
    (still,) = await station.daemon.service.questions()
    assert still.question_id == question["question_id"]
