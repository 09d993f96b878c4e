"""Words from a phone: they reach the right session, whoever holds it, and the answer comes back."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from podiumd.core.reply.report import TurnReport
from tests.gateway.phone.office import Office, open_office
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine
from tests.runtime.test_foreign import Person
from tests.sessions.support import line as record


def answer(number: int, text: str, uuid_: str) -> bytes:
    """An agent's record."""
    plain = json.loads(record(number))
    plain |= {
        "type": "assistant",
        "uuid": uuid_,
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
    }
    return json.dumps(plain).encode() + b"\n"


async def test_the_first_words_begin_a_session_of_the_id_that_the_app_chose(
    office: Office, machine: Machine
) -> None:
    """P-9.4."""
    line = await office.connected()
    mine = str(uuid.uuid4())
    line.say(
        "prompt",
        text="Look around",
        new_session_id=mine,
        working_directory=str(machine.project),
        system_prompt="  Be brief.  ",
    )
    assert (await line.hears("ack"))["message"] == "Processing prompt..."
    request = (await office.daemon.turn()).request
    assert (request.session_id, request.session_mode) == (mine, "new")
    assert (request.prompt, request.system_prompt) == ("Look around", "Be brief.")


async def test_a_new_session_is_told_once_its_first_words_are_recorded(
    office: Office, machine: Machine
) -> None:
    """P-4.9."""
    line = await office.connected()
    mine = str(uuid.uuid4())
    line.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    await line.hears("ack")
    assert line.of("session_created") == line.of("session_ready") == []
    await office.record(mine, record(1, "Hi"))
    ready = await line.hears("session_ready")
    created = await line.hears("session_created")
    assert ready["session_id"] == created["session_id"] == mine
    assert line.sent.index(created) < line.sent.index(ready)
    assert (await line.hears("recent_sessions"))["sessions"][0]["session_id"] == mine


async def test_a_new_session_is_told_on_the_connection_that_its_phone_made_meanwhile(
    office: Office, machine: Machine
) -> None:
    """P-4.9: the phone was put away right after the first words."""
    _, key = await office.devices.pair(None)
    line = await office.connected(key)
    mine = str(uuid.uuid4())
    line.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    await line.hears("ack")
    line.hang_up()
    again = await office.connected(key)
    await office.record(mine, record(1, "Hi"))
    assert (await again.hears("session_created"))["message_count"] == 1
    assert (await again.hears("session_ready"))["session_id"] == mine


async def test_a_phone_that_comes_back_hears_which_recent_sessions_can_be_followed(
    office: Office, machine: Machine
) -> None:
    """P-4.9: the first words were recorded while it was away, or while no daemon ran."""
    mine = str(uuid.uuid4())
    await office.record(mine, record(1, "Hi"))
    _, key = await office.devices.pair(None)
    for version, ready in (("0.5.0", [mine]), ("0.4.0", [mine]), (None, [])):
        line = office.dial()
        line.say("connect", api_key=key, **({"protocol_version": version} if version else {}))
        await line.caught_up()
        await line.caught_up()  # the first one may have been heard before the key
        assert [each["session_id"] for each in line.of("session_ready")] == ready


async def test_a_session_that_was_begun_before_the_daemon_ended_is_told_by_the_next(
    machine: Machine, tmp_path: Path
) -> None:
    """P-4.9: it died before the agent had written a word."""
    mine = str(uuid.uuid4())
    async with open_office(machine, tmp_path) as office:
        line = await office.connected()
        line.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
        await line.hears("ack")
        await office.daemon.turn()
    async with open_office(machine, tmp_path) as office:
        line = await office.connected()
        await office.record(mine, record(1, "Hi"))
        assert (await line.hears("session_ready"))["session_id"] == mine


async def test_a_prompt_that_no_agent_could_take_is_refused_with_its_session(
    office: Office, machine: Machine
) -> None:
    """P-1.11"""
    line = await office.connected()
    mine = str(uuid.uuid4())
    for field in ("new_session_id", "resume_session_id"):
        for text in ("", "x" * 1_100_000):
            where = {"working_directory": str(machine.project)}
            line.say("prompt", text=text, **{field: mine.upper()}, **where)
    await line.hears("error", 4)
    assert [each["session_id"] for each in line.of("error")] == [mine] * 4


async def test_an_id_that_the_app_believes_to_be_new_is_resumed_when_it_is_known(
    office: Office, machine: Machine
) -> None:
    """P-9.12."""
    known = str(uuid.uuid4())
    await office.record(known, record(1, cwd=str(machine.project)))
    line = await office.connected()
    line.say("prompt", text="Go on", new_session_id=known)
    await line.hears("ack")
    assert (await office.daemon.turn()).request.session_id == known


async def test_an_older_app_names_a_session_or_none_and_gets_the_answer_in_one_message(
    office: Office, machine: Machine
) -> None:
    """P-9.10."""
    line = await office.connected(version=None, session_id="android")
    line.say("prompt", text="Hi", session_id=None, working_directory=str(machine.project))
    turn = await office.daemon.turn()
    await office.record(turn.request.session_id, record(1, "Hi"), answer(2, "Hello.", "a-1"))
    turn.end(done(text="Hello."))
    response = await line.hears("response")
    assert (response["success"], response["text"]) == (True, "Hello.")
    assert response["session_id"] == turn.request.session_id


async def test_a_quick_prompt_is_answered_under_the_id_that_it_came_with(
    office: Office, machine: Machine
) -> None:
    """P-9.10."""
    line = await office.connected()
    line.say(
        "prompt",
        text="Quick",
        new_session_id=str(uuid.uuid4()),
        working_directory=str(machine.project),
        ios_session_id="ios-1",
    )
    (await office.daemon.turn()).end(done(text="Done."))
    response = await line.hears("response")
    assert (response["ios_session_id"], response["text"]) == ("ios-1", "Done.")


async def test_an_answer_that_will_not_come_is_said(office: Office, machine: Machine) -> None:
    line = await office.connected()
    fields = {"working_directory": str(machine.project), "ios_session_id": "ios-1"}
    line.say("prompt", text="Quick", new_session_id=str(uuid.uuid4()), **fields)
    (await office.daemon.turn()).end(TurnReport(kind="failed", detail="overloaded"))
    response = await line.hears("response")
    assert response["success"] is False and "overloaded" in response["error"]
    line.say("prompt", text="x", new_session_id=str(uuid.uuid4()), provider="nobody", **fields)
    assert (await line.hears("response", 2))["success"] is False
    assert "nobody" in (await line.hears("error"))["message"]


async def test_words_for_a_recipe_go_into_its_turn_and_the_ack_says_so(
    office: Office, one: str
) -> None:
    """P-9.5."""
    _, turn = await office.daemon.begun(one)
    line = await office.connected()
    line.say("prompt", text="Mind the tests", resume_session_id=turn.request.session_id)
    assert (await line.hears("ack"))["message"] == "Delivered into the running turn"
    assert list(turn.steers.values()) == ["Mind the tests"]


async def test_more_words_for_a_session_that_is_just_being_begun_are_no_second_beginning(
    office: Office, machine: Machine, one: str
) -> None:
    """P-9.5, P-9.6: the app counts no message of it yet, so it calls it new once more."""
    line = await office.connected()
    mine = str(uuid.uuid4())
    where = {"working_directory": str(machine.project)}
    line.say("prompt", text="one", new_session_id=mine, **where)
    turn = await office.daemon.turn()
    line.say("prompt", text="two", new_session_id=mine, **where)
    assert "queued" in (await line.hears("ack", 2))["message"].lower()
    turn.end(done())
    second = await office.daemon.turn()
    assert (second.prompt, second.request.session_id) == ("two", mine)
    second.end(done())
    _, step = await office.daemon.begun(one)
    line.say("prompt", text="Mind it", new_session_id=step.request.session_id, **where)
    await line.hears("ack", 3)
    assert list(step.steers.values()) == ["Mind it"]


async def test_words_for_a_session_in_use_by_a_prompt_are_queued(
    office: Office, machine: Machine
) -> None:
    """P-9.6."""
    went = await office.daemon.prompt("one")
    turn = await office.daemon.turn()
    line = await office.connected()
    line.say("prompt", text="two", resume_session_id=went["session_id"])
    assert "queued" in (await line.hears("ack"))["message"].lower()
    turn.end(done())
    assert (await office.daemon.turn()).prompt == "two"


async def test_words_for_which_the_queue_has_no_room_are_an_error_and_not_lost_unnoticed(
    office: Office, machine: Machine
) -> None:
    machine.max_queued = 1
    session = (await office.daemon.prompt("one"))["session_id"]
    turn = await office.daemon.turn()
    line = await office.connected()
    line.say("prompt", text="two", resume_session_id=session)
    await line.hears("ack")
    line.say("prompt", text="three", resume_session_id=session, ios_session_id="quick")
    refused = await line.hears("error")
    assert refused["session_id"] == session and "limits.max_queued" in refused["message"]
    assert (await line.hears("response"))["error"] == refused["message"]
    assert len(line.of("ack")) == 1
    turn.end(done())
    assert (await office.daemon.turn()).prompt == "two"


async def test_a_session_that_nobody_knows_is_an_error_that_names_it(office: Office) -> None:
    line = await office.connected()
    nobody = str(uuid.uuid4())
    line.say("prompt", text="Hello", resume_session_id=nobody)
    assert (await line.hears("error"))["session_id"] == nobody


async def test_a_prompt_too_large_for_an_agent_is_refused_and_nothing_is_started(
    office: Office, machine: Machine
) -> None:
    line = await office.connected()
    fields = {"working_directory": str(machine.project)}
    line.say("prompt", text="x" * 1024 * 1024, new_session_id=str(uuid.uuid4()), **fields)
    assert "attach a file" in (await line.hears("error"))["message"]
    assert machine.agent.turns == []


async def test_home_and_the_directory_said_before_stand_in_for_a_path(
    office: Office, machine: Machine, tmp_path: Path
) -> None:
    """P-9.11, P-9.13."""
    (tmp_path / "home" / "shop").mkdir()
    line = await office.connected()
    line.say("prompt", text="1", new_session_id=str(uuid.uuid4()), working_directory="~/shop")
    assert (await office.daemon.turn()).request.working_directory.endswith("/shop")
    line.say("set_directory", path=str(machine.project))
    line.say("prompt", text="2", session_id=str(uuid.uuid4()))
    assert (await office.daemon.turn()).request.working_directory == str(machine.project)


async def test_the_first_answer_to_a_question_counts_and_the_second_is_told(
    office: Office, gated: str
) -> None:
    """P-12.5, P-12.2."""
    run_id, _ = await office.daemon.waiting(gated)
    question = (await office.daemon.question(run_id))["question_id"]
    first, second = await office.connected(), await office.connected()
    first.say("answer_question", question_id=question, answer="yes")
    assert (await first.hears("question_closed"))["answer"] == "yes"
    assert (await second.hears("question_closed"))["by"] == "phone"
    second.say("answer_question", question_id=question, answer="no")
    await second.hears("error")


async def test_an_answer_that_is_none_leaves_the_question_open(office: Office, gated: str) -> None:
    """P-12.5."""
    run_id, _ = await office.daemon.waiting(gated)
    question = (await office.daemon.question(run_id))["question_id"]
    line = await office.connected()
    line.say("answer_question", question_id=question, answer="perhaps")
    await line.hears("error")
    assert len(await office.daemon.service.questions()) == 1


async def test_the_end_of_a_turn_is_told_to_who_looks_at_its_session(
    office: Office, machine: Machine
) -> None:
    went = await office.daemon.prompt("one")
    turn = await office.daemon.turn()
    session = went["session_id"]
    await office.record(session, record(1, "one"))
    watcher, other = await office.connected(), await office.connected()
    watcher.say("subscribe", session_id=session)
    await watcher.hears("session_history")
    turn.end(done())
    assert (await watcher.hears("turn_complete"))["session_id"] == session
    await other.caught_up()
    assert other.of("turn_complete") == []


async def test_the_end_of_a_turn_is_told_to_the_phone_that_prompted_wherever_it_looks(
    office: Office, machine: Machine
) -> None:
    """P-9.8: also of a session that has left no transcript."""
    line, other = await office.connected(), await office.connected()
    mine = str(uuid.uuid4())
    line.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    (await office.daemon.turn()).end(done(text="Hello."))
    assert await line.hears("turn_complete") == {"type": "turn_complete", "session_id": mine}
    await other.caught_up()
    assert other.of("turn_complete") == []


async def test_an_app_without_a_version_gets_the_answer_to_a_prompt_in_a_newer_shape_too(
    office: Office, machine: Machine
) -> None:
    """P-9.10: it follows no session that it has begun itself."""
    line = await office.connected(version=None, session_id="rn")
    mine = str(uuid.uuid4())
    line.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    (await office.daemon.turn()).end(done(text="Hello."))
    response = await line.hears("response")
    assert (response["session_id"], response["text"]) == (mine, "Hello.")


async def test_a_session_that_is_stopped_says_so_and_its_turn_was_aborted(
    office: Office, machine: Machine
) -> None:
    went = await office.daemon.prompt("one")
    session = went["session_id"]
    await office.daemon.turn()
    await office.record(session, record(1, "one"))
    line = await office.connected()
    line.say("subscribe", session_id=session)
    line.say("kill_session", session_id=session)
    assert (await line.hears("session_killed"))["session_id"] == session
    assert (await line.hears("turn_complete"))["aborted"] is True


async def test_a_name_is_made_of_the_first_words(office: Office) -> None:
    line = await office.connected()
    line.say("infer_session_name", session_id="s", message_text="repair the door")
    assert (await line.hears("session_name_inferred"))["name"] == "Repair"


async def test_words_for_a_session_that_another_program_holds_are_refused_with_its_holder(
    machine: Machine, tmp_path: Path
) -> None:
    """P-9.7."""
    (tmp_path / "home").mkdir()
    machine.config_directory = tmp_path
    person, session = Person(tmp_path), str(uuid.uuid4())
    person.write(sessionId=session)
    try:
        async with open_office(machine, tmp_path / "home") as office:
            await office.record(session, record(1, cwd=str(machine.project)))
            line = await office.connected()
            line.say("prompt", text="Hello", resume_session_id=session)
            refused = await line.hears("error")
    finally:
        person.end()
    assert refused["session_id"] == session
    assert (refused["holder"]["kind"], refused["holder"]["pid"]) == ("foreign", person.pid)
