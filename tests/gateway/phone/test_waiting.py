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
from tests.gateway.phone.office import Office
from tests.runtime.fake_agent import FakeTurn
from tests.runtime.harness import Machine
from tests.sessions.support import line as record


@pytest.fixture
async def deaf(office: Office, one: str, monkeypatch: pytest.MonkeyPatch) -> FakeTurn:
    """A recipe's turn whose agent does not read its pipe."""
    monkeypatch.setattr(prompting, "DELIVER_SECONDS", 0.01)
    monkeypatch.setattr(recipes, "STEER_SECONDS", 0.01)
    _, turn = await office.daemon.begun(one)

    async def hangs(_text: str, _uuid: str) -> bool:
        await trio.sleep_forever()
        return False

    monkeypatch.setattr(turn, "steer", hangs)
    return turn


async def test_words_that_an_agent_does_not_take_are_queued_and_it_can_be_stopped(
    office: Office, deaf: FakeTurn
) -> None:
    """P-9.5."""
    line, session = await office.connected(), deaf.request.session_id
    line.say("prompt", text="x" * 5000, resume_session_id=session)
    assert (await line.hears("ack"))["message"].startswith("Queued")
    line.say("steer", session_id=session, text="Mind the gap")
    assert (await line.hears("steer_result"))["state"] == "queued"
    line.say("kill_session", session_id=session)
    await line.hears("session_killed")
    assert deaf.interrupted.is_set()


async def test_a_session_is_stopped_however_much_a_phone_waits_for(
    office: Office, machine: Machine
) -> None:
    """P-10.1."""
    session = (await office.daemon.prompt("one"))["session_id"]
    turn = await office.daemon.turn()
    line = await office.connected()
    for number in range(20):
        line.say("prompt", text="more", resume_session_id=session, ios_session_id=f"i{number}")
    await line.caught_up()
    assert line.of("error")  # as much waits as may
    line.forget()
    line.say("kill_session", session_id=session)
    line.say("kill_session", session_id=session)
    await line.hears("session_killed")
    assert turn.interrupted.is_set() and line.of("error") == []


async def test_a_recipe_is_ended_however_much_a_phone_waits_for(
    office: Office, machine: Machine, one: str
) -> None:
    """P-11.13."""
    other = machine.directory("other")
    session = (await office.daemon.prompt("one", working_directory=other))["session_id"]
    await office.daemon.turn()
    _, turn = await office.daemon.begun(one)
    line = await office.connected()
    for number in range(20):
        line.say("prompt", text="more", resume_session_id=session, ios_session_id=f"i{number}")
    line.say("exit_recipe", session_id=turn.request.session_id)
    assert (await line.hears("recipe_exited"))["reason"] == "user-requested"


class Leaving:
    """A run that is over and takes its time to go."""

    def __init__(self, office: Office, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gone = trio.Event()
        self.asked = trio.Event()
        real = office.hub.services.service.run_gone

        async def slow(which: str) -> None:
            if which == run_id:
                self.asked.set()
                await self.gone.wait()
            await real(which)

        monkeypatch.setattr(office.hub.services.service, "run_gone", slow)


async def test_while_one_run_goes_away_the_others_are_told_of_and_can_be_ended(
    office: Office, machine: Machine, one: str, gated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-11.6, P-11.13, P-12.2."""
    line = await office.connected()
    run_id, turn = await office.daemon.begun(one)
    leaving = Leaving(office, run_id, monkeypatch)
    turn.complete()
    await leaving.asked.wait()
    line.forget()
    where = {"working_directory": machine.directory("other")}
    line.say("start_recipe", session_id=None, recipe_id=gated, **where)
    await line.hears("question")
    session = line.of("recipe_started")[0]["session_id"]
    line.say("exit_recipe", session_id=session)
    over = await line.hears("recipe_exited")
    assert (over["session_id"], over["reason"]) == (session, "user-requested")
    leaving.gone.set()
    assert (await line.hears("recipe_exited", 2))["session_id"] == turn.request.session_id


async def test_a_recipe_whose_end_is_not_told_yet_is_not_ended_twice(
    office: Office, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-11.11."""
    line = await office.connected()
    run_id, turn = await office.daemon.begun(one)
    leaving = Leaving(office, run_id, monkeypatch)
    turn.complete()
    await leaving.asked.wait()
    line.say("exit_recipe", session_id=turn.request.session_id)
    await line.caught_up()
    assert line.of("recipe_exited") == []
    leaving.gone.set()
    await line.hears("recipe_exited")
    await line.caught_up()
    assert [each["reason"] for each in line.of("recipe_exited")] == ["turn-complete"]


async def test_a_phone_that_connects_while_a_run_goes_away_hears_of_each_end_once(
    office: Office, machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-2.9."""
    _, key = await office.devices.pair(None)
    first, turn = await office.daemon.begun(one)
    leaving = Leaving(office, first, monkeypatch)
    turn.complete()
    await leaving.asked.wait()
    second, other = await office.daemon.begun(one, working_directory=machine.directory("other"))
    other.complete()
    await office.daemon.ended(second)
    await wait_all_tasks_blocked()
    line = office.dial()
    line.say("connect", api_key=key, protocol_version="0.5.0")
    assert (await line.hears("recipe_exited"))["session_id"] == other.request.session_id
    await line.caught_up()
    leaving.gone.set()
    await line.hears("recipe_exited", 2)
    await line.caught_up()
    told = [each["session_id"] for each in line.of("recipe_exited")]
    assert told == [other.request.session_id, turn.request.session_id]


async def test_the_handshake_reads_no_ends_of_prompts_nor_of_what_was_before_the_pairing(
    office: Office, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await office.connected()
    _, turn = await office.daemon.begun(one)
    turn.complete()
    await other.hears("recipe_exited")
    _, key = await office.devices.pair(None)
    await office.daemon.prompt("Hello")
    (await office.daemon.turn()).complete()
    read: list[int] = []
    real = office.hub.services.service.ended_recipes

    async def counted(after: int, until: int, limit: int) -> list[Event]:
        page = await real(after, until, limit)
        read.append(len(page))
        return page

    monkeypatch.setattr(office.hub.services.service, "ended_recipes", counted)
    await office.connected(key)
    assert read == [0]


async def test_a_revoked_phone_is_cut_off_though_its_file_is_just_being_written(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-2.11."""
    writing, done = trio.Event(), threading.Event()

    async def slow(*_: object) -> None:
        writing.set()
        await trio.to_thread.run_sync(done.wait)

    monkeypatch.setattr(Resources, "put_base64", slow)
    _, key = await office.devices.pair("mine")
    line = await office.connected(key)
    line.say("upload_file", filename="a", content="aa", storage_location="/tmp")
    await writing.wait()
    line.forget()
    try:
        await office.devices.revoke("mine")
        office.hub.broadcast(b'{"type":"secret"}')
        assert not office.hub.phones
        await line.until(lambda: line.closed is not None)
        assert line.sent == [] and line.closed == (1008, "This device is no longer paired.")
    finally:
        done.set()


async def test_a_prompt_is_answered_with_the_commands_of_its_sessions_directory(
    office: Office, machine: Machine
) -> None:
    """P-9.4."""
    (machine.project / "Makefile").write_text("hello:\n\techo hi\n")
    session = str(uuid.uuid4())
    await office.record(session, record(1, cwd=str(machine.project)))
    line = await office.connected()
    line.say("prompt", text="go", resume_session_id=session)
    offered = await line.hears("available_commands")
    assert offered["working_directory"] == str(machine.project)
    assert [each["id"] for each in offered["project_commands"]]


async def test_a_large_page_is_made_out_beside_the_event_loop(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, threads = str(uuid.uuid4()), set()
    await office.record(session, record(1), *(record(n, "x" * 9000) for n in range(2, 50)))
    real = text.of_json

    def seen(public: object) -> object:
        threads.add(threading.current_thread())
        return real(public)  # type: ignore[arg-type]

    monkeypatch.setattr(text, "of_json", seen)
    line = await office.connected()
    line.say("subscribe", session_id=session)
    await line.hears("session_history")
    assert threads and threading.main_thread() not in threads
