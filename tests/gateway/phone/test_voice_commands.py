"""Spoken commands: what is asked is answered by voice, and never by mistake."""

from __future__ import annotations

import pytest

from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
from tests.gateway.phone.speaking import SECOND, asked, began, piece, results, spoke
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine

RISKY = {"command": "rm -rf build"}


async def says(
    server: PhoneServer, client: PhoneClient, text: str, name: str, **more: object
) -> dict[str, object]:
    """Say these words; what the phone is told."""
    server.engine.says(text)
    return await spoke(client, name, **more)


async def test_an_open_approval_is_given_by_voice(server: PhoneServer) -> None:
    """P-15.6, P-15.18"""
    client = await server.connected()
    session, question = await asked(server)
    told = await says(server, client, "Approve.", "u1", session_id=session)
    assert (told["type"], told["command"], told["state"]) == ("voice_command", "approve", "applied")
    assert (told["question_id"], told["choice"]) == (question["question_id"], "allow")
    assert "make test" in str(told["read_back"])
    closed = await client.hears("question_closed")
    assert (closed["answer"], closed["by"]) == ("allow", "phone")


async def test_an_open_approval_is_denied_by_voice(server: PhoneServer) -> None:
    client = await server.connected()
    await asked(server)
    told = await says(server, client, "no", "u1")  # the only thing that is asked
    assert (told["command"], told["choice"], told["state"]) == ("deny", "deny", "applied")
    assert (await client.hears("question_closed"))["answer"] == "deny"


async def test_what_is_risky_is_read_back_and_confirmed_by_a_second_utterance(
    server: PhoneServer,
) -> None:
    """P-15.19"""
    client = await server.connected()
    session, question = await asked(server, **RISKY)
    told = await says(server, client, "approve", "u1", session_id=session)
    assert (told["state"], told["question_id"]) == ("confirm", question["question_id"])
    assert "rm -rf build" in str(told["read_back"])
    assert [each.closed for each in await server.daemon.service.questions()] == [None]
    told = await says(server, client, "confirm", "u2", session_id=session)
    assert (told["command"], told["state"], told["choice"]) == ("confirm", "applied", "allow")
    assert (await client.hears("question_closed"))["answer"] == "allow"


async def test_what_was_said_before_the_read_back_confirms_nothing(server: PhoneServer) -> None:
    """P-15.19"""
    client = await server.connected()
    session, _ = await asked(server, **RISKY)
    await began(client, "early", session_id=session)
    client.write(piece(0, SECOND))
    told = await says(server, client, "approve", "u1", session_id=session)
    assert told["state"] == "confirm"
    server.engine.says("confirm")
    await began(client, "early", session_id=session)
    client.say("voice_end", utterance_id="early")
    await client.until(lambda: len(results(client)) == 2)
    assert results(client)[1]["state"] == "confirm"
    assert len(await server.daemon.service.questions()) == 1


async def test_another_device_confirms_nothing(server: PhoneServer) -> None:
    client, other = await server.connected(), await server.connected()
    session, _ = await asked(server, **RISKY)
    await says(server, client, "approve", "u1", session_id=session)
    told = await says(server, other, "confirm", "u1", session_id=session)
    assert told["state"] == "refused"
    assert len(await server.daemon.service.questions()) == 1


async def test_an_ordinary_sentence_is_no_answer(server: PhoneServer) -> None:
    client = await server.connected()
    session, _ = await asked(server)
    told = await says(server, client, "I would not approve of that", "u1", session_id=session)
    assert (told["type"], told["delivered"]) == ("voice_transcript", False)
    assert len(await server.daemon.service.questions()) == 1


async def test_a_question_that_came_while_the_person_spoke_is_not_what_is_answered(
    server: PhoneServer,
) -> None:
    """P-15.20"""
    client = await server.connected()
    server.engine.says("approve")
    await began(client)
    client.write(piece(0, SECOND))
    await client.caught_up()
    await asked(server)
    client.say("voice_end", utterance_id="u1")
    told = await client.hears("voice_command")
    assert told["state"] == "refused"
    assert len(await server.daemon.service.questions()) == 1


async def test_the_rest_of_what_another_daemon_heard_answers_nothing(server: PhoneServer) -> None:
    """P-15.20"""
    client = await server.connected()
    session, _ = await asked(server)
    told = await says(server, client, "approve", "u1", session_id=session, from_frame=7)
    assert told["state"] == "refused"
    assert len(await server.daemon.service.questions()) == 1


async def test_a_question_that_was_answered_meanwhile_is_refused(server: PhoneServer) -> None:
    client = await server.connected()
    session, question = await asked(server)
    await began(client, session_id=session)
    client.write(piece(0, SECOND))
    await client.caught_up()
    await server.daemon.service.answer(question["question_id"], "deny", None, "ann")
    server.engine.says("approve")
    client.say("voice_end", utterance_id="u1")
    assert (await client.hears("voice_command"))["state"] == "refused"


async def test_in_another_session_nothing_is_approved(server: PhoneServer) -> None:
    client = await server.connected()
    await asked(server)
    told = await says(server, client, "approve", "u1", session_id="another")
    assert told["state"] == "refused"
    assert len(await server.daemon.service.questions()) == 1


async def test_with_several_questions_the_session_has_to_be_named(server: PhoneServer) -> None:
    client = await server.connected()
    first, _ = await asked(server)
    await asked(server)
    assert (await says(server, client, "approve", "u1"))["state"] == "refused"
    told = await says(server, client, "approve", "u2", session_id=first)
    assert told["state"] == "applied"


async def test_what_is_read_next_is_what_is_answered_then(server: PhoneServer) -> None:
    """P-15.21"""
    client = await server.connected()
    first, _ = await asked(server, command="make first")
    _, other = await asked(server, command="make second")
    told = await says(server, client, "next", "u1", session_id=first)
    assert (told["command"], told["state"]) == ("next", "applied")
    assert "make second" in str(told["read_back"])
    told = await says(server, client, "approve", "u2", session_id=first)
    assert told["question_id"] == other["question_id"]
    told = await says(server, client, "next", "u3", session_id=first)
    assert told["read_back"] == "Nothing else is asked."


async def test_what_was_asked_or_said_is_repeated(server: PhoneServer) -> None:
    """P-15.21"""
    client = await server.connected()
    told = await says(server, client, "repeat", "u0")
    assert told["read_back"] == "Nothing to repeat."
    server.hub.say("s", "The tests pass.", everywhere=True)
    assert (await says(server, client, "repeat", "u1"))["read_back"] == "The tests pass."
    session, _ = await asked(server)
    told = await says(server, client, "repeat", "u2", session_id=session)
    assert "make test" in str(told["read_back"])


async def test_stop_interrupts(server: PhoneServer, machine: Machine) -> None:
    """P-15.22"""
    client = await server.connected()
    run_id, turn = await server.daemon.begun(machine.one_step())
    told = await says(server, client, "Stop!", "u1", session_id=turn.request.session_id)
    assert (told["command"], told["state"]) == ("stop", "applied")
    assert (await server.daemon.status(run_id, "paused")).turn is None


async def test_stop_needs_no_session_where_one_thing_runs(
    server: PhoneServer, machine: Machine
) -> None:
    client = await server.connected()
    assert (await says(server, client, "stop", "u0"))["read_back"] == "Nothing runs here."
    run_id, _ = await server.daemon.begun(machine.one_step())
    assert (await says(server, client, "stop", "u1"))["state"] == "applied"
    await server.daemon.status(run_id, "paused")


async def test_yes_is_an_ordinary_word_where_nothing_is_asked(server: PhoneServer) -> None:
    client = await server.connected()
    assert (await says(server, client, "yes", "u1"))["type"] == "voice_transcript"
    assert (await says(server, client, "approve", "u2"))["state"] == "refused"


async def test_a_gate_of_a_recipe_is_answered_by_voice(server: PhoneServer, gated: str) -> None:
    client = await server.connected()
    run_id, session = await server.daemon.waiting(gated)
    told = await says(server, client, "yes please", "u1", session_id=session, deliver="prompt")
    assert (told["command"], told["choice"], told["state"]) == ("approve", "yes", "applied")
    (await server.daemon.turn()).complete()
    await server.daemon.ended(run_id)


@pytest.mark.parametrize(
    ("language", "word"), [("de", "erlauben"), ("fr", "approuver"), ("es", "aprobar")]
)
async def test_commands_are_understood_in_the_language_that_was_spoken(
    server: PhoneServer, language: str, word: str
) -> None:
    client = await server.connected()
    server.engine.language = language
    await asked(server)
    assert (await says(server, client, word, "u1"))["state"] == "applied"


async def test_a_long_text_is_no_command(server: PhoneServer) -> None:
    client = await server.connected()
    session, _ = await asked(server)
    told = await says(server, client, "approve " * 40, "u1", session_id=session)
    assert told["type"] == "voice_transcript"


async def test_a_question_for_any_text_is_answered_with_what_is_said(server: PhoneServer) -> None:
    """P-15.23"""
    client = await server.connected()
    run = await server.daemon.prompt("Do it")
    turn = await server.daemon.turn()
    questions = [{"question": "Which port?", "options": [{"label": "80"}, {"label": "443"}]}]
    turn.asks(tool="AskUserQuestion", input={"questions": questions}, asks_person=True)
    await server.daemon.question(run["run_id"])
    where = {"session_id": run["session_id"], "deliver": "prompt"}
    told = await says(server, client, "Take eighty eighty, please", "u1", **where)
    assert (told["type"], told["delivered"]) == ("voice_transcript", True)
    decision = await turn.answered()
    assert decision.updated_input is not None
    assert decision.updated_input["answers"] == {"Which port?": "Take eighty eighty, please"}
    turn.end(done())
