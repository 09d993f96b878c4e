"""Spoken commands: what is asked is answered by voice, and never by mistake."""

from __future__ import annotations

import pytest

from tests.gateway.phone.office import Line, Office
from tests.gateway.phone.speaking import SECOND, asked, began, piece, results, spoke
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine

RISKY = {"command": "rm -rf build"}


async def says(
    office: Office, line: Line, text: str, name: str, **more: object
) -> dict[str, object]:
    """Say these words; what the phone is told."""
    office.ears.says(text)
    return await spoke(line, name, **more)


async def test_an_open_approval_is_given_by_voice(office: Office) -> None:
    """P-15.6, P-15.18"""
    line = await office.connected()
    session, question = await asked(office)
    told = await says(office, line, "Approve.", "u1", session_id=session)
    assert (told["type"], told["command"], told["state"]) == ("voice_command", "approve", "applied")
    assert (told["question_id"], told["choice"]) == (question["question_id"], "allow")
    assert "make test" in str(told["read_back"])
    closed = await line.hears("question_closed")
    assert (closed["answer"], closed["by"]) == ("allow", "phone")


async def test_an_open_approval_is_denied_by_voice(office: Office) -> None:
    line = await office.connected()
    await asked(office)
    told = await says(office, line, "no", "u1")  # the only thing that is asked
    assert (told["command"], told["choice"], told["state"]) == ("deny", "deny", "applied")
    assert (await line.hears("question_closed"))["answer"] == "deny"


async def test_what_is_risky_is_read_back_and_confirmed_by_a_second_utterance(
    office: Office,
) -> None:
    """P-15.19"""
    line = await office.connected()
    session, question = await asked(office, **RISKY)
    told = await says(office, line, "approve", "u1", session_id=session)
    assert (told["state"], told["question_id"]) == ("confirm", question["question_id"])
    assert "rm -rf build" in str(told["read_back"])
    assert [each.closed for each in await office.daemon.service.questions()] == [None]
    told = await says(office, line, "confirm", "u2", session_id=session)
    assert (told["command"], told["state"], told["choice"]) == ("confirm", "applied", "allow")
    assert (await line.hears("question_closed"))["answer"] == "allow"


async def test_what_was_said_before_the_read_back_confirms_nothing(office: Office) -> None:
    """P-15.19"""
    line = await office.connected()
    session, _ = await asked(office, **RISKY)
    await began(line, "early", session_id=session)
    line.write(piece(0, SECOND))
    told = await says(office, line, "approve", "u1", session_id=session)
    assert told["state"] == "confirm"
    office.ears.says("confirm")
    await began(line, "early", session_id=session)
    line.say("voice_end", utterance_id="early")
    await line.until(lambda: len(results(line)) == 2)
    assert results(line)[1]["state"] == "confirm"
    assert len(await office.daemon.service.questions()) == 1


async def test_another_device_confirms_nothing(office: Office) -> None:
    line, other = await office.connected(), await office.connected()
    session, _ = await asked(office, **RISKY)
    await says(office, line, "approve", "u1", session_id=session)
    told = await says(office, other, "confirm", "u1", session_id=session)
    assert told["state"] == "refused"
    assert len(await office.daemon.service.questions()) == 1


async def test_an_ordinary_sentence_is_no_answer(office: Office) -> None:
    line = await office.connected()
    session, _ = await asked(office)
    told = await says(office, line, "I would not approve of that", "u1", session_id=session)
    assert (told["type"], told["delivered"]) == ("voice_transcript", False)
    assert len(await office.daemon.service.questions()) == 1


async def test_a_question_that_came_while_the_person_spoke_is_not_what_is_answered(
    office: Office,
) -> None:
    """P-15.20"""
    line = await office.connected()
    office.ears.says("approve")
    await began(line)
    line.write(piece(0, SECOND))
    await line.caught_up()
    await asked(office)
    line.say("voice_end", utterance_id="u1")
    told = await line.hears("voice_command")
    assert told["state"] == "refused"
    assert len(await office.daemon.service.questions()) == 1


async def test_the_rest_of_what_another_daemon_heard_answers_nothing(office: Office) -> None:
    """P-15.20"""
    line = await office.connected()
    session, _ = await asked(office)
    told = await says(office, line, "approve", "u1", session_id=session, from_frame=7)
    assert told["state"] == "refused"
    assert len(await office.daemon.service.questions()) == 1


async def test_a_question_that_was_answered_meanwhile_is_refused(office: Office) -> None:
    line = await office.connected()
    session, question = await asked(office)
    await began(line, session_id=session)
    line.write(piece(0, SECOND))
    await line.caught_up()
    await office.daemon.service.answer(question["question_id"], "deny", None, "ann")
    office.ears.says("approve")
    line.say("voice_end", utterance_id="u1")
    assert (await line.hears("voice_command"))["state"] == "refused"


async def test_in_another_session_nothing_is_approved(office: Office) -> None:
    line = await office.connected()
    await asked(office)
    told = await says(office, line, "approve", "u1", session_id="another")
    assert told["state"] == "refused"
    assert len(await office.daemon.service.questions()) == 1


async def test_with_several_questions_the_session_has_to_be_named(office: Office) -> None:
    line = await office.connected()
    first, _ = await asked(office)
    await asked(office)
    assert (await says(office, line, "approve", "u1"))["state"] == "refused"
    told = await says(office, line, "approve", "u2", session_id=first)
    assert told["state"] == "applied"


async def test_what_is_read_next_is_what_is_answered_then(office: Office) -> None:
    """P-15.21"""
    line = await office.connected()
    first, _ = await asked(office, command="make first")
    _, other = await asked(office, command="make second")
    told = await says(office, line, "next", "u1", session_id=first)
    assert (told["command"], told["state"]) == ("next", "applied")
    assert "make second" in str(told["read_back"])
    told = await says(office, line, "approve", "u2", session_id=first)
    assert told["question_id"] == other["question_id"]
    told = await says(office, line, "next", "u3", session_id=first)
    assert told["read_back"] == "Nothing else is asked."


async def test_what_was_asked_or_said_is_repeated(office: Office) -> None:
    """P-15.21"""
    line = await office.connected()
    told = await says(office, line, "repeat", "u0")
    assert told["read_back"] == "Nothing was said before."
    office.hub.say("s", "The tests pass.", everywhere=True)
    assert (await says(office, line, "repeat", "u1"))["read_back"] == "The tests pass."
    session, _ = await asked(office)
    told = await says(office, line, "repeat", "u2", session_id=session)
    assert "make test" in str(told["read_back"])


async def test_stop_interrupts(office: Office, machine: Machine) -> None:
    """P-15.22"""
    line = await office.connected()
    run_id, turn = await office.daemon.begun(machine.one_step())
    told = await says(office, line, "Stop!", "u1", session_id=turn.request.session_id)
    assert (told["command"], told["state"]) == ("stop", "applied")
    assert (await office.daemon.status(run_id, "paused")).turn is None


async def test_stop_needs_no_session_where_one_thing_runs(office: Office, machine: Machine) -> None:
    line = await office.connected()
    assert (await says(office, line, "stop", "u0"))["read_back"] == "Nothing runs here."
    run_id, _ = await office.daemon.begun(machine.one_step())
    assert (await says(office, line, "stop", "u1"))["state"] == "applied"
    await office.daemon.status(run_id, "paused")


async def test_yes_is_an_ordinary_word_where_nothing_is_asked(office: Office) -> None:
    line = await office.connected()
    assert (await says(office, line, "yes", "u1"))["type"] == "voice_transcript"
    assert (await says(office, line, "approve", "u2"))["state"] == "refused"


async def test_a_gate_of_a_recipe_is_answered_by_voice(office: Office, gated: str) -> None:
    line = await office.connected()
    run_id, session = await office.daemon.waiting(gated)
    told = await says(office, line, "yes please", "u1", session_id=session, deliver="prompt")
    assert (told["command"], told["choice"], told["state"]) == ("approve", "yes", "applied")
    (await office.daemon.turn()).complete()
    await office.daemon.ended(run_id)


@pytest.mark.parametrize(
    ("language", "word"), [("de", "erlauben"), ("fr", "approuver"), ("es", "aprobar")]
)
async def test_commands_are_understood_in_the_language_that_was_spoken(
    office: Office, language: str, word: str
) -> None:
    line = await office.connected()
    office.ears.language = language
    await asked(office)
    assert (await says(office, line, word, "u1"))["state"] == "applied"


async def test_a_long_text_is_no_command(office: Office) -> None:
    line = await office.connected()
    session, _ = await asked(office)
    told = await says(office, line, "approve " * 40, "u1", session_id=session)
    assert told["type"] == "voice_transcript"


async def test_a_question_for_any_text_is_answered_with_what_is_said(office: Office) -> None:
    """P-15.23"""
    line = await office.connected()
    run = await office.daemon.prompt("Do it")
    turn = await office.daemon.turn()
    questions = [{"question": "Which port?", "options": [{"label": "80"}, {"label": "443"}]}]
    turn.asks(tool="AskUserQuestion", input={"questions": questions}, asks_person=True)
    await office.daemon.question(run["run_id"])
    where = {"session_id": run["session_id"], "deliver": "prompt"}
    told = await says(office, line, "Take eighty eighty, please", "u1", **where)
    assert (told["type"], told["delivered"]) == ("voice_transcript", True)
    decision = await turn.answered()
    assert decision.updated_input is not None
    assert decision.updated_input["answers"] == {"Which port?": "Take eighty eighty, please"}
    turn.end(done())
