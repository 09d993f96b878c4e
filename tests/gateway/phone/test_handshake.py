"""A phone comes: who is let in, what it is told first, and what it missed."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from tests.gateway.phone.phone_server import PhoneClient, PhoneServer, open_phone_server
from tests.runtime.harness import Machine


def types(client: PhoneClient) -> list[str]:
    return [each["type"] for each in client.sent]


async def ended(client: PhoneClient) -> None:
    """Wait until the gateway has hung up."""
    await client.until(lambda: client.closed is not None)


async def test_a_phone_is_greeted_and_then_let_in_with_all_that_it_must_know(
    server: PhoneServer,
) -> None:
    """P-2.1, P-2.3, P-2.8."""
    _, key = await server.devices.pair("mine")
    client = server.dial()
    hello = await client.hears("hello")
    assert hello["version"] == "0.5.0" and client.known is False
    client.say("connect", api_key=key, protocol_version="0.5.0", session_id="echo")
    await client.caught_up()
    assert types(client) == [
        "hello",
        "connected",
        "session_list",
        "recent_sessions",
        "available_commands",
        "pong",
    ]
    assert (
        client.sent[1]["session_id"] == "echo" and client.known and client.limit > 100 * 1024 * 1024
    )
    assert server.devices.list()[0].connected


async def test_a_ping_is_answered_before_anybody_is_let_in(server: PhoneServer) -> None:
    """P-2.6."""
    client = server.dial()
    client.say("ping")
    await client.hears("pong")
    assert client.closed is None


async def test_whoever_has_no_key_gets_one_and_the_same_answer_and_no_more(
    server: PhoneServer,
) -> None:
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
    await server.devices.pair("mine")
    for number, said in enumerate(cases, 1):
        client = server.dial(f"192.0.2.{number}")
        client.write(said)
        await ended(client)
        assert types(client) == ["hello", "auth_error"]
        assert set(client.sent[1]) == {"type", "message"}
        assert client.closed is not None and client.closed[0] == 1008


async def test_an_app_that_is_too_old_is_told_so_before_its_key_is_looked_at(
    server: PhoneServer,
) -> None:
    """P-2.3."""
    client = server.dial()
    client.say("connect", protocol_version="0.3.9", api_key="wrong")
    await ended(client)
    assert client.sent[1]["code"] == "unsupported_protocol_version"
    assert server.throttle.delay(client.peer) == 0 and len(server.throttle) == 0


async def test_five_wrong_keys_shut_an_address_out_though_it_then_has_the_right_one(
    server: PhoneServer,
) -> None:
    """P-2.12: an app takes an ``auth_error`` for the end of its key."""
    _, key = await server.devices.pair("mine")
    for _ in range(5):
        client = server.dial()
        client.say("connect", api_key="untethered-" + "0" * 32)
        await ended(client)
        assert types(client) == ["hello", "auth_error"]
    for said in ({"type": "connect", "api_key": key}, {"type": "subscribe"}):
        client = server.dial()
        client.write(json.dumps(said))
        await ended(client)
        assert types(client) == ["hello"]
        assert client.closed is not None and client.closed[0] == 1013
    other = server.dial("192.0.2.8")
    other.say("connect", api_key=key)
    await other.hears("connected")


async def test_a_revoked_device_is_cut_off_at_once_and_not_let_in_again(
    server: PhoneServer,
) -> None:
    """P-2.11."""
    _, key = await server.devices.pair("mine")
    client = await server.connected(key)
    await server.devices.revoke("mine")
    await ended(client)
    assert client.closed == (1008, "This device is no longer paired.")
    again = server.dial()
    again.say("connect", api_key=key)
    await again.hears("auth_error")


async def test_an_app_that_connects_again_on_its_connection_gets_its_lists(
    server: PhoneServer,
) -> None:
    """P-4.10."""
    client = await server.connected()
    client.say("connect")
    await client.hears("recent_sessions")
    client.say("refresh_sessions", recent_sessions_limit=3)
    assert (await client.hears("recent_sessions", 2))["limit"] == 3


async def test_what_is_no_message_is_answered_and_the_phone_stays(server: PhoneServer) -> None:
    client = await server.connected()
    client.write("{")
    client.say("set_directory")
    client.say("who_knows")
    client.say("message_ack", message_id="1")
    await client.caught_up()
    assert types(client) == ["error", "error", "error", "pong"]
    assert client.sent[2]["message"] == "Unknown message type: who_knows"


async def test_a_phone_that_comes_late_hears_of_the_recipe_and_the_question_that_are_open(
    server: PhoneServer, gated: str
) -> None:
    """P-2.9, P-11.6, P-12.2."""
    run_id, session = await server.daemon.waiting(gated)
    question = await server.daemon.question(run_id)
    _, key = await server.devices.pair(None)
    client = server.dial()
    client.say("connect", api_key=key, protocol_version="0.5.0")
    asked = await client.hears("question")
    assert asked["question_id"] == question["question_id"]
    shown = client.of("recipe_started")
    assert [(one["session_id"], one["recipe_id"]) for one in shown] == [(session, "gated")]


async def test_what_ended_while_a_phone_was_away_it_hears_when_it_comes_back(
    server: PhoneServer, one: str
) -> None:
    """P-2.9."""
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    run_id, turn = await server.daemon.begun(one)
    client.hang_up()
    turn.complete()
    await server.daemon.ended(run_id)
    await client.until(lambda: not server.hub.phones)
    back = server.dial()
    back.say("connect", api_key=key)
    gone = await back.hears("recipe_exited")
    assert (gone["reason"], gone["class"]) == ("turn-complete", "completed")
    assert gone["session_id"] == turn.request.session_id


async def test_a_new_device_hears_nothing_of_what_ended_before_it_was_paired(
    server: PhoneServer, one: str
) -> None:
    run_id, turn = await server.daemon.begun(one)
    turn.complete()
    await server.daemon.ended(run_id)
    client = await server.connected()
    client.say("ping")
    await client.hears("pong")
    assert client.of("recipe_exited") == []


async def test_recipes_and_questions_outlive_the_daemon_for_phones_too(
    machine: Machine, gated: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with open_phone_server(machine, home) as server:
        _, key = await server.devices.pair(None)
        _, session = await server.daemon.waiting(gated)
    async with open_phone_server(machine, home) as server:
        client = server.dial()
        client.say("connect", api_key=key)
        question = await client.hears("question")
        assert client.of("recipe_started")[0]["session_id"] == session
        client.say("answer_question", question_id=question["question_id"], answer="yes")
        closed = await client.hears("question_closed")
        assert (closed["answer"], closed["closed"]) == ("yes", "answered")
        (await server.daemon.turn()).complete()
        assert (await client.hears("recipe_exited"))["session_id"] == session


async def test_a_message_about_a_session_that_is_not_there_does_no_harm(
    server: PhoneServer,
) -> None:
    client = await server.connected()
    nobody = str(uuid.uuid4())
    for kind in ("unsubscribe", "session_deleted", "kill_session", "compact_session"):
        client.say(kind, session_id=nobody)
    failed = await client.hears("compaction_error")
    assert failed["session_id"] == nobody
    assert client.closed is None
