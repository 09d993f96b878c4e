"""What grows with a run's steps or messages, counted: the thousandth costs what the tenth did."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podiumd.core.recipe.model import Limits
from podiumd.core.run import facts as f
from podiumd.runtime.run import heard
from podiumd.runtime.run_rows import row_of
from podiumd.store.facts import Store, open_store
from podiumd.store.records import NewFact, StoredFact
from podiumd.wire.views import snapshot_view
from tests.core.builders import RUN, Play, a_recipe, a_step, leave, to
from tests.core.conversations import Conversation
from tests.long import sampled
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running

FIRST_RELEASE = Path(__file__).with_name("first_release.sql")
"""A database of Podium 0.1, whose rows have the history of their run."""

ENDED, ASKS, TALKS = (
    "64abda2c-4a1f-4cda-a62e-982b69d72a5a",
    "bcaa6cb4-8ac9-4df5-9cfe-328e553f8608",
    "8bbfad6c-bbd1-48ef-8c70-5832903c2789",
)
TALK_SESSION = "ea51cdd3-4d22-45ec-957a-97fc073f67bb"

ROW_BYTES = 2048
"""The most that a live run's row may take: it is written with every decision."""


def rounds(session: Any = "same") -> Play:
    """A run whose two steps hand over to each other."""
    steps = {
        "ping": a_step(on={"again": to("pong")}, session=session),
        "pong": a_step(on={"again": to("ping"), "enough": leave("turn-complete")}, session=session),
    }
    return Play(a_recipe(steps, Limits(max_total_steps=10_000)))


def step(play: Play, number: int) -> int:
    """One step of a run with other findings than any before; how many bytes it stores."""
    before = len(play.facts)
    play.say("again", f"Round {number:04}.", tree=f.TreeMark(head="c0ffee", digest=f"{number:04}"))
    stored = sum(len(data) for data, _ in play.stored[before:])
    return stored + len(row_of(play.state).summary)


@pytest.mark.parametrize("session", sampled(["fresh", "same"]))
def test_a_step_stores_as_much_when_it_is_the_hundredth(session: str) -> None:
    play = rounds(session)
    stored = [step(play, number) for number in range(101)]

    assert abs(stored[100] - stored[10]) < 32  # counters have a digit more
    assert len(row_of(play.state).summary) < ROW_BYTES


def test_what_is_told_of_a_run_in_lists_and_snapshots_does_not_grow() -> None:
    play = rounds()
    sizes = []
    for number in range(101):
        step(play, number)
        sizes.append(len(msgspec.json.encode(snapshot_view(play.state))))

    assert abs(sizes[100] - sizes[10]) < 32


def test_a_fact_copies_no_more_of_a_long_run_than_of_a_short_one() -> None:
    """What a state adds to the one before it: of all that is kept, only what is new."""
    play = rounds("fresh")
    copied = []
    for number in range(129):
        before = play.state
        step(play, number)
        copied.append(
            sum(
                len(part)
                for name in ("standings", "heard", "questions", "sessions")
                for part in getattr(play.state, name)._parts
                if all(part is not one for one in getattr(before, name)._parts)
            )
        )

    assert len(play.state.standings) == len(play.state.sessions) - 1 == 129
    first, last = sum(copied[:64]) / 64, sum(copied[65:]) / 64
    assert last < 1.6 * first  # a logarithm; a length would be three times as much


@asynccontextmanager
async def conversation(place: Path, messages: int) -> AsyncIterator[tuple[Store, Conversation]]:
    """The stored log of a conversation with so many messages, each answered by a turn."""
    talk = Conversation()
    for number in range(messages):
        talk.tell(f"Message {number}", uuid=f"m{number}")
        talk.answers(f"Answer {number}")
    facts = [
        NewFact(f.type_of(fact), f.VERSION, at, talk.state.session_id, data)
        for fact, (data, at) in zip(talk.facts, talk.stored, strict=True)
    ]
    async with open_store(place) as store:
        await store.append(row_of(talk.state), facts)
        yield store, talk


@pytest.mark.parametrize("which", sampled(["the first", "the last"]))
async def test_the_turn_of_a_message_is_found_from_as_few_facts_in_a_long_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    read = []
    for messages in (20, 200):
        place = tmp_path / str(messages)
        place.mkdir()
        number = 0 if which == "the first" else messages - 1
        async with conversation(place, messages) as (store, _talk):
            facts: list[StoredFact] = []
            usual, usual_last = store.events_of, store.last_event

            async def events_of(*given: Any, usual: Any = usual, facts: Any = facts) -> Any:
                page = await usual(*given)
                facts += page
                return page

            async def last_event(*given: Any, usual: Any = usual_last, facts: Any = facts) -> Any:
                found = await usual(*given)
                facts.append(found)
                return found

            async def events(*_given: Any) -> Any:
                raise AssertionError("the run is read whole")

            monkeypatch.setattr(store, "events_of", events_of)
            monkeypatch.setattr(store, "last_event", last_event)
            monkeypatch.setattr(store, "events", events)
            found = await heard.find(store, RUN, f"m{number}")
            assert found is not None and found.over
            turn = await heard.turn_of(store, RUN, found)
            assert turn.text == f"Answer {number}"
            read.append(len(facts))
    assert read[0] == read[1] < 32


async def test_a_message_that_names_another_is_not_taken_for_it(tmp_path: Path) -> None:
    talk = Conversation()
    talk.tell("First", uuid="m1")
    talk.answers("One")
    talk.tell('You said "uuid":"m1", and {"uuid":"m1"}', uuid="m2")
    talk.answers("Two")
    facts = [NewFact(f.type_of(one), f.VERSION, talk.at, "s", f.encode(one)) for one in talk.facts]
    async with open_store(tmp_path) as store:
        await store.append(row_of(talk.state), facts)
        found = await heard.find(store, RUN, "m1")
        assert found is not None
        assert (await heard.turn_of(store, RUN, found)).text == "One"
        assert await heard.find(store, RUN, "m3") is None


@pytest.fixture
def old(tmp_path: Path) -> Machine:
    """A machine with a STATE that Podium 0.1 left behind."""
    machine = Machine(tmp_path)
    with closing(sqlite3.connect(machine.state / "facts.db")) as connection:
        connection.executescript(FIRST_RELEASE.read_text())
    return machine


async def test_rows_of_the_first_release_read_as_those_of_this_one(old: Machine) -> None:
    async with running(old) as daemon:
        row = await daemon.store.run(ENDED)
        assert row is not None and "history" in json.loads(row.summary)
        told = plain(await daemon.service.whole_run(ENDED))
        assert told["history"] == json.loads(row.summary)["history"]
        assert len(told["sessions"]) == 4
        for run in plain(await daemon.service.list_runs(None, 10)):
            assert run.keys().isdisjoint({"history", "sessions", "ctx"})
        [ended] = await daemon.events(ENDED, "run.ended")
        assert ended["run"]["exit"] == told["exit"]
        assert ended["run"].keys().isdisjoint({"history", "sessions"})


async def test_runs_of_the_first_release_go_on_with_rows_that_do_not_grow(old: Machine) -> None:
    async with running(old) as daemon:
        before = plain(await daemon.service.whole_run(ASKS))
        assert [visit["outcome"] for visit in before["history"]] == ["again"] * 5
        for _limit in ("of steps", "of visits"):
            await daemon.question(ASKS)
            await daemon.answer(ASKS, "more")
        (await daemon.turn()).complete("again")
        turn = await daemon.turn()
        row = await daemon.store.run(ASKS)
        assert row is not None and json.loads(row.summary).keys().isdisjoint({"history"})
        turn.complete("complete")
        whole = await daemon.ended(ASKS)
        assert whole["history"][:5] == before["history"]
        assert [visit["visit"] for visit in whole["history"]] == [1, 2, 3, 4, 5, 6, 7]
        assert whole["sessions"][:6] == before["sessions"]


async def test_a_conversation_of_the_first_release_goes_on(old: Machine) -> None:
    async with running(old) as daemon:
        await daemon.until(TALKS, lambda state: state.waits_for_words)
        went = await daemon.prompt("With a door", session_id=TALK_SESSION, client_token="t")
        (await daemon.turn()).end(done(text="A door, then."))
        await daemon.until(TALKS, lambda state: state.waits_for_words)
        again = await daemon.prompt("With a door", session_id=TALK_SESSION, client_token="t")
        assert again == went
