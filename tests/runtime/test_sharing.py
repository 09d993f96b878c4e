"""Who may use a session or a working tree while somebody else has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.runtime.bus import Wish
from podiumd.runtime.errors import AgentUnavailable, Busy, InvalidParameter, NotFound
from tests.plain import plain
from tests.runtime.fake_agent import FakeTurn, done
from tests.runtime.harness import Daemon, Machine, running
from tests.tools.git_repository import commit, make_repository, run_git


async def test_two_recipes_never_work_in_one_checkout(machine: Machine, one: str) -> None:
    repository = make_repository(machine.project / "repo")
    (repository / "below").mkdir()
    async with running(machine) as daemon:
        first = await daemon.start(one, working_directory=str(repository))
        with pytest.raises(Busy) as raised:
            await daemon.start(one, working_directory=str(repository / "below"))
        assert plain(raised.value.data)["working_directory"] == str(repository)
        holder = plain(raised.value.data)["holder"]
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
        name = f"one-{second[:8]}"
        directory = str(machine.state / "worktrees" / name)
        assert own.request.working_directory == directory
        assert run_git(Path(directory), "branch", "--show-current") == f"podium/{name}"
        own.complete()
        run = await daemon.ended(second)
        assert run["worktree"]["branch"] == f"podium/{name}"
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
        assert plain(raised.value.data)["session_id"] == session
        assert plain(raised.value.data)["holder"]["id"] == run_id
        other = machine.directory("other")
        with pytest.raises(Busy):
            await daemon.start(one, working_directory=other, session_id=session)
        await daemon.start(one, working_directory=other)  # what the refused start held is free


async def end_told(daemon: Daemon, turn: FakeTurn) -> None:
    """Complete a turn that ends its run, and return in the moment in which the end is told."""
    end = Wish(turn.request.run_id, frozenset({"run.ended"}))
    with daemon.bus.follow(end) as follower:
        turn.complete()
        await follower.wait()


async def test_who_is_told_the_end_of_a_run_can_have_its_session_at_once(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        went = await daemon.prompt()
        first = await daemon.turn()
        await end_told(daemon, first)
        await daemon.prompt("And now?", session_id=went["session_id"])
        second = await daemon.turn()
        assert (second.prompt, second.request.session_id) == ("And now?", went["session_id"])
        await end_told(daemon, second)
        await daemon.start(one, session_id=went["session_id"])
        assert (await daemon.turn()).request.session_id == went["session_id"]


async def test_who_is_told_the_end_of_a_recipe_can_have_its_checkout_at_once(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        for _ in range(3):
            await daemon.start(one)
            await end_told(daemon, await daemon.turn())


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
        assert [run.status for run in runs] == ["queued"] * 5
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
            "delivery": "steered",
        }
        assert list(turn.steers.values()) == ["Mind the tests."]


async def test_an_aside_goes_through_a_waiting_run_which_goes_on_only_after_it(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await daemon.waiting(gated)
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
        run_id, session = await daemon.waiting(gated)
        await daemon.prompt("By the way", session_id=session)
        turn = await daemon.turn()
        with pytest.raises(Busy) as raised:
            await daemon.prompt("And another", session_id=session)
        assert plain(raised.value.data)["holder"]["id"] == run_id
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        await daemon.prompt("And another", session_id=session)
        assert (await daemon.turn()).prompt == "And another"


async def test_an_aside_keeps_the_session_when_the_run_it_borrowed_from_is_cancelled(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await daemon.waiting(gated)
        aside = await daemon.prompt("By the way", session_id=session)
        turn = await daemon.turn()
        await daemon.service.cancel(run_id)
        with pytest.raises(Busy) as raised:
            await daemon.prompt("Mine now", session_id=session)
        holder = plain(raised.value.data)["holder"]
        assert (holder["kind"], holder["id"]) == ("prompt", aside["run_id"])
        turn.end(done())
        await daemon.ended(aside["run_id"])
        await daemon.prompt("Mine now", session_id=session)
        assert (await daemon.turn()).prompt == "Mine now"


async def test_an_interrupt_of_the_session_stops_the_aside_and_not_the_run(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await daemon.waiting(gated)
        aside = await daemon.prompt("By the way", session_id=session)
        await daemon.turn()
        await daemon.service.interrupt_session(session)
        assert (await daemon.ended(aside["run_id"]))["exit"]["reason"] == "user-requested"
        assert (await daemon.service.get_run(run_id)).status == "waiting"
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
        assert (await daemon.service.get_run(run_id)).status == "paused"
        mine.end(done())
        await daemon.ended(mine.request.run_id)
        await daemon.service.resume(run_id)
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


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
        assert (await daemon.service.get_run(run_id)).status == "paused"


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
            row.session_id or row.working_directory: row.holder
            for row in await daemon.service.locks()
        }
        assert {name: (one.kind, one.id) for name, one in held.items()} == {
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
        assert plain(missing.value.data) == {"kind": "session", "id": "unheard-of"}
        with pytest.raises(NotFound, match="no recipe"):
            await daemon.start("unheard-of")
        with pytest.raises(AgentUnavailable, match="no such agent") as unknown:
            await daemon.prompt(agent="unheard-of")
        known = plain(unknown.value.data)["known"]
        assert plain(unknown.value.data)["fix"] == f"There are: {', '.join(known)}."
        with pytest.raises(AgentUnavailable, match=f"The nearest is '{known[0]}'; there are"):
            await daemon.start(one, agent=f"{known[0]}x")
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
