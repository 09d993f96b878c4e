"""Who may use a session or a working tree while somebody else has it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.runtime.errors import AgentUnavailable, Busy, InvalidParameter, NotFound
from podiumd.tools.process import start_of
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running
from tests.tools.git_repository import commit, make_repository, run_git


@pytest.fixture
def one(machine: Machine) -> str:
    return machine.one_step()


@pytest.fixture
def gated(machine: Machine) -> str:
    return machine.one_step("gated", step='gate = "Go on?"')


async def test_two_recipes_never_work_in_one_checkout(machine: Machine, one: str) -> None:
    repository = make_repository(machine.project / "repo")
    (repository / "below").mkdir()
    async with running(machine) as daemon:
        first = await daemon.start(one, working_directory=str(repository))
        with pytest.raises(Busy) as raised:
            await daemon.start(one, working_directory=str(repository / "below"))
        assert raised.value.data["working_directory"] == str(repository)
        holder = raised.value.data["holder"]
        assert (holder["kind"], holder["id"], holder["pid"]) == ("run", first, os.getpid())
        (await daemon.turn()).complete()
        await daemon.ended(first)
        await daemon.start(one, working_directory=str(repository / "below"))


async def test_a_plain_prompt_does_not_hold_the_checkout(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        await daemon.prompt()
        await daemon.turn()
        await daemon.start(one)
        await daemon.turn()


async def test_a_worktree_of_its_own_lets_a_second_recipe_work(machine: Machine, one: str) -> None:
    repository = make_repository(machine.project / "repo")
    commit(repository, "first")
    async with running(machine) as daemon:
        await daemon.start(one, working_directory=str(repository))
        second = await daemon.start(one, working_directory=str(repository), worktree=True)
        await daemon.until(second, lambda state: state.turn is not None)
        turns = [await daemon.turn(), await daemon.turn()]
        [own] = [t for t in turns if t.request.run_id == second]
        directory = str(machine.state / "worktrees" / second)
        assert own.request.working_directory == directory
        assert run_git(Path(directory), "branch", "--show-current") == f"podium/{second}"
        own.complete()
        run = await daemon.ended(second)
        assert run["worktree"]["branch"] == f"podium/{second}"
        assert Path(directory).is_dir()
        with pytest.raises(InvalidParameter, match="not in a git repository"):
            await daemon.start(one, working_directory=machine.directory("other"), worktree=True)


async def test_a_worktree_that_cannot_be_made_ends_the_run(machine: Machine, one: str) -> None:
    repository = make_repository(machine.project / "repo")  # without a commit to start from
    async with running(machine) as daemon:
        run_id = await daemon.start(one, working_directory=str(repository), worktree=True)
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "error"
        assert "no commit yet" in run["exit"]["detail"]


async def test_a_session_has_one_user_and_the_second_is_told_who(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        session = (await daemon.turn()).request.session_id
        with pytest.raises(Busy) as raised:
            await daemon.prompt(session_id=session)
        assert raised.value.data["session_id"] == session
        assert raised.value.data["holder"]["id"] == run_id
        other = machine.directory("other")
        with pytest.raises(Busy):
            await daemon.start(one, working_directory=other, session_id=session)
        await daemon.start(one, working_directory=other)  # what the refused start held is free


async def test_prompts_that_are_queued_run_in_their_order(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        first = await daemon.turn()
        session = first.request.session_id
        queued = [
            await daemon.prompt(f"number {number}", session_id=session, if_busy="queue")
            for number in range(5)
        ]
        await wait_all_tasks_blocked()
        runs = [await daemon.service.get_run(went["run_id"]) for went in queued]
        assert [run["status"] for run in runs] == ["queued"] * 5
        first.complete()
        await daemon.ended(run_id)
        for number in range(5):
            turn = await daemon.turn()
            assert turn.prompt == f"number {number}"
            assert turn.request.session_id == session
            turn.end(done())


async def test_a_queued_prompt_that_is_cancelled_lets_the_next_one_go(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        await daemon.start(one)
        first = await daemon.turn()
        session = first.request.session_id
        dropped = await daemon.prompt("first", session_id=session, if_busy="queue")
        await daemon.prompt("second", session_id=session, if_busy="queue")
        paused = await daemon.prompt("third", session_id=session, if_busy="queue")
        await daemon.prompt("fourth", session_id=session, if_busy="queue")
        await daemon.service.pause(paused["run_id"])
        await daemon.service.cancel(dropped["run_id"])
        first.complete()
        for text in ("second", "fourth"):
            turn = await daemon.turn()
            assert turn.prompt == text
            turn.end(done())
        await daemon.service.resume(paused["run_id"])
        assert (await daemon.turn()).prompt == "third"


async def test_a_prompt_in_the_queue_takes_no_place_from_those_who_can_work(
    machine: Machine, one: str
) -> None:
    machine.max_agents = 1
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        first = await daemon.turn()
        await daemon.service.pause(run_id)
        await daemon.prompt("later", session_id=first.request.session_id, if_busy="queue")
        first.end(done(text="no JSON"))  # a retry is due once it is resumed
        await daemon.status(run_id, "paused")
        await wait_all_tasks_blocked()
        await daemon.service.resume(run_id)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        assert (await daemon.turn()).prompt == "later"


async def test_a_prompt_is_steered_into_the_running_turn(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        session = turn.request.session_id
        went = await daemon.prompt("Mind the tests.", session_id=session, if_busy="steer")
        assert went == {
            "session_id": session,
            "turn_id": turn.request.turn_id,
            "run_id": run_id,
        }
        assert list(turn.steers.values()) == ["Mind the tests."]


async def waiting_run(daemon: Daemon, gated: str) -> tuple[str, str]:
    """A run that waits at its gate, and its session."""
    run_id = await daemon.start(gated)
    await daemon.question(run_id)
    return run_id, daemon.actor(run_id).state.session_id


async def test_an_aside_goes_through_a_waiting_run_which_goes_on_only_after_it(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await waiting_run(daemon, gated)
        aside = await daemon.prompt("By the way", session_id=session)
        turn = await daemon.turn()
        assert (turn.prompt, turn.request.session_id) == ("By the way", session)
        assert [n["run_id"] for n in await daemon.events(run_id, "aside.noted")] == [
            aside["run_id"]
        ]
        await daemon.answer(run_id, "yes")
        await wait_all_tasks_blocked()
        assert len(machine.agent.turns) == 1
        turn.end(done())
        second = await daemon.turn()
        assert second.request.run_id == run_id
        second.complete()
        await daemon.ended(run_id)


async def test_one_aside_at_a_time(machine: Machine, gated: str) -> None:
    async with running(machine) as daemon:
        run_id, session = await waiting_run(daemon, gated)
        await daemon.prompt("By the way", session_id=session)
        turn = await daemon.turn()
        with pytest.raises(Busy) as raised:
            await daemon.prompt("And another", session_id=session)
        assert raised.value.data["holder"]["id"] == run_id
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        await daemon.prompt("And another", session_id=session)
        assert (await daemon.turn()).prompt == "And another"


async def test_an_aside_keeps_the_session_when_the_run_it_borrowed_from_is_cancelled(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await waiting_run(daemon, gated)
        aside = await daemon.prompt("By the way", session_id=session)
        turn = await daemon.turn()
        await daemon.service.cancel(run_id)
        with pytest.raises(Busy) as raised:
            await daemon.prompt("Mine now", session_id=session)
        holder = raised.value.data["holder"]
        assert (holder["kind"], holder["id"]) == ("prompt", aside["run_id"])
        turn.end(done())
        await daemon.ended(aside["run_id"])
        await daemon.prompt("Mine now", session_id=session)
        assert (await daemon.turn()).prompt == "Mine now"


async def test_an_interrupt_of_the_session_stops_the_aside_and_not_the_run(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await waiting_run(daemon, gated)
        aside = await daemon.prompt("By the way", session_id=session)
        await daemon.turn()
        await daemon.service.interrupt_session(session)
        assert (await daemon.ended(aside["run_id"]))["exit"]["reason"] == "user-requested"
        assert (await daemon.service.get_run(run_id))["status"] == "waiting"
        await daemon.service.interrupt_session("00000000-0000-0000-0000-000000000000")


async def test_a_take_over_pauses_the_run_and_goes_through_its_session(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        session = turn.request.session_id
        await daemon.prompt("Let me", session_id=session, take_over=True)
        assert turn.gone.is_set()
        mine = await daemon.turn()
        assert (mine.prompt, mine.request.session_id) == ("Let me", session)
        assert (await daemon.service.get_run(run_id))["status"] == "paused"
        mine.end(done())
        await daemon.ended(mine.request.run_id)
        await daemon.service.resume(run_id)
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"


async def test_a_take_over_of_a_prompt_ends_it(machine: Machine) -> None:
    async with running(machine) as daemon:
        went = await daemon.prompt("first")
        await daemon.turn()
        await daemon.prompt("second", session_id=went["session_id"], take_over=True)
        assert (await daemon.turn()).prompt == "second"
        assert (await daemon.ended(went["run_id"]))["exit"]["reason"] == "user-requested"


async def test_a_take_over_of_a_run_between_turns_pauses_it(machine: Machine, one: str) -> None:
    machine.max_agents = 1
    async with running(machine) as daemon:
        await daemon.prompt("busy")
        busy = await daemon.turn()
        run_id = await daemon.start(one)  # queued, and holds its session already
        session = daemon.actor(run_id).state.session_id
        await daemon.prompt("Let me", session_id=session, take_over=True)
        busy.end(done())
        assert (await daemon.turn()).prompt == "Let me"
        assert (await daemon.service.get_run(run_id))["status"] == "paused"


async def test_a_fork_goes_into_a_session_of_its_own(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        await daemon.start(one)
        session = (await daemon.turn()).request.session_id
        machine.agent.transcripts[session] = machine.state / "transcript.jsonl"
        went = await daemon.prompt("What if", session_id=session, fork=True)
        assert went["session_id"] != session
        request = (await daemon.turn()).request
        assert (request.session_mode, request.fork_from) == ("fork", session)


async def test_locks_name_every_session_and_tree_that_is_held(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        session = (await daemon.turn()).request.session_id
        went = await daemon.prompt()
        await daemon.turn()
        held = {
            row.get("session_id") or row["working_directory"]: row["holder"]
            for row in await daemon.service.locks()
        }
        assert {name: (one["kind"], one["id"]) for name, one in held.items()} == {
            session: ("run", run_id),
            str(machine.project): ("run", run_id),
            went["session_id"]: ("prompt", went["run_id"]),
        }


async def test_a_session_that_nobody_knows_and_an_agent_that_is_not_there_are_refused(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        with pytest.raises(NotFound) as missing:
            await daemon.prompt(session_id="unheard-of")
        assert missing.value.data == {"kind": "session", "id": "unheard-of"}
        with pytest.raises(NotFound, match="no recipe"):
            await daemon.start("unheard-of")
        with pytest.raises(AgentUnavailable, match="no such agent"):
            await daemon.prompt(agent="unheard-of")
        machine.agent.problem = "it is not installed."
        with pytest.raises(AgentUnavailable, match="not installed"):
            await daemon.start(one)
        with pytest.raises(InvalidParameter, match="not an absolute path"):
            await daemon.prompt(working_directory="here")
        with pytest.raises(InvalidParameter, match="is not a directory"):
            await daemon.prompt(working_directory="/no/such/place")
        with pytest.raises(InvalidParameter, match="needs a working directory"):
            await daemon.prompt(working_directory=None)
        with pytest.raises(InvalidParameter, match="no session to fork"):
            await daemon.prompt(fork=True)
        assert await daemon.service.locks() == []


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
        assert raised.value.data["holder"]["kind"] == "foreign"
        assert raised.value.data["holder"]["pid"] == os.getpid()
        assert [row["holder"]["pid"] for row in await daemon.service.locks()] == [os.getpid()]

        async def take_over() -> None:
            await daemon.prompt("Let me", session_id=session, take_over=True)

        nursery.start_soon(take_over)
        await wait_all_tasks_blocked()
        open_elsewhere(machine, session, "idle")
        mine = await daemon.turn()
        assert mine.prompt == "Let me"
        mine.end(done())


async def test_a_terminal_that_opened_the_session_of_a_waiting_run_ends_it(
    machine: Machine, gated: str
) -> None:
    machine.config_directory = machine.state.parent / "claude"
    async with running(machine) as daemon:
        run_id, session = await waiting_run(daemon, gated)
        open_elsewhere(machine, session, "idle")
        await daemon.answer(run_id, "yes")
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "session-locked"
        assert f"pid {os.getpid()}" in run["exit"]["detail"]


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
    transcript(machine, "s-1", "Hello")
    async with running(machine) as daemon:
        await daemon.prompt("And now", session_id="s-1")
        request = (await daemon.turn()).request
        assert (request.session_id, request.session_mode) == ("s-1", "resume")
        assert request.working_directory == str(machine.project)
        machine.agent.transcripts["s-2"] = machine.state / "gone.jsonl"
        with pytest.raises(NotFound):
            await daemon.prompt("And now", session_id="s-2")


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
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"


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
fine = { exit = "task-committed" }
"""
