"""A request sent twice under one client token is done once."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from podiumd.runtime.errors import InvalidParameter
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Json, Machine, running, virtual


async def test_the_same_start_returns_the_same_run_while_it_goes_and_after_it(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one, client_token="t1")
        assert await daemon.start(one, client_token="t1") == run_id
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
        assert await daemon.start(one, client_token="t1") == run_id
        assert await daemon.start(one, client_token="t2") != run_id
    async with running(machine) as daemon:
        assert await daemon.start(one, client_token="t1") == run_id


async def test_a_token_with_other_parameters_is_refused(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        await daemon.start(one, client_token="t1")
        with pytest.raises(InvalidParameter) as raised:
            await daemon.start(one, client_token="t1", on_question="fail")
        assert plain(raised.value.data) == {"parameter": "client_token"}
        await daemon.prompt(client_token="t1")  # each method has its own


async def test_two_starts_at_the_same_moment_are_one_run(machine: Machine, one: str) -> None:
    """The second does not even find the working tree busy."""
    async with running(machine) as daemon:
        found: list[str] = []

        async def start() -> None:
            found.append(await daemon.start(one, client_token="t1"))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(start)
        assert len(found) == 3
        assert len(set(found)) == 1
        assert len(await daemon.service.list_runs(None, 10)) == 1


async def test_a_refused_start_leaves_its_token_unused(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        first = await daemon.start(one)
        with pytest.raises(Exception, match="is held by"):
            await daemon.start(one, client_token="t1")
        (await daemon.turn()).complete()
        await daemon.ended(first)
        assert await daemon.start(one, client_token="t1") != first


async def test_the_same_prompt_goes_where_it_went_before_and_waits_for_the_same_turn(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        answers: list[Json] = []

        async def ask() -> None:
            answers.append(await daemon.prompt(client_token="t1", wait=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            turn = await daemon.turn()
            nursery.start_soon(ask)
            turn.end(done(text="hi"))
        run_id = answers[0]["run_id"]
        await daemon.forgotten(run_id)
        await ask()
        assert [answer["text"] for answer in answers] == ["hi"] * 3
        assert answers[0] == answers[1] == answers[2]
        went = await daemon.prompt(client_token="t2")
        assert await daemon.prompt(client_token="t2") == went
        assert len(machine.agent.turns) <= 2


async def test_a_token_is_forgotten_after_a_day(
    machine: Machine, one: str, mock_clock: MockClock
) -> None:
    async with virtual(machine) as daemon:
        run_id = await daemon.start(one, client_token="t1")
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        mock_clock.jump(23 * 3600.0)
        assert await daemon.start(one, client_token="t1") == run_id
        mock_clock.jump(2 * 3600.0)
        assert await daemon.start(one, client_token="t1", on_question="fail") != run_id


async def test_words_into_a_running_turn_are_sent_once(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        session = turn.request.session_id

        words = {"text": "Mind the tests.", "session_id": session, "if_busy": "steer"}
        went = await daemon.prompt(**words, client_token="t1")
        assert (went["run_id"], went["delivery"]) == (run_id, "steered")
        assert await daemon.prompt(**words, client_token="t1") == went
        assert list(turn.steers.values()) == ["Mind the tests."]
        assert len(await daemon.events(run_id, "steer.intended")) == 1
        turn.complete()
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
        assert await daemon.prompt(**words, client_token="t1") == went
    async with running(machine) as daemon:
        assert await daemon.prompt(**words, client_token="t1") == went
        assert machine.agent.turns == [turn]


async def test_words_too_late_for_the_turn_are_in_the_next_prompt_once(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        _run_id, turn = await daemon.begun(one)
        turn.takes_steers = False
        session = turn.request.session_id
        for _ in range(2):
            went = await daemon.prompt(
                "Mind the tests.", session_id=session, if_busy="steer", client_token="t1"
            )
            assert went["delivery"] == "next prompt"
        turn.end(done(text="no JSON"))
        assert (await daemon.turn()).prompt.count("Mind the tests.") == 1


async def test_words_whose_sender_did_not_wait_are_not_sent_again(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        daemon.actor(run_id).closing = True  # nothing is handed over yet
        session = turn.request.session_id
        went: list[Json] = []

        async def say() -> None:
            went.append(
                await daemon.prompt(
                    "Mind the tests.", session_id=session, if_busy="steer", client_token="t1"
                )
            )

        async with trio.open_nursery() as nursery:
            nursery.start_soon(say)
            await daemon.until(run_id, lambda state: bool(state.steers))
            nursery.cancel_scope.cancel()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(say)
            daemon.actor(run_id).closing = False
            daemon.actor(run_id).poke()
        assert went[0]["delivery"] == "steered"
        assert list(turn.steers.values()) == ["Mind the tests."]
        assert len(await daemon.events(run_id, "steer.intended")) == 1
