"""Where a conversation stands is told to whoever follows: first thing, and after each change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from podiumd.runtime.bus import QUEUE_EVENTS
from podiumd.runtime.events import feeds
from podiumd.runtime.run import snapshots
from podiumd.wire.event import Event
from tests.plain import told
from tests.runtime.conversations import begun, designing, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Json, Machine, running


async def next_of(feed: AsyncIterator[Event], kind: str) -> Event:
    """The next event of a kind."""
    async for event in feed:
        if event.type == kind:
            return event
    raise AssertionError(f"the feed ended before a {kind}")


async def until(feed: AsyncIterator[Event], wanted: Callable[[Json], bool]) -> Json:
    """The next snapshot whose data is like that."""
    while True:
        data: Json = told(await next_of(feed, "snapshot"))["data"]
        if wanted(data):
            return data


async def test_a_follower_of_a_run_hears_where_it_stands_before_anything_else(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine))
        async with daemon.service.follow_run(held.run_id, 0) as feed:
            first = told(await anext(feed))
            assert sorted(first) == ["at", "data", "run_id", "session_id", "type"]
            assert (first["type"], first["run_id"]) == ("snapshot", held.run_id)
            data = first["data"]
            assert (data["phase"], data["question"]) == ("design", None)
            assert data["ctx"] == {"goal": "A shop", "parts": []}
            assert data["run"]["status"] == "waiting"
            assert (await anext(feed)).seq == 1


async def test_each_change_that_a_client_shows_is_told(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        async with daemon.service.follow_run(held.run_id, 0) as feed:
            turn = await held.answers("A shop")
            await turn.calls("save", key="goal", value="A shop")
            await turn.calls("ask", question="Big?", options=["yes", "no"])
            turn.end(done())
            asked = await until(feed, lambda data: data["question"] is not None)
            assert (asked["question"]["text"], asked["ctx"]["goal"]) == ("Big?", "A shop")
            await daemon.answer(held.run_id, "yes")
            turn = await held.turn()
            assert (await until(feed, lambda data: data["question"] is None))["phase"] == "goal"
            await turn.calls("transition", to="agreed", summary="s")
            turn.end(done())
            assert (await until(feed, lambda data: data["phase"] == "design"))["run"][
                "step"
            ] == "design"


async def test_of_all_runs_only_conversations_are_told_to_who_wants_to_hear(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        await daemon.begun(one, working_directory=machine.directory("other"))
        held = await begun(daemon, talk(machine))
        async with daemon.service.subscribe(None, None) as feed:
            assert (await anext(feed)).run_id == held.run_id
            await held.says("A shop")
            assert (await anext(feed)).type == "message.received"
        async with daemon.service.subscribe(frozenset({"snapshot"}), None) as feed:
            assert (await anext(feed)).run_id == held.run_id
            (await held.turn()).end(done())
            assert (await anext(feed)).type == "snapshot"
        async with daemon.service.subscribe(frozenset({"run.ended"}), None) as feed:
            await daemon.service.cancel(held.run_id)
            assert (await anext(feed)).type == "run.ended"


async def test_a_follower_that_lagged_hears_again_where_it_stands(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        async with daemon.service.follow_run(held.run_id, 0) as feed:
            await next_of(feed, "message.received")
            for _ in range(QUEUE_EVENTS + 1):
                turn.says_text("word ")
            turn.end(done())
            await held.waits()
            data = await until(feed, lambda data: data["run"]["status"] == "waiting")
            assert data["phase"] == "goal"


async def test_what_changes_while_a_follower_is_read_to_from_the_store_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        async with daemon.service.follow_run(held.run_id, 0) as feed:
            assert (await anext(feed)).type == "snapshot"
            page = feeds.run_page

            async def changed_meanwhile(*args: Any) -> Any:
                monkeypatch.setattr(feeds, "run_page", page)
                found = await page(*args)
                turn.end(done())
                await held.waits()
                return found

            monkeypatch.setattr(feeds, "run_page", changed_meanwhile)
            await until(feed, lambda data: data["run"]["status"] == "waiting")


async def test_a_new_follower_is_told_of_so_many_conversations_and_no_more(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST_AT_ONCE", 2)
    async with running(machine) as daemon:
        held = [
            await begun(daemon, talk(machine), working_directory=machine.directory(name))
            for name in ("a", "b", "c")
        ]
        async with daemon.service.subscribe(None, None) as feed:
            found = [(await anext(feed)).run_id for _ in range(2)]
            assert found == [one.run_id for one in held[1:]]
            await held[0].says("A shop")
            assert (await anext(feed)).type == "message.received"


async def test_a_conversation_is_told_to_a_follower_after_a_restart(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine))
    async with running(machine) as daemon, daemon.service.subscribe(None, None) as feed:
        first = told(await anext(feed))
        assert (first["run_id"], first["data"]["phase"]) == (held.run_id, "design")
