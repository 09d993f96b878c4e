"""Followers: every fact once and in order, however slow they are, and an end."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.core.run import facts as f
from podiumd.rpc.adapter import notification
from podiumd.runtime.bus import QUEUE_EVENTS
from podiumd.runtime.errors import NotFound
from podiumd.runtime.events.feeds import PAGE
from podiumd.runtime.recent_output import MOST_PIECES
from podiumd.runtime.run_rows import row_of
from podiumd.store.records import NewFact, StoredFact
from podiumd.wire import event as events
from podiumd.wire.event import Event
from podiumd.wire.runs import Run
from tests.plain import plain, told
from tests.runtime.fake_agent import FakeTurn, done
from tests.runtime.harness import Daemon, Json, Machine, running


async def read(feed: AsyncIterator[Event], count: int) -> list[Event]:
    """The next events of a feed that are facts."""
    found: list[Event] = []
    async for event in feed:
        if event.seq:
            found.append(event)
        if len(found) == count:
            break
    return found


async def catch_up(
    daemon: Daemon, turn: FakeTurn, feed: AsyncIterator[Event]
) -> tuple[list[Event], Event]:
    """Read what is stored, until the follower hears live words: the facts, and the words."""
    found: list[Event] = []
    words: list[Event] = []

    async def chatter() -> None:
        while True:
            turn.says_text("Hello")
            await daemon.store.last_pos()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(chatter)
        async for event in feed:
            if not event.seq:
                words.append(event)
                break
            found.append(event)
        nursery.cancel_scope.cancel()
    return found, words[0]


async def store_many(daemon: Daemon, run_id: str, count: int) -> None:
    """Make more facts of a run than a follower's queue holds."""
    state = daemon.actor(run_id).state
    data = f.encode(f.AsideNoted(run_id="other", session_id=state.session_id))
    fact = NewFact("aside.noted", 1, state.started_at, state.session_id, data)
    while count > 0:
        await daemon.store.append(row_of(state), [fact] * min(count, 300))
        count -= 300


async def test_a_follower_sees_a_whole_run_and_comes_to_its_end(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        async with daemon.service.follow_run(run_id[:13], 0) as feed:
            events = [event async for event in feed]
        assert [event.type for event in events] == [
            "run.started",
            "step.entered",
            "turn.intended",
            "turn.started",
            "turn.ended",
            "outcome.parsed",
            "edge.taken",
            "run.ended",
        ]
        assert [event.seq for event in events] == list(range(1, 9))
        assert plain(events[-1].run) == plain(await daemon.service.get_run(run_id))
        assert told(events[0])["data"]["label"] == "One step"


async def test_a_follower_that_has_seen_the_end_is_told_that_there_is_no_more(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        async with daemon.service.follow_run(run_id, 8) as feed:
            assert [event async for event in feed] == []
        with pytest.raises(NotFound):
            async with daemon.service.follow_run("no-such-run", 0):
                raise AssertionError


async def test_a_follower_that_lags_behind_misses_and_repeats_nothing(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        async with (
            daemon.service.follow_run(run_id, 0) as of_run,
            daemon.service.subscribe(None, 0) as of_all,
        ):
            slow, general = aiter(of_run), aiter(of_all)
            first, _ = await catch_up(daemon, turn, slow)
            all_first, _ = await catch_up(daemon, turn, general)
            await store_many(daemon, run_id, QUEUE_EVENTS + PAGE)
            turn.complete()
            events = first + await read(slow, QUEUE_EVENTS + PAGE + 4)
            assert [event async for event in slow] == []
            everything = all_first + await read(general, QUEUE_EVENTS + PAGE + 4)
        assert [event.seq for event in events] == list(range(1, QUEUE_EVENTS + PAGE + 9))
        assert events[-1].type == "run.ended"
        assert [event.pos for event in everything] == [event.pos for event in events]


async def test_a_live_follower_hears_words_between_the_facts(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        await daemon.start(one)
        turn = await daemon.turn()
        async with daemon.service.follow_run(turn.request.run_id, 0) as feed:
            facts, event = await catch_up(daemon, turn, aiter(feed))
        assert [fact.seq for fact in facts] == [1, 2, 3, 4]
        assert (event.type, told(event)["data"]["delta"]) == ("turn.output", "Hello")
        assert told(event)["data"]["turn_id"] == turn.request.turn_id
        assert not {"seq", "pos"} & told(event).keys()


async def test_a_follower_from_now_on_has_words_that_were_said_before_it_first_looked(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon, daemon.service.subscribe(None, None) as feed:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        turn.says_text("Hello")
        turn.complete()
        await daemon.ended(run_id)
        types = []
        async for event in feed:
            types.append(event.type)
            if event.type == "run.ended":
                break
    assert types.index("turn.started") < types.index("turn.output") < types.index("turn.ended")
    assert types[0] == "run.started" and types.count("turn.output") == 1


async def test_to_one_that_lags_far_behind_the_oldest_words_are_lost_and_no_fact(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        async with daemon.service.follow_run(run_id, 0) as feed:
            events = aiter(feed)
            await catch_up(daemon, turn, events)
            for _ in range(MOST_PIECES + 9):
                turn.says_text("blah")
            turn.complete()
            await daemon.ended(run_id)
            rest = [event async for event in events]
        said = [told(event)["data"]["delta"] for event in rest if event.type == "turn.output"]
        assert said.count("blah") == MOST_PIECES
        assert [event.type for event in rest if event.seq] == [
            "turn.ended",
            "outcome.parsed",
            "edge.taken",
            "run.ended",
        ]


async def test_a_read_that_was_cut_short_leaves_no_hole(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        async with daemon.service.follow_run(run_id, 0) as feed:
            events = aiter(feed)
            with trio.CancelScope() as scope:
                scope.cancel()
                await anext(events)
            assert [event.seq for event in await read(events, 8)] == list(range(1, 9))


async def test_facts_that_cannot_be_read_are_passed_over(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
    with closing(sqlite3.connect(machine.state / "facts.db", isolation_level=None)) as connection:
        connection.execute("UPDATE facts SET data = CAST('x' AS BLOB) WHERE seq IN (3, 8)")
    async with running(machine) as daemon, daemon.service.follow_run(run_id, 0) as feed:
        assert [event.seq async for event in feed] == [1, 2, 4, 5, 6, 7]


async def test_a_subscriber_chooses_types_and_begins_now_or_where_it_was(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        first = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(first)
        wanted = frozenset({"run.started", "run.ended"})
        async with (
            daemon.service.subscribe(wanted, None) as now,
            daemon.service.subscribe(wanted, 0) as before,
        ):
            assert now.start == await daemon.store.last_pos()
            went = await daemon.prompt()
            (await daemon.turn()).end(done())
            new = await read(aiter(now), 2)
            assert [(e.type, e.run_id) for e in new] == [
                ("run.started", went["run_id"]),
                ("run.ended", went["run_id"]),
            ]
            every = await read(aiter(before), 4)
            assert [e.pos for e in every[2:]] == [e.pos for e in new]


async def test_every_feed_ends_when_the_daemon_stops(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        counts = []

        async def follow() -> None:
            async with daemon.service.follow_run(run_id, 0) as feed:
                counts.append(len([event async for event in feed]))

        async def subscribe() -> None:
            async with daemon.service.subscribe(None, 0) as feed:
                counts.append(len([event async for event in feed]))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            nursery.start_soon(subscribe)
            await daemon.turn()
            await daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
            await trio.testing.wait_all_tasks_blocked()
            daemon.bus.close()
        assert counts == [4, 4]


async def test_pages_of_events_say_where_to_go_on(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        first, after = await daemon.service.run_events(run_id, 0, 5)
        rest, end = await daemon.service.run_events(run_id, after, 5)
        assert ([e.seq for e in first], after) == ([1, 2, 3, 4, 5], 5)
        assert ([e.seq for e in rest], end) == ([6, 7, 8], 8)
        assert await daemon.service.run_events(run_id, end, 5) == ([], 8)
        assert all(event.written for event in first + rest)


async def test_a_run_that_is_asked_for_settled_counts_all_that_was_told_of_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id = (await daemon.prompt("Hello"))["run_id"]
        turn = await daemon.turn()
        await daemon.until(
            run_id, lambda state: state.turn is not None and bool(state.turn.started)
        )
        store, told, counts = daemon.store.append, trio.Event(), trio.Event()

        async def told_before_it_counts(*given: Any, **more: Any) -> list[StoredFact]:
            stored = await store(*given, **more)
            told.set()
            await counts.wait()
            return stored

        monkeypatch.setattr(daemon.store, "append", told_before_it_counts)
        turn.asks("r1")
        await told.wait()
        assert (await daemon.service.get_run(run_id)).status == "running"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_let_count, counts)
            run = await daemon.service.get_run(run_id, settled=True)
        assert run.status == "waiting" and run.questions
        monkeypatch.undo()


async def _let_count(counts: trio.Event) -> None:
    await trio.testing.wait_all_tasks_blocked()
    counts.set()


@pytest.mark.parametrize("many", [1, 20])
async def test_an_event_is_made_and_written_once_whoever_follows(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    made: list[object] = []
    written: list[object] = []
    encode, data_of = events._encode, events.data_of

    def data(fact: f.AnyFact, run: Run | None) -> Json:
        made.append(fact)
        return data_of(fact, run)

    def write(event: object) -> bytes:
        written.append(event)
        return encode(event)

    monkeypatch.setattr(events, "data_of", data)
    monkeypatch.setattr(events, "_encode", write)
    async with running(machine) as daemon, AsyncExitStack() as entered:
        feeds = [
            await entered.enter_async_context(daemon.service.subscribe(None, None))
            for _ in range(many)
        ]
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        turn.says_text("Hello")
        turn.complete()
        await daemon.ended(run_id)
        lines: list[list[bytes]] = [[] for _ in feeds]

        async def follow(feed: AsyncIterator[Event], place: int) -> None:
            async for event in feed:
                method = "run.event" if place % 2 else "event"
                lines[place].append(notification(method, event))
                if event.type == "run.ended":
                    break

        async with trio.open_nursery() as nursery:
            for place, feed in enumerate(feeds):
                nursery.start_soon(follow, aiter(feed), place)
    assert len(made) == 8
    assert len(written) == len(lines[0]) == 9  # with the words
    assert all(each == lines[place % 2] for place, each in enumerate(lines))
