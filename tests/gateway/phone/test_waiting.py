"""What takes long holds nothing else up: an agent that does not read, a run that does not go."""

from __future__ import annotations

import threading
import uuid

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone.feed import text
from podiumd.gateway.phone.handlers import recipes
from podiumd.projects.resources import Resources
from podiumd.runtime.intake import prompt as prompting
from podiumd.wire.event import Event
from tests.gateway.phone.phone_server import PhoneServer
from tests.runtime.fake_agent import FakeTurn
from tests.runtime.harness import Machine
from tests.sessions.support import line as record


@pytest.fixture
async def deaf(server: PhoneServer, one: str, monkeypatch: pytest.MonkeyPatch) -> FakeTurn:
    """A recipe's turn whose agent does not read its pipe."""
    monkeypatch.setattr(prompting, "DELIVER_SECONDS", 0.01)
    monkeypatch.setattr(recipes, "STEER_SECONDS", 0.01)
    _, turn = await server.daemon.begun(one)

    async def hangs(_text: str, _uuid: str) -> bool:
        await trio.sleep_forever()
        return False

    monkeypatch.setattr(turn, "steer", hangs)
    return turn


async def test_words_that_an_agent_does_not_take_are_queued_and_it_can_be_stopped(
    server: PhoneServer, deaf: FakeTurn
) -> None:
    """P-9.5."""
    client, session = await server.connected(), deaf.request.session_id
    client.say("prompt", text="x" * 5000, resume_session_id=session)
    assert (await client.hears("ack"))["message"].startswith("Queued")
    client.say("steer", session_id=session, text="Mind the gap")
    assert (await client.hears("steer_result"))["state"] == "queued"
    client.say("kill_session", session_id=session)
    await client.hears("session_killed")
    assert deaf.interrupted.is_set()


async def test_a_session_is_stopped_however_much_a_phone_waits_for(
    server: PhoneServer, machine: Machine
) -> None:
    """P-10.1."""
    session = (await server.daemon.prompt("one"))["session_id"]
    turn = await server.daemon.turn()
    client = await server.connected()
    for number in range(20):
        client.say("prompt", text="more", resume_session_id=session, ios_session_id=f"i{number}")
    await client.caught_up()
    assert client.of("error")  # as much waits as may
    client.forget()
    client.say("kill_session", session_id=session)
    client.say("kill_session", session_id=session)
    await client.hears("session_killed")
    assert turn.interrupted.is_set() and client.of("error") == []


async def test_a_recipe_is_ended_however_much_a_phone_waits_for(
    server: PhoneServer, machine: Machine, one: str
) -> None:
    """P-11.13."""
    other = machine.directory("other")
    session = (await server.daemon.prompt("one", working_directory=other))["session_id"]
    await server.daemon.turn()
    _, turn = await server.daemon.begun(one)
    client = await server.connected()
    for number in range(20):
        client.say("prompt", text="more", resume_session_id=session, ios_session_id=f"i{number}")
    client.say("exit_recipe", session_id=turn.request.session_id)
    assert (await client.hears("recipe_exited"))["reason"] == "user-requested"


class Leaving:
    """A run that is over and takes its time to go."""

    def __init__(self, server: PhoneServer, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gone = trio.Event()
        self.asked = trio.Event()
        real = server.hub.services.service.run_gone

        async def slow(which: str) -> None:
            if which == run_id:
                self.asked.set()
                await self.gone.wait()
            await real(which)

        monkeypatch.setattr(server.hub.services.service, "run_gone", slow)


async def test_while_one_run_goes_away_the_others_are_told_of_and_can_be_ended(
    server: PhoneServer, machine: Machine, one: str, gated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-11.6, P-11.13, P-12.2."""
    client = await server.connected()
    run_id, turn = await server.daemon.begun(one)
    leaving = Leaving(server, run_id, monkeypatch)
    turn.complete()
    await leaving.asked.wait()
    client.forget()
    where = {"working_directory": machine.directory("other")}
    client.say("start_recipe", session_id=None, recipe_id=gated, **where)
    await client.hears("question")
    session = client.of("recipe_started")[0]["session_id"]
    client.say("exit_recipe", session_id=session)
    over = await client.hears("recipe_exited")
    assert (over["session_id"], over["reason"]) == (session, "user-requested")
    leaving.gone.set()
    assert (await client.hears("recipe_exited", 2))["session_id"] == turn.request.session_id


async def test_a_recipe_whose_end_is_not_told_yet_is_not_ended_twice(
    server: PhoneServer, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-11.11."""
    client = await server.connected()
    run_id, turn = await server.daemon.begun(one)
    leaving = Leaving(server, run_id, monkeypatch)
    turn.complete()
    await leaving.asked.wait()
    client.say("exit_recipe", session_id=turn.request.session_id)
    await client.caught_up()
    assert client.of("recipe_exited") == []
    leaving.gone.set()
    await client.hears("recipe_exited")
    await client.caught_up()
    assert [each["reason"] for each in client.of("recipe_exited")] == ["turn-complete"]


async def test_a_phone_that_connects_while_a_run_goes_away_hears_of_each_end_once(
    server: PhoneServer, machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-2.9."""
    _, key = await server.devices.pair(None)
    first, turn = await server.daemon.begun(one)
    leaving = Leaving(server, first, monkeypatch)
    turn.complete()
    await leaving.asked.wait()
    second, other = await server.daemon.begun(one, working_directory=machine.directory("other"))
    other.complete()
    await server.daemon.ended(second)
    await wait_all_tasks_blocked()
    client = server.dial()
    client.say("connect", api_key=key, protocol_version="0.5.0")
    assert (await client.hears("recipe_exited"))["session_id"] == other.request.session_id
    await client.caught_up()
    leaving.gone.set()
    await client.hears("recipe_exited", 2)
    await client.caught_up()
    told = [each["session_id"] for each in client.of("recipe_exited")]
    assert told == [other.request.session_id, turn.request.session_id]


async def test_the_handshake_reads_no_ends_of_prompts_nor_of_what_was_before_the_pairing(
    server: PhoneServer, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await server.connected()
    _, turn = await server.daemon.begun(one)
    turn.complete()
    await other.hears("recipe_exited")
    _, key = await server.devices.pair(None)
    await server.daemon.prompt("Hello")
    (await server.daemon.turn()).complete()
    read: list[int] = []
    real = server.hub.services.service.ended_recipes

    async def counted(after: int, until: int, limit: int) -> list[Event]:
        page = await real(after, until, limit)
        read.append(len(page))
        return page

    monkeypatch.setattr(server.hub.services.service, "ended_recipes", counted)
    await server.connected(key)
    assert read == [0]


async def test_a_revoked_phone_is_cut_off_though_its_file_is_just_being_written(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-2.11."""
    writing, done = trio.Event(), threading.Event()

    async def slow(*_: object) -> None:
        writing.set()
        await trio.to_thread.run_sync(done.wait)

    monkeypatch.setattr(Resources, "put_base64", slow)
    _, key = await server.devices.pair("mine")
    client = await server.connected(key)
    client.say("upload_file", filename="a", content="aa", storage_location="/tmp")
    await writing.wait()
    client.forget()
    try:
        await server.devices.revoke("mine")
        server.hub.broadcast(b'{"type":"secret"}')
        assert not server.hub.phones
        await client.until(lambda: client.closed is not None)
        assert client.sent == [] and client.closed == (1008, "This device is no longer paired.")
    finally:
        done.set()


async def test_a_prompt_is_answered_with_the_commands_of_its_sessions_directory(
    server: PhoneServer, machine: Machine
) -> None:
    """P-9.4."""
    (machine.project / "Makefile").write_text("hello:\n\techo hi\n")
    session = str(uuid.uuid4())
    await server.record(session, record(1, cwd=str(machine.project)))
    client = await server.connected()
    client.say("prompt", text="go", resume_session_id=session)
    offered = await client.hears("available_commands")
    assert offered["working_directory"] == str(machine.project)
    assert [each["id"] for each in offered["project_commands"]]


async def test_a_large_page_is_made_out_beside_the_event_loop(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, threads = str(uuid.uuid4()), set()
    await server.record(session, record(1), *(record(n, "x" * 9000) for n in range(2, 50)))
    real = text.of_json

    def seen(public: object) -> object:
        threads.add(threading.current_thread())
        return real(public)  # type: ignore[arg-type]

    monkeypatch.setattr(text, "of_json", seen)
    client = await server.connected()
    client.say("subscribe", session_id=session)
    await client.hears("session_history")
    assert threads and threading.main_thread() not in threads
