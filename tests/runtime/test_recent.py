"""What turns have told is told to who comes later: in its place, once, and not without bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from podiumd.drivers.base import Output
from podiumd.runtime import recent_output as module
from podiumd.runtime.bus import QUEUE_EVENTS
from podiumd.runtime.recent_output import (
    MOST_CHARACTERS,
    MOST_PIECES,
    MOST_RUNS,
    Piece,
    Recent,
)
from podiumd.wire.event import OUTPUT, Event
from podiumd.wire.events import TurnOutput
from tests.plain import some
from tests.runtime.harness import Daemon, Machine, running


def output(delta: str, turn: str = "t") -> Event:
    said = some(TurnOutput, turn_id=turn, delta=delta)
    return Event(said, at="", run_id="r", session_id=None)


def keep(recent: Recent, run_id: str, event: Event, *, again: bool = False) -> Piece:
    assert isinstance(event.fact, TurnOutput)
    return recent.keep(run_id, event, event.fact, again=again)


def deltas(
    recent: Recent, run_id: str = "r", told: int = 0, before: int | None = None
) -> list[str]:
    return [piece.output.delta for piece in recent.pieces(run_id, told, before)]


def test_outputs_stand_between_the_facts_they_came_between() -> None:
    recent = Recent()
    recent.stored("r", 1, last=False)
    keep(recent, "r", output("a"))
    recent.stored("r", 2, last=False)
    told = keep(recent, "r", output("b")).number

    assert (deltas(recent, before=1), deltas(recent, before=2)) == ([], ["a"])
    assert (deltas(recent), deltas(recent, told=told)) == (["a", "b"], [])


def test_what_was_told_before_a_fact_is_found_by_it() -> None:
    recent = Recent()
    assert recent.before("r", 9) == 0
    keep(recent, "r", output("taken up"))
    assert recent.before("r", 9) == 0, "it may stand behind all facts"
    recent.stored("r", 3, last=False)
    keep(recent, "r", output("later"))

    assert [recent.before("r", seq) for seq in (2, 3, 4)] == [0, 1, 2]


def test_what_came_before_the_first_fact_that_this_daemon_stored_stands_before_it() -> None:
    recent = Recent()
    keep(recent, "r", output("taken up"))

    assert (deltas(recent, before=9), deltas(recent)) == ([], ["taken up"])
    recent.stored("r", 7, last=False)
    assert (deltas(recent, before=6), deltas(recent, before=7)) == ([], ["taken up"])


@pytest.mark.parametrize(("delta", "kept"), [("x", MOST_PIECES), ("x" * (MOST_CHARACTERS // 2), 2)])
def test_the_last_of_a_long_turn_is_kept(delta: str, kept: int) -> None:
    recent = Recent()
    for _ in range(MOST_PIECES + 9):
        keep(recent, "r", output(delta))

    assert len(deltas(recent)) == kept


def test_of_an_earlier_turn_all_is_kept_or_nothing() -> None:
    recent = Recent()
    for turn in ("first", "second"):
        for _ in range(MOST_PIECES // 2):
            keep(recent, "r", output(turn, turn))
    assert set(deltas(recent)) == {"first", "second"}

    keep(recent, "r", output("third", "third"))

    assert set(deltas(recent)) == {"second", "third"}


def test_the_runs_that_told_something_last_are_kept_also_when_they_are_over() -> None:
    recent = Recent()
    for run in range(MOST_RUNS + 1):
        recent.stored(f"run-{run}", 1, last=False)
        keep(recent, f"run-{run}", output("said"))
        recent.stored(f"run-{run}", 2, last=True)

    assert [deltas(recent, f"run-{run}") for run in (0, 1, MOST_RUNS)] == [[], ["said"], ["said"]]


def test_a_look_for_what_is_due_costs_no_more_than_what_it_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def number(piece: Piece) -> int:
        looked.append(piece.number)
        return piece.number

    monkeypatch.setattr(module, "_number", number)
    recent = Recent()
    recent.stored("r", 1, last=False)
    for _ in range(MOST_PIECES):
        keep(recent, "r", output("x"))

    for piece in range(1, MOST_PIECES + 1):
        assert recent.pieces("r", piece - 1, None, below=piece) == []
        assert recent.pieces("r", piece - 1, 1) == []

    assert len(looked) <= MOST_PIECES * 3 * MOST_PIECES.bit_length()


async def test_a_follower_far_behind_is_handed_each_output_once(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Piece] = []
    find = Recent.pieces

    def counted(self: Recent, *arguments: Any, **more: Any) -> list[Piece]:
        found = find(self, *arguments, **more)
        handed.extend(found)
        return found

    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        async with daemon.service.follow_run(run_id, 0) as slow:
            feed = aiter(slow)
            for _ in range(4):
                await anext(feed)
            monkeypatch.setattr(Recent, "pieces", counted)
            for number in range(QUEUE_EVENTS - 24):
                turn.says_text(f"{number}")
            turn.complete()
            await daemon.ended(run_id)
            events = [event async for event in feed]

    assert sum(event.type == OUTPUT for event in events) == QUEUE_EVENTS - 24
    assert len(handed) <= QUEUE_EVENTS


def told(events: Sequence[Event]) -> list[str]:
    """The events: the types of facts, the words of outputs."""
    return [
        event.fact.delta if isinstance(event.fact, TurnOutput) else event.type for event in events
    ]


async def whole(daemon: Daemon, run_id: str, after: int = 0) -> list[str]:
    """All that a follower of a run is told after one of its facts."""
    events, next_seq, number = await daemon.service.run_told(run_id, after, 5000)
    async with daemon.service.follow_run(run_id, next_seq, number) as feed:
        return told([*events, *[event async for event in feed]])


WHOLE = [
    "run.started",
    "step.entered",
    "turn.intended",
    "turn.started",
    "Reading.",
    "Edit slug.py",
    "turn.ended",
    "outcome.parsed",
    "edge.taken",
    "run.ended",
]


async def test_who_comes_when_a_quick_run_is_over_is_told_all_that_it_did(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        turn.says_text("Reading.")
        turn.says_text("Edit slug.py")
        turn.complete()
        await daemon.ended(run_id)

        assert await whole(daemon, run_id) == WHOLE


async def test_who_comes_in_the_middle_of_a_turn_is_told_it_at_once_and_the_rest_live(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        async with daemon.service.follow_run(run_id, 0) as witness:
            turn.says_text("Reading.")
            async for event in witness:
                if event.type == OUTPUT:
                    break
        events, next_seq, number = await daemon.service.run_told(run_id, 0, 5000)
        async with daemon.service.follow_run(run_id, next_seq, number) as feed:
            found = [*events, await anext(aiter(feed))]
            assert told(found) == WHOLE[:5]
            turn.says_text("Edit slug.py")
            turn.complete()
            assert told([*found, *[event async for event in feed]]) == WHOLE


async def test_who_goes_on_after_a_fact_is_told_what_was_said_since(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        turn.says_text("Reading.")
        turn.says_text("Edit slug.py")
        turn.complete()
        await daemon.ended(run_id)

        assert await whole(daemon, run_id, after=4) == WHOLE[4:]
        assert await whole(daemon, run_id, after=5) == WHOLE[7:]


async def test_what_a_daemon_before_this_one_may_have_told_is_for_who_asks_for_the_whole_turn(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        service = daemon.service
        async with (
            service.follow_run(run_id, 4) as live,
            service.follow_run(run_id, 4, 0) as all_of_it,
            service.subscribe(frozenset({OUTPUT, "turn.ended"}), None) as general,
        ):
            turn.says(Output(turn.request.prompt_uuid, "text", "Reading.", again=True))
            turn.says_text("Edit slug.py")
            turn.complete()
            await daemon.ended(run_id)

            assert told([await anext(aiter(general)) for _ in "12"]) == WHOLE[5:7]
            assert told([event async for event in live]) == WHOLE[5:]
            assert told([event async for event in all_of_it]) == WHOLE[4:]


async def test_a_follower_that_was_too_slow_is_told_what_it_missed(
    machine: Machine, one: str
) -> None:
    words = [f"{number}" for number in range(QUEUE_EVENTS + 9)]
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        async with daemon.service.follow_run(run_id, 0) as slow:
            feed = aiter(slow)
            found = [await anext(feed) for _ in range(4)]
            for word in words:
                turn.says_text(word)
            turn.complete()
            await daemon.ended(run_id)
            found += [event async for event in feed]

        assert told(found) == [*WHOLE[:4], *words, *WHOLE[6:]]
