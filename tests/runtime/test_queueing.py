"""The queue has an end: what would be beyond it is refused, and what was taken stays."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from podiumd.core.decide import decision
from podiumd.core.run import commands as c
from podiumd.runtime import service
from podiumd.runtime.errors import Busy, Overloaded
from podiumd.runtime.run import effects, observe
from podiumd.runtime.run.actor import RunActor
from tests.plain import plain
from tests.runtime.fake_agent import FakeTurn, done
from tests.runtime.harness import Daemon, Machine, running


async def held(daemon: Daemon) -> tuple[str, FakeTurn]:
    """A session with a turn that goes on."""
    went = await daemon.prompt("first")
    return went["session_id"], await daemon.turn()


async def queue(daemon: Daemon, text: str, session: str, **fields: Any) -> dict[str, Any]:
    return await daemon.prompt(text, session_id=session, if_busy="queue", **fields)


async def said(daemon: Daemon, first: FakeTurn, turns: int) -> list[str]:
    """The prompts of so many turns that come, one after the other, when the first ends."""
    texts = []
    for _ in range(turns):
        first.end(done())
        first = await daemon.turn()
        texts.append(first.prompt)
    first.end(done())
    return texts


async def test_a_prompt_beyond_the_bound_is_refused_and_those_before_it_are_sent(
    machine: Machine,
) -> None:
    machine.max_queued = 2
    async with running(machine) as daemon:
        session, turn = await held(daemon)
        for text in ("second", "third"):
            assert (await queue(daemon, text, session))["delivery"] == "queued"
        stored = len(await daemon.store.open_runs())

        with pytest.raises(Overloaded, match=r"as may \(2: limits\.max_queued\)") as raised:
            await queue(daemon, "one too many", session)

        assert plain(raised.value.data) == {"retry_after_ms": 10_000}
        assert len(daemon.runs.queue) == 2 and len(await daemon.store.open_runs()) == stored == 3
        assert await said(daemon, turn, 2) == ["second", "third"]
        assert len(daemon.runs.queue) == 0


async def test_the_status_tells_prompts_in_line_from_those_at_work_and_each_ones_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        session, turn = await held(daemon)
        second = await queue(daemon, "second", session)

        status = await daemon.service.status()

        assert (status.prompts_active, status.prompts_waiting) == (2, 1)
        assert [(one.name, one.status) for one in status.prompts] == [
            ("first", "running"),
            ("second", "queued"),
        ]
        assert status.prompts[1].run_id == second["run_id"]
        assert {one.session_id for one in status.prompts} == {session}
        monkeypatch.setattr(service, "MOST_LISTED", 1)
        status = await daemon.service.status()
        assert [one.name for one in status.prompts] == ["first"] and status.prompts_active == 2
        assert await said(daemon, turn, 1) == ["second"]


async def test_a_place_that_falls_free_is_taken_by_the_next_who_asks(machine: Machine) -> None:
    """With the same client token too: a refusal has used nothing up."""
    machine.max_queued = 1
    async with running(machine) as daemon:
        session, turn = await held(daemon)
        await queue(daemon, "second", session)
        with pytest.raises(Overloaded):
            await queue(daemon, "third", session, client_token="t")
        turn.end(done())
        turn = await daemon.turn()
        await queue(daemon, "third", session, client_token="t")
        assert await said(daemon, turn, 1) == ["third"]


async def test_who_can_begin_at_once_is_taken_however_many_wait(machine: Machine) -> None:
    machine.max_queued = 1
    one = machine.one_step()
    async with running(machine) as daemon:
        session, _ = await held(daemon)
        await queue(daemon, "second", session)
        await daemon.prompt("elsewhere")
        assert (await daemon.turn()).prompt == "elsewhere"
        _, turn = await daemon.begun(one)
        assert turn.prompt.startswith("Do the work.")
        with pytest.raises(Busy):
            await daemon.prompt("third", session_id=session)


async def test_who_is_about_to_begin_is_counted_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.max_agents, machine.max_queued = 3, 1
    looking, go_on, look = trio.Event(), trio.Event(), observe.preconditions

    async def slow(actor: RunActor) -> c.Proceed | None:
        looking.set()
        await go_on.wait()
        return await look(actor)

    async with running(machine) as daemon:
        session, _ = await held(daemon)
        await queue(daemon, "second", session)
        monkeypatch.setattr(effects, "preconditions", slow)
        await daemon.prompt("has its place among the agents")
        await looking.wait()
        await daemon.prompt("has the last one")
        with pytest.raises(Overloaded):
            await daemon.prompt("has none")
        go_on.set()
        assert {(await daemon.turn()).prompt for _ in range(2)} == {
            "has its place among the agents",
            "has the last one",
        }


async def test_starts_for_which_there_is_no_agent_have_the_same_bound(machine: Machine) -> None:
    """Of one that is refused nothing is held: it can start in its tree and session later."""
    machine.max_agents, machine.max_queued = 1, 2
    one, other = machine.one_step(), machine.directory("other")
    async with running(machine) as daemon:
        session, turn = await held(daemon)
        await queue(daemon, "second", session)
        waiting = await daemon.start(one)
        with pytest.raises(Overloaded, match=r"wait as may \(2: "):
            await daemon.start(one, working_directory=other)
        with pytest.raises(Overloaded):
            await daemon.prompt("into a session of its own")

        await daemon.service.cancel(waiting)
        late = await daemon.start(one, working_directory=other)
        assert (await daemon.service.get_run(late)).status == "queued"
        assert {lock.holder.id for lock in await daemon.service.locks()} == {
            turn.request.run_id,
            late,
        }


async def test_of_those_that_come_at_once_as_many_are_taken_as_there_is_room_for(
    machine: Machine,
) -> None:
    machine.max_agents, machine.max_queued = 2, 3
    taken: list[str] = []
    refused: list[str] = []

    async def ask(daemon: Daemon, text: str) -> None:
        try:
            await daemon.prompt(text)
        except Overloaded:
            refused.append(text)
        else:
            taken.append(text)

    async with running(machine) as daemon:
        async with trio.open_nursery() as nursery:
            for number in range(12):
                nursery.start_soon(ask, daemon, f"{number}")
        assert len(taken) == 5 and len(refused) == 7
        sent = []
        for _ in taken:
            turn = await daemon.turn()
            sent.append(turn.prompt)
            turn.end(done())
        assert sorted(sent) == sorted(taken)


async def test_what_was_taken_is_taken_up_again_by_a_daemon_that_takes_less(
    machine: Machine,
) -> None:
    machine.max_queued = 3
    async with running(machine) as daemon:
        session, turn = await held(daemon)
        for text in ("second", "third", "fourth"):
            await queue(daemon, text, session)
    machine.max_queued = 1
    async with running(machine) as daemon:
        await turn.taken_up()
        assert len(daemon.runs.queue) == 3
        with pytest.raises(Overloaded):
            await queue(daemon, "fifth", session)
        await daemon.prompt("elsewhere")
        (await daemon.turn()).end(done())
        assert await said(daemon, turn, 3) == ["second", "third", "fourth"]


async def test_a_prompt_that_is_paused_in_the_queue_has_its_place_in_it(machine: Machine) -> None:
    machine.max_queued = 1
    async with running(machine) as daemon:
        session, turn = await held(daemon)
        paused = await queue(daemon, "second", session)
        await daemon.service.pause(paused["run_id"])
        with pytest.raises(Overloaded):
            await queue(daemon, "third", session)
        await daemon.service.cancel(paused["run_id"])
        await queue(daemon, "third", session)
        assert await said(daemon, turn, 1) == ["third"]


async def test_words_for_a_run_have_a_bound_too_and_there_is_room_when_it_has_read_some(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision, "MOST_WAITING", 1)
    gated = machine.one_step(step='gate = "Go on?"')
    async with running(machine) as daemon:
        run_id, _ = await daemon.waiting(gated)
        assert plain(await daemon.service.steer(run_id, "Mind the tests.")) == {"state": "too_late"}
        with pytest.raises(Overloaded, match="this one was not taken") as raised:
            await daemon.service.steer(run_id, "And the docs.")
        assert plain(raised.value.data) == {"retry_after_ms": 10_000}
        await daemon.answer(run_id, "yes")
        turn = await daemon.turn()
        assert "Mind the tests." in turn.prompt and "And the docs." not in turn.prompt
        assert (await daemon.service.steer(run_id, "And the docs.")).state == "queued"


@pytest.mark.parametrize("waits", [False, True])
async def test_nothing_is_stopped_or_noted_for_a_prompt_that_is_not_taken(
    machine: Machine, waits: bool
) -> None:
    """A take-over, and an aside to a run that waits for a person, while all agents are busy."""
    machine.max_agents, machine.max_queued = 1, 1
    recipe = machine.one_step(step='gate = "Go on?"' if waits else "")
    async with running(machine) as daemon:
        if waits:
            run_id, session = await daemon.waiting(recipe)
            await held(daemon)
        else:
            run_id, turn = await daemon.begun(recipe)
            session = turn.request.session_id
        await daemon.prompt("in the queue")
        before = await daemon.types(run_id)
        with pytest.raises(Overloaded):
            await daemon.prompt("Move over", session_id=session, take_over=not waits)
        state = daemon.actor(run_id).state
        assert state.status == ("waiting" if waits else "running")
        assert await daemon.types(run_id) == before
