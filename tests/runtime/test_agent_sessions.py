"""Sessions that the agent itself, or a person's own terminal, has a part in."""

from __future__ import annotations

import io
import json
import os
import threading
import uuid
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.formats.claude_transcript import Record, foreign_user_rows
from podiumd.runtime.errors import Busy, InvalidParameter, NotFound
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.leases import Lease, LeaseBook
from podiumd.runtime.run import observe
from podiumd.tools.process.processes import start_of
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running


def open_elsewhere(machine: Machine, session: str, status: str) -> Path:
    """A person's own terminal has the session open; this process plays it."""
    directory = machine.state.parent / "claude"
    (directory / "sessions").mkdir(parents=True, exist_ok=True)
    record = {
        "pid": os.getpid(),
        "procStart": str(start_of(os.getpid())),
        "sessionId": session,
        "cwd": str(machine.project),
        "status": status,
    }
    path = directory / "sessions" / f"{os.getpid()}.json"
    path.write_text(json.dumps(record))
    return path


async def known_session(daemon: Daemon) -> str:
    went = await daemon.prompt("first")
    (await daemon.turn()).end(done())
    await daemon.ended(went["run_id"])
    return str(went["session_id"])


async def test_a_session_open_in_a_terminal_is_refused_and_taken_over_once_idle(
    machine: Machine,
) -> None:
    machine.config_directory = machine.state.parent / "claude"
    async with running(machine) as daemon, trio.open_nursery() as nursery:
        session = await known_session(daemon)
        open_elsewhere(machine, session, "busy")
        with pytest.raises(Busy) as raised:
            await daemon.prompt(session_id=session)
        assert plain(raised.value.data)["holder"]["kind"] == "foreign"
        assert plain(raised.value.data)["holder"]["pid"] == os.getpid()
        assert [row.holder.pid for row in await daemon.service.locks()] == [os.getpid()]

        async def take_over() -> None:
            await daemon.prompt("Let me", session_id=session, take_over=True)

        nursery.start_soon(take_over)
        await wait_all_tasks_blocked()
        open_elsewhere(machine, session, "idle")
        mine = await daemon.turn()
        assert mine.prompt == "Let me"
        mine.end(done())


async def test_a_terminal_that_opened_the_session_of_a_waiting_run_is_asked_about(
    machine: Machine, gated: str
) -> None:
    machine.config_directory = machine.state.parent / "claude"
    async with running(machine) as daemon:
        run_id, session = await daemon.waiting(gated)
        record = open_elsewhere(machine, session, "idle")
        await daemon.answer(run_id, "yes")
        question = await daemon.question(run_id)
        assert question["kind"] == "recover"
        assert f"pid {os.getpid()}" in question["detail"]
        record.unlink()
        await daemon.answer(run_id, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_queued_prompt_does_not_wait_for_a_terminal(machine: Machine) -> None:
    machine.config_directory = machine.state.parent / "claude"
    async with running(machine) as daemon:
        went = await daemon.prompt("first")
        turn = await daemon.turn()
        queued = await daemon.prompt("second", session_id=went["session_id"], if_busy="queue")
        await wait_all_tasks_blocked()
        open_elsewhere(machine, went["session_id"], "idle")
        turn.end(done())
        assert (await daemon.ended(queued["run_id"]))["exit"]["reason"] == "session-locked"


def transcript(machine: Machine, session: str, *texts: str) -> Path:
    """The agent's own record of a session: what a person wrote into it."""
    path = machine.state / f"{session}.jsonl"
    with path.open("a") as file:
        for number, text in enumerate(texts):
            record = {
                "type": "user",
                "uuid": f"{text}-{number}",
                "sessionId": session,
                "cwd": str(machine.project),
                "message": {"role": "user", "content": text},
            }
            file.write(json.dumps(record) + "\n")
    machine.agent.transcripts[session] = path
    return path


async def test_a_session_of_the_agents_own_is_found_by_its_transcript(machine: Machine) -> None:
    session = str(uuid.uuid4())
    own = machine.roots[0].directory / "-project" / f"{session}.jsonl"
    own.parent.mkdir(parents=True)
    transcript(machine, session, "Hello").rename(own)
    async with running(machine) as daemon:
        await daemon.prompt("And now", session_id=session[:6])
        request = (await daemon.turn()).request
        assert (request.session_id, request.session_mode) == (session, "resume")
        assert request.working_directory == str(machine.project)
        with pytest.raises(NotFound):
            await daemon.prompt("And now", session_id=str(uuid.uuid4()))


async def test_a_beginning_that_two_sessions_have_is_refused_and_both_are_named(
    machine: Machine,
) -> None:
    project = machine.roots[0].directory / "-project"
    project.mkdir(parents=True)
    names = [f"abcd0000-0000-4000-8000-00000000000{number}" for number in (1, 2)]
    for name in names:
        transcript(machine, name, "Hello").rename(project / f"{name}.jsonl")
    async with running(machine) as daemon:
        for name in names:
            await daemon.service.sessions_get(name)
        with pytest.raises(InvalidParameter, match=f"{names[0]}, {names[1]}"):
            await daemon.service.sessions_get("abcd")


async def test_rows_that_somebody_else_wrote_meanwhile_are_a_question(
    machine: Machine, gated: str
) -> None:
    again = machine.recipe(AGAIN, "again")
    async with running(machine) as daemon:
        run_id = await daemon.start(again)
        turn = await daemon.turn()
        path = transcript(machine, turn.request.session_id, "Work")
        turn.end(done({"outcome": "complete"}, mark={"size": path.stat().st_size}))
        await daemon.question(run_id)  # the gate of the second step
        transcript(machine, turn.request.session_id, "Mine")
        await daemon.answer(run_id, "yes")
        await daemon.until(run_id, lambda state: len(state.questions) == 2)
        question = await daemon.question(run_id)
        assert (question["kind"], question["detail"]) == ("recover", "1 rows")
        await daemon.answer(run_id, "continue")
        (await daemon.turn()).complete("fine")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_what_the_session_has_grown_by_is_read_off_the_loop_and_never_whole(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = machine.recipe(AGAIN, "again")
    kinds: list[type] = []
    threads: list[threading.Thread] = []

    def spy(lines: Iterable[bytes], known: Collection[str]) -> list[Record]:
        kinds.append(type(lines))
        threads.append(threading.current_thread())
        return foreign_user_rows(lines, known)

    monkeypatch.setattr(observe, "foreign_user_rows", spy)
    async with running(machine) as daemon:
        run_id = await daemon.start(again)
        turn = await daemon.turn()
        path = transcript(machine, turn.request.session_id, "Work")
        turn.end(done({"outcome": "complete"}, mark={"size": path.stat().st_size}))
        await daemon.answer(run_id, "yes")
        (await daemon.turn()).complete("fine")
        await daemon.ended(run_id)
    assert kinds == [io.BufferedReader]
    assert threading.current_thread() not in threads


AGAIN = """
format = 1
id = "again"
label = "Again"
description = "Work, then look"
initial = "work"
[steps.work]
prompt = "Do the work."
[steps.work.on]
complete = { to = "look" }
[steps.look]
gate = "Look?"
prompt = "Look."
[steps.look.on]
fine = { exit = "turn-complete" }
"""


async def test_a_session_that_another_daemon_is_making_is_held_and_not_unknown(
    machine: Machine,
) -> None:
    elsewhere = LeaseBook(machine.locks)
    holder = Holder(kind="prompt", id="run-of-theirs", state_directory="/theirs")
    async with running(machine) as daemon:
        with pytest.raises(NotFound):
            await daemon.prompt(session_id="new-session")
        lease = elsewhere.try_session("new-session", holder)
        assert isinstance(lease, Lease)
        with lease, pytest.raises(Busy) as raised:
            await daemon.prompt(session_id="new-session")
        assert plain(raised.value.data)["holder"]["id"] == "run-of-theirs"
