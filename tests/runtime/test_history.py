"""What a run did, a page of its visits at a time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from podiumd.core.reply.report import TurnReport
from podiumd.core.run import facts as f
from podiumd.core.run.history import HistoryPlace
from podiumd.runtime.errors import NotFound
from podiumd.runtime.events import history
from podiumd.runtime.run_rows import row_of
from podiumd.store.records import NewFact
from tests.plain import plain
from tests.runtime.harness import Daemon, Machine, running

PAGE = 4096


async def walked(daemon: Daemon, run_id: str) -> list[Any]:
    """All pages of a run's history."""
    pages: list[Any] = []
    after, complete = None, False
    while not complete:
        page = await daemon.service.run_history(run_id, after)
        assert page.complete or after is None or page.next.seq > after.seq
        pages.append(plain(page))
        after, complete = page.next, page.complete
    return pages


async def store_visits(daemon: Daemon, run_id: str, count: int) -> None:
    """Make so many more visits of a run that go by without a turn."""
    state = daemon.actor(run_id).state
    facts: list[f.AnyFact] = []
    for number in range(2, count + 2):
        told: dict[str, Any] = {"step": "work", "visit": number - 1, "outcome": "again"}
        facts += [
            f.EdgeTaken(**told, source="text", attempts=1, to="work"),
            f.StepEntered(step="work", visit=number, step_count=number, session_id="s"),
        ]
    new = [
        NewFact(f.type_of(fact), 1, state.started_at, state.session_id, f.encode(fact))
        for fact in facts
    ]
    for at in range(0, len(new), 300):
        await daemon.store.append(row_of(state), new[at : at + 300])


async def test_a_run_is_told_from_its_beginning_to_its_end(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        at_work = await daemon.service.run_history(run_id[:13], None)
        turn.complete()
        ended = await daemon.ended(run_id)
        over = await daemon.service.run_history(run_id, None)

    (visit,) = at_work.visits
    assert (visit.outcome, visit.ended_at, at_work.next.seq, at_work.complete) == (
        *(None, None),
        *(0, True),
    )
    assert plain(over.started)["label"] == "One step"
    (visit,) = over.visits
    assert (visit.outcome, visit.exit) == ("complete", ended["exit"]["reason"])
    assert over.until == ended["ended_at"]
    assert [turn.end for turn in visit.turns] == ["done"]


async def test_pages_of_a_long_run_are_bounded_and_tell_it_whole(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        await daemon.turn()
        await store_visits(daemon, run_id, 600)
        (whole,) = await walked(daemon, run_id)
        monkeypatch.setattr(history, "PAGE_BYTES", PAGE)
        pages = await walked(daemon, run_id)

    assert [visit for page in pages for visit in page["visits"]] == whole["visits"]
    assert [visit["number"] for visit in whole["visits"]] == list(range(1, 602))
    assert len(pages) > 20
    assert max(len(msgspec.json.encode(page)) for page in pages[1:]) < 8 * PAGE
    assert [page["started"] is None for page in pages] == [False, *[True] * (len(pages) - 1)]


async def store_turns(daemon: Daemon, run_id: str, count: int) -> None:
    """Make so many more turns within the visit that the run is in."""
    state = daemon.actor(run_id).state
    assert state.turn is not None
    facts: list[f.AnyFact] = []
    for number in range(count):
        name = f"turn-{number}"
        report = TurnReport(kind="done")
        facts += [
            replace(state.turn.intent, turn_id=name),
            f.TurnEnded(turn_id=name, report=report, text="words " * 20, seconds=1.0, cost_usd=0.0),
        ]
    new = [
        NewFact(f.type_of(fact), 1, state.started_at, state.session_id, f.encode(fact))
        for fact in facts
    ]
    await daemon.store.append(row_of(state), new)


async def test_one_visit_of_many_turns_comes_in_bounded_pages(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a conversation is, and also as long as it goes on: the last page is read once more."""
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        await daemon.turn()
        await store_turns(daemon, run_id, 200)
        (whole,) = await walked(daemon, run_id)
        monkeypatch.setattr(history, "PAGE_BYTES", PAGE)
        pages = await walked(daemon, run_id)
        again = await daemon.service.run_history(run_id, history_place(pages[-1]["next"]))

    parts = [visit for page in pages for visit in page["visits"]]
    (visit,) = whole["visits"]
    assert len(pages) > 20 and {part["number"] for part in parts} == {1}
    assert max(len(msgspec.json.encode(page)) for page in pages) < 4 * PAGE
    assert [turn for part in parts for turn in part["turns"]] == visit["turns"]
    assert sum(part["work_seconds"] for part in parts) == visit["work_seconds"] == 200.0
    assert plain(again.visits) == pages[-1]["visits"]


def history_place(place: Any) -> HistoryPlace:
    """A place as a client gives it back."""
    return msgspec.convert(place, HistoryPlace)


async def test_what_cannot_be_read_is_left_out(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
    with closing(sqlite3.connect(machine.state / "facts.db", isolation_level=None)) as connection:
        connection.execute("UPDATE facts SET data = CAST('x' AS BLOB) WHERE seq IN (1, 5)")
    async with running(machine) as daemon:
        found = await daemon.service.run_history(run_id, None)

    assert found.started is None
    assert [(visit.outcome, visit.turns[0].end) for visit in found.visits] == [("complete", None)]


async def test_there_is_no_history_of_an_unknown_run(machine: Machine) -> None:
    async with running(machine) as daemon:
        with pytest.raises(NotFound):
            await daemon.service.run_history("no-such-run", None)
