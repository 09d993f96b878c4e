"""Words from a phone: they reach the right session, whoever holds it, and the answer comes back."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from msgspec.structs import replace

from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import SessionNamed
from tests.gateway.phone.phone_server import PhoneServer, open_phone_server
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
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.4."""
    client = await server.connected()
    mine = str(uuid.uuid4())
    client.say(
        "prompt",
        text="Look around",
        new_session_id=mine,
        working_directory=str(machine.project),
        system_prompt="  Be brief.  ",
    )
    assert (await client.hears("ack"))["message"] == "Processing prompt..."
    request = (await server.daemon.turn()).request
    assert (request.session_id, request.session_mode) == (mine, "new")
    assert (request.prompt, request.system_prompt) == ("Look around", "Be brief.")


async def test_a_new_session_is_told_once_its_first_words_are_recorded(
    server: PhoneServer, machine: Machine
) -> None:
    """P-4.9."""
    client = await server.connected()
    mine = str(uuid.uuid4())
    client.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    await client.hears("ack")
    assert client.of("session_created") == client.of("session_ready") == []
    await server.record(mine, record(1, "Hi"))
    ready = await client.hears("session_ready")
    created = await client.hears("session_created")
    assert ready["session_id"] == created["session_id"] == mine
    assert client.sent.index(created) < client.sent.index(ready)
    assert (await client.hears("recent_sessions"))["sessions"][0]["session_id"] == mine


async def test_a_new_session_is_told_on_the_connection_that_its_phone_made_meanwhile(
    server: PhoneServer, machine: Machine
) -> None:
    """P-4.9: the phone was put away right after the first words."""
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    mine = str(uuid.uuid4())
    client.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    await client.hears("ack")
    client.hang_up()
    again = await server.connected(key)
    await server.record(mine, record(1, "Hi"))
    assert (await again.hears("session_created"))["message_count"] == 1
    assert (await again.hears("session_ready"))["session_id"] == mine


async def test_a_phone_that_comes_back_hears_which_recent_sessions_can_be_followed(
    server: PhoneServer, machine: Machine
) -> None:
    """P-4.9: the first words were recorded while it was away, or while no daemon ran."""
    mine = str(uuid.uuid4())
    await server.record(mine, record(1, "Hi"))
    _, key = await server.devices.pair(None)
    for version, ready in (("0.5.0", [mine]), ("0.4.0", [mine]), (None, [])):
        client = server.dial()
        client.say("connect", api_key=key, **({"protocol_version": version} if version else {}))
        await client.caught_up()
        await client.caught_up()  # the first one may have been heard before the key
        assert [each["session_id"] for each in client.of("session_ready")] == ready


async def test_a_session_that_was_begun_before_the_daemon_ended_is_told_by_the_next(
    machine: Machine, tmp_path: Path
) -> None:
    """P-4.9: it died before the agent had written a word."""
    mine = str(uuid.uuid4())
    async with open_phone_server(machine, tmp_path) as server:
        client = await server.connected()
        client.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
        await client.hears("ack")
        await server.daemon.turn()
    async with open_phone_server(machine, tmp_path) as server:
        client = await server.connected()
        await server.record(mine, record(1, "Hi"))
        assert (await client.hears("session_ready"))["session_id"] == mine


async def test_a_prompt_that_no_agent_could_take_is_refused_with_its_session(
    server: PhoneServer, machine: Machine
) -> None:
    """P-1.11"""
    client = await server.connected()
    mine = str(uuid.uuid4())
    for field in ("new_session_id", "resume_session_id"):
        for text in ("", "x" * 1_100_000):
            where = {"working_directory": str(machine.project)}
            client.say("prompt", text=text, **{field: mine.upper()}, **where)
    await client.hears("error", 4)
    assert [each["session_id"] for each in client.of("error")] == [mine] * 4


async def test_an_id_that_the_app_believes_to_be_new_is_resumed_when_it_is_known(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.12."""
    known = str(uuid.uuid4())
    await server.record(known, record(1, cwd=str(machine.project)))
    client = await server.connected()
    client.say("prompt", text="Go on", new_session_id=known)
    await client.hears("ack")
    assert (await server.daemon.turn()).request.session_id == known


async def test_a_session_of_an_agent_that_keeps_no_file_is_gone_on_with_though_it_looks_new(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.12: no message of it was ever seen on the phone."""
    named = replace(machine.agent.capabilities, names_sessions=True)
    machine.agent.capabilities = named
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    mine = str(uuid.uuid4())
    where = {"working_directory": str(machine.project)}
    client.say("prompt", text="Hi", new_session_id=mine, **where)
    turn = await server.daemon.turn()
    turn.says(SessionNamed("ses_1"))
    turn.end(done())
    await server.daemon.ended(turn.request.run_id)
    client.hang_up()
    client = await server.connected(key)
    client.say("prompt", text="Go on", new_session_id=mine, **where)
    request = (await server.daemon.turn()).request
    assert (request.session_id, request.session_mode) == (mine, "resume")
    assert request.agent_session_id == "ses_1" and request.prompt == "Go on"


async def test_an_older_app_names_a_session_or_none_and_gets_the_answer_in_one_message(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.10."""
    client = await server.connected(version=None, session_id="android")
    client.say("prompt", text="Hi", session_id=None, working_directory=str(machine.project))
    turn = await server.daemon.turn()
    await server.record(turn.request.session_id, record(1, "Hi"), answer(2, "Hello.", "a-1"))
    turn.end(done(text="Hello."))
    response = await client.hears("response")
    assert (response["success"], response["text"]) == (True, "Hello.")
    assert response["session_id"] == turn.request.session_id


async def test_a_quick_prompt_is_answered_under_the_id_that_it_came_with(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.10."""
    client = await server.connected()
    client.say(
        "prompt",
        text="Quick",
        new_session_id=str(uuid.uuid4()),
        working_directory=str(machine.project),
        ios_session_id="ios-1",
    )
    (await server.daemon.turn()).end(done(text="Done."))
    response = await client.hears("response")
    assert (response["ios_session_id"], response["text"]) == ("ios-1", "Done.")


async def test_an_answer_that_will_not_come_is_said(server: PhoneServer, machine: Machine) -> None:
    client = await server.connected()
    fields = {"working_directory": str(machine.project), "ios_session_id": "ios-1"}
    client.say("prompt", text="Quick", new_session_id=str(uuid.uuid4()), **fields)
    (await server.daemon.turn()).end(TurnReport(kind="failed", detail="overloaded"))
    response = await client.hears("response")
    assert response["success"] is False and "overloaded" in response["error"]
    client.say("prompt", text="x", new_session_id=str(uuid.uuid4()), provider="nobody", **fields)
    assert (await client.hears("response", 2))["success"] is False
    assert "nobody" in (await client.hears("error"))["message"]


async def test_words_for_a_recipe_go_into_its_turn_and_the_ack_says_so(
    server: PhoneServer, one: str
) -> None:
    """P-9.5."""
    _, turn = await server.daemon.begun(one)
    client = await server.connected()
    client.say("prompt", text="Mind the tests", resume_session_id=turn.request.session_id)
    assert (await client.hears("ack"))["message"] == "Delivered into the running turn"
    assert list(turn.steers.values()) == ["Mind the tests"]


async def test_more_words_for_a_session_that_is_just_being_begun_are_no_second_beginning(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    """P-9.5, P-9.6: the app counts no message of it yet, so it calls it new once more."""
    client = await server.connected()
    mine = str(uuid.uuid4())
    where = {"working_directory": str(machine.project)}
    client.say("prompt", text="one", new_session_id=mine, **where)
    turn = await server.daemon.turn()
    client.say("prompt", text="two", new_session_id=mine, **where)
    assert "queued" in (await client.hears("ack", 2))["message"].lower()
    turn.end(done())
    second = await server.daemon.turn()
    assert (second.prompt, second.request.session_id) == ("two", mine)
    second.end(done())
    _, step = await server.daemon.begun(one)
    client.say("prompt", text="Mind it", new_session_id=step.request.session_id, **where)
    await client.hears("ack", 3)
    assert list(step.steers.values()) == ["Mind it"]


async def test_words_for_a_session_in_use_by_a_prompt_are_queued(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.6."""
    went = await server.daemon.prompt("one")
    turn = await server.daemon.turn()
    client = await server.connected()
    client.say("prompt", text="two", resume_session_id=went["session_id"])
    assert "queued" in (await client.hears("ack"))["message"].lower()
    turn.end(done())
    assert (await server.daemon.turn()).prompt == "two"


async def test_words_for_which_the_queue_has_no_room_are_an_error_and_not_lost_unnoticed(
    server: PhoneServer, machine: Machine
) -> None:
    machine.max_queued = 1
    session = (await server.daemon.prompt("one"))["session_id"]
    turn = await server.daemon.turn()
    client = await server.connected()
    client.say("prompt", text="two", resume_session_id=session)
    await client.hears("ack")
    client.say("prompt", text="three", resume_session_id=session, ios_session_id="quick")
    refused = await client.hears("error")
    assert refused["session_id"] == session and "limits.max_queued" in refused["message"]
    assert (await client.hears("response"))["error"] == refused["message"]
    assert len(client.of("ack")) == 1
    turn.end(done())
    assert (await server.daemon.turn()).prompt == "two"


async def test_a_session_that_nobody_knows_is_an_error_that_names_it(server: PhoneServer) -> None:
    client = await server.connected()
    nobody = str(uuid.uuid4())
    client.say("prompt", text="Hello", resume_session_id=nobody)
    assert (await client.hears("error"))["session_id"] == nobody


async def test_a_prompt_too_large_for_an_agent_is_refused_and_nothing_is_started(
    server: PhoneServer, machine: Machine
) -> None:
    client = await server.connected()
    fields = {"working_directory": str(machine.project)}
    client.say("prompt", text="x" * 1024 * 1024, new_session_id=str(uuid.uuid4()), **fields)
    assert "attach a file" in (await client.hears("error"))["message"]
    assert machine.agent.turns == []


async def test_home_and_the_directory_said_before_stand_in_for_a_path(
    server: PhoneServer, machine: Machine, tmp_path: Path
) -> None:
    """P-9.11, P-9.13."""
    (tmp_path / "home" / "shop").mkdir()
    client = await server.connected()
    client.say("prompt", text="1", new_session_id=str(uuid.uuid4()), working_directory="~/shop")
    assert (await server.daemon.turn()).request.working_directory.endswith("/shop")
    client.say("set_directory", path=str(machine.project))
    client.say("prompt", text="2", session_id=str(uuid.uuid4()))
    assert (await server.daemon.turn()).request.working_directory == str(machine.project)


async def test_the_first_answer_to_a_question_counts_and_the_second_is_told(
    server: PhoneServer, gated: str
) -> None:
    """P-12.5, P-12.2."""
    run_id, _ = await server.daemon.waiting(gated)
    question = (await server.daemon.question(run_id))["question_id"]
    first, second = await server.connected(), await server.connected()
    first.say("answer_question", question_id=question, answer="yes")
    assert (await first.hears("question_closed"))["answer"] == "yes"
    assert (await second.hears("question_closed"))["by"] == "phone"
    second.say("answer_question", question_id=question, answer="no")
    await second.hears("error")


async def test_an_answer_that_is_none_leaves_the_question_open(
    server: PhoneServer, gated: str
) -> None:
    """P-12.5."""
    run_id, _ = await server.daemon.waiting(gated)
    question = (await server.daemon.question(run_id))["question_id"]
    client = await server.connected()
    client.say("answer_question", question_id=question, answer="perhaps")
    await client.hears("error")
    assert len(await server.daemon.service.questions()) == 1


async def test_the_end_of_a_turn_is_told_to_who_looks_at_its_session(
    server: PhoneServer, machine: Machine
) -> None:
    went = await server.daemon.prompt("one")
    turn = await server.daemon.turn()
    session = went["session_id"]
    await server.record(session, record(1, "one"))
    watcher, other = await server.connected(), await server.connected()
    watcher.say("subscribe", session_id=session)
    await watcher.hears("session_history")
    turn.end(done())
    assert (await watcher.hears("turn_complete"))["session_id"] == session
    await other.caught_up()
    assert other.of("turn_complete") == []


async def test_the_end_of_a_turn_is_told_to_the_phone_that_prompted_wherever_it_looks(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.8: also of a session that has left no transcript."""
    client, other = await server.connected(), await server.connected()
    mine = str(uuid.uuid4())
    client.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    (await server.daemon.turn()).end(done(text="Hello."))
    assert await client.hears("turn_complete") == {"type": "turn_complete", "session_id": mine}
    await other.caught_up()
    assert other.of("turn_complete") == []


async def test_an_app_without_a_version_gets_the_answer_to_a_prompt_in_a_newer_shape_too(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.10: it follows no session that it has begun itself."""
    client = await server.connected(version=None, session_id="rn")
    mine = str(uuid.uuid4())
    client.say("prompt", text="Hi", new_session_id=mine, working_directory=str(machine.project))
    (await server.daemon.turn()).end(done(text="Hello."))
    response = await client.hears("response")
    assert (response["session_id"], response["text"]) == (mine, "Hello.")


async def test_a_session_that_is_stopped_says_so_and_its_turn_was_aborted(
    server: PhoneServer, machine: Machine
) -> None:
    went = await server.daemon.prompt("one")
    session = went["session_id"]
    await server.daemon.turn()
    await server.record(session, record(1, "one"))
    client = await server.connected()
    client.say("subscribe", session_id=session)
    client.say("kill_session", session_id=session)
    assert (await client.hears("session_killed"))["session_id"] == session
    assert (await client.hears("turn_complete"))["aborted"] is True


async def test_a_name_is_made_of_the_first_words(server: PhoneServer) -> None:
    client = await server.connected()
    client.say("infer_session_name", session_id="s", message_text="repair the door")
    assert (await client.hears("session_name_inferred"))["name"] == "Repair"


async def test_words_for_a_session_that_another_program_holds_are_refused_with_its_holder(
    machine: Machine, tmp_path: Path
) -> None:
    """P-9.7."""
    (tmp_path / "home").mkdir()
    machine.config_directory = tmp_path
    person, session = Person(tmp_path), str(uuid.uuid4())
    person.write(sessionId=session)
    try:
        async with open_phone_server(machine, tmp_path / "home") as server:
            await server.record(session, record(1, cwd=str(machine.project)))
            client = await server.connected()
            client.say("prompt", text="Hello", resume_session_id=session)
            refused = await client.hears("error")
    finally:
        person.end()
    assert refused["session_id"] == session
    assert (refused["holder"]["kind"], refused["holder"]["pid"]) == ("foreign", person.pid)
