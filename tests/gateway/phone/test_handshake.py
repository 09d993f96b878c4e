"""A phone comes: who is let in, what it is told first, and what it missed."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from tests.gateway.phone.office import Line, Office, open_office
from tests.runtime.harness import Machine


def types(line: Line) -> list[str]:
    return [each["type"] for each in line.sent]


async def ended(line: Line) -> None:
    """Wait until the gateway has hung up."""
    await line.until(lambda: line.closed is not None)


async def test_a_phone_is_greeted_and_then_let_in_with_all_that_it_must_know(
    office: Office,
) -> None:
    """P-2.1, P-2.3, P-2.8."""
    _, key = await office.devices.pair("mine")
    line = office.dial()
    hello = await line.hears("hello")
    assert hello["version"] == "0.5.0" and line.known is False
    line.say("connect", api_key=key, protocol_version="0.5.0", session_id="echo")
    await line.caught_up()
    assert types(line) == [
        "hello",
        "connected",
        "session_list",
        "recent_sessions",
        "available_commands",
        "pong",
    ]
    assert line.sent[1]["session_id"] == "echo" and line.known and line.limit > 100 * 1024 * 1024
    assert office.devices.list()[0].connected


async def test_a_ping_is_answered_before_anybody_is_let_in(office: Office) -> None:
    """P-2.6."""
    line = office.dial()
    line.say("ping")
    await line.hears("pong")
    assert line.closed is None


async def test_whoever_has_no_key_gets_one_and_the_same_answer_and_no_more(office: Office) -> None:
    """P-2.6."""
    cases: list[str | bytes] = [
        '{"type": "connect"}',
        '{"type": "connect", "api_key": "untethered-00000000000000000000000000000000"}',
        '{"type": "connect", "api_key": null}',
        '{"type": "connect", "api_key": ["untethered-"]}',
        '{"type": "prompt", "text": "hello"}',
        '{"type": "subscribe"}',
        '{"type": "nothing of the kind"}',
        "not JSON",
        "[]",
        b"\x00\x00\x00\x00audio",
    ]
    await office.devices.pair("mine")
    for number, said in enumerate(cases, 1):
        line = office.dial(f"192.0.2.{number}")
        line.write(said)
        await ended(line)
        assert types(line) == ["hello", "auth_error"]
        assert set(line.sent[1]) == {"type", "message"}
        assert line.closed is not None and line.closed[0] == 1008


async def test_an_app_that_is_too_old_is_told_so_before_its_key_is_looked_at(
    office: Office,
) -> None:
    """P-2.3."""
    line = office.dial()
    line.say("connect", protocol_version="0.3.9", api_key="wrong")
    await ended(line)
    assert line.sent[1]["code"] == "unsupported_protocol_version"
    assert office.throttle.delay(line.peer) == 0 and len(office.throttle) == 0


async def test_five_wrong_keys_shut_an_address_out_though_it_then_has_the_right_one(
    office: Office,
) -> None:
    """P-2.12: an app takes an ``auth_error`` for the end of its key."""
    _, key = await office.devices.pair("mine")
    for _ in range(5):
        line = office.dial()
        line.say("connect", api_key="untethered-" + "0" * 32)
        await ended(line)
        assert types(line) == ["hello", "auth_error"]
    for said in ({"type": "connect", "api_key": key}, {"type": "subscribe"}):
        line = office.dial()
        line.write(json.dumps(said))
        await ended(line)
        assert types(line) == ["hello"]
        assert line.closed is not None and line.closed[0] == 1013
    other = office.dial("192.0.2.8")
    other.say("connect", api_key=key)
    await other.hears("connected")


async def test_a_revoked_device_is_cut_off_at_once_and_not_let_in_again(office: Office) -> None:
    """P-2.11."""
    _, key = await office.devices.pair("mine")
    line = await office.connected(key)
    await office.devices.revoke("mine")
    await ended(line)
    assert line.closed == (1008, "This device is no longer paired.")
    again = office.dial()
    again.say("connect", api_key=key)
    await again.hears("auth_error")


async def test_an_app_that_connects_again_on_its_connection_gets_its_lists(office: Office) -> None:
    """P-4.10."""
    line = await office.connected()
    line.say("connect")
    await line.hears("recent_sessions")
    line.say("refresh_sessions", recent_sessions_limit=3)
    assert (await line.hears("recent_sessions", 2))["limit"] == 3


async def test_what_is_no_message_is_answered_and_the_phone_stays(office: Office) -> None:
    line = await office.connected()
    line.write("{")
    line.say("set_directory")
    line.say("who_knows")
    line.say("message_ack", message_id="1")
    await line.caught_up()
    assert types(line) == ["error", "error", "error", "pong"]
    assert line.sent[2]["message"] == "Unknown message type: who_knows"


async def test_a_phone_that_comes_late_hears_of_the_recipe_and_the_question_that_are_open(
    office: Office, gated: str
) -> None:
    """P-2.9, P-11.6, P-12.2."""
    run_id, session = await office.daemon.waiting(gated)
    question = await office.daemon.question(run_id)
    _, key = await office.devices.pair(None)
    line = office.dial()
    line.say("connect", api_key=key, protocol_version="0.5.0")
    asked = await line.hears("question")
    assert asked["question_id"] == question["question_id"]
    shown = line.of("recipe_started")
    assert [(one["session_id"], one["recipe_id"]) for one in shown] == [(session, "gated")]


async def test_what_ended_while_a_phone_was_away_it_hears_when_it_comes_back(
    office: Office, one: str
) -> None:
    """P-2.9."""
    _, key = await office.devices.pair(None)
    line = await office.connected(key)
    run_id, turn = await office.daemon.begun(one)
    line.hang_up()
    turn.complete()
    await office.daemon.ended(run_id)
    await line.until(lambda: not office.hub.phones)
    back = office.dial()
    back.say("connect", api_key=key)
    gone = await back.hears("recipe_exited")
    assert (gone["reason"], gone["class"]) == ("turn-complete", "completed")
    assert gone["session_id"] == turn.request.session_id


async def test_a_new_device_hears_nothing_of_what_ended_before_it_was_paired(
    office: Office, one: str
) -> None:
    run_id, turn = await office.daemon.begun(one)
    turn.complete()
    await office.daemon.ended(run_id)
    line = await office.connected()
    line.say("ping")
    await line.hears("pong")
    assert line.of("recipe_exited") == []


async def test_recipes_and_questions_outlive_the_daemon_for_phones_too(
    machine: Machine, gated: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with open_office(machine, home) as office:
        _, key = await office.devices.pair(None)
        _, session = await office.daemon.waiting(gated)
    async with open_office(machine, home) as office:
        line = office.dial()
        line.say("connect", api_key=key)
        question = await line.hears("question")
        assert line.of("recipe_started")[0]["session_id"] == session
        line.say("answer_question", question_id=question["question_id"], answer="yes")
        closed = await line.hears("question_closed")
        assert (closed["answer"], closed["closed"]) == ("yes", "answered")
        (await office.daemon.turn()).complete()
        assert (await line.hears("recipe_exited"))["session_id"] == session


async def test_a_message_about_a_session_that_is_not_there_does_no_harm(office: Office) -> None:
    line = await office.connected()
    nobody = str(uuid.uuid4())
    for kind in ("unsubscribe", "session_deleted", "kill_session", "compact_session"):
        line.say(kind, session_id=nobody)
    failed = await line.hears("compaction_error")
    assert failed["session_id"] == nobody
    assert line.closed is None
