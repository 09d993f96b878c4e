"""The title of a run: shown everywhere, kept for good, given to runs that have ended too."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest
import trio

from podiumd.runtime.errors import NotFound, Refused
from podiumd.runtime.fact_reader import Loaded, load
from podiumd.store.facts import Store
from tests.runtime.harness import Daemon, Machine, running

TWO_SESSIONS = """
format = 1
id = "two"
initial = "work"
[steps.work]
prompt = "Do the work."
[steps.work.on]
complete = { to = "look" }
[steps.look]
prompt = "Look at it."
session = "fresh"
[steps.look.on]
complete = { exit = "turn-complete" }
"""


async def names(daemon: Daemon, run_id: str, session_id: str) -> set[str]:
    """What the run is called by itself, among the others, in its end, and its session."""
    runs = [await daemon.service.get_run(run_id), *await daemon.service.list_runs(None, 9)]
    ended = [event["run"]["name"] for event in await daemon.events(run_id, "run.ended")]
    sessions = await daemon.context.names.of(daemon.context.store)
    return {*(run.name for run in runs), *ended, sessions[session_id].name}


async def test_a_title_is_shown_wherever_the_run_is_and_a_restart_keeps_it(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(machine.one_step())
        without = (await daemon.service.get_run(run_id)).name
        assert (await daemon.service.rename(run_id, "Second try")).name == "Second try"
        session_id = turn.request.session_id
        assert await names(daemon, run_id, session_id) == {"Second try"}
        turn.complete()
        await daemon.ended(run_id)
        assert await names(daemon, run_id, session_id) == {"Second try"}
    async with running(machine) as daemon:
        assert await names(daemon, run_id, session_id) == {"Second try"}
        assert (await daemon.service.rename(run_id[:8], "")).name == without
        assert (await daemon.service.whole_run(run_id)).name == without
        assert (await daemon.types(run_id))[-2:] == ["run.ended", "run.renamed"]


async def test_all_sessions_of_a_run_are_called_by_its_title(machine: Machine) -> None:
    recipe = machine.recipe(TWO_SESSIONS, "two")
    async with running(machine) as daemon:
        run_id, first = await daemon.begun(recipe)
        first.complete()
        second = await daemon.turn()
        await daemon.service.rename(run_id, "Second try")
        sessions = await daemon.context.names.of(daemon.context.store)
        ids = [turn.request.session_id for turn in (first, second)]
        assert ids[0] != ids[1] and [sessions[one].name for one in ids] == ["Second try"] * 2


async def over(machine: Machine, daemon: Daemon) -> str:
    """A run that has ended, and of which nothing is left in memory."""
    run_id, turn = await daemon.begun(machine.one_step())
    turn.complete()
    await daemon.ended(run_id)
    await daemon.forgotten(run_id)
    return run_id


async def test_titles_given_at_once_are_decided_one_after_the_other(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await over(machine, daemon)
        async with trio.open_nursery() as nursery:
            for title in ("one", "two", "two", "two"):
                nursery.start_soon(daemon.service.rename, run_id, title)
        titles = [event["title"] for event in await daemon.events(run_id, "run.renamed")]
        assert sorted(set(titles)) == ["one", "two"]
        assert all(title != after for title, after in pairwise(titles))
        assert daemon.context.bus.recent._facts == {}, "nothing is kept of a run that is over"


async def test_who_keeps_a_list_of_sessions_is_notified_of_a_title(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(machine.one_step())
        with daemon.service.sessions_changed() as changes:
            await daemon.service.rename(run_id, "Second try")
            assert await changes.changed() == {turn.request.session_id}


@pytest.mark.parametrize("damaged", ["run.started", "turn.ended", "run.ended"])
async def test_a_run_that_is_over_and_cannot_be_read_keeps_its_name_and_its_end(
    machine: Machine, damaged: str
) -> None:
    async with running(machine) as daemon:
        run_id = await over(machine, daemon)
        before = await daemon.service.get_run(run_id)
    with closing(sqlite3.connect(machine.state / "facts.db")) as database, database:
        database.execute("UPDATE facts SET checksum = x'00' WHERE type = ?", (damaged,))
    async with running(machine) as daemon:
        with pytest.raises(Refused, match="cannot be read, so it keeps its name"):
            await daemon.service.rename(run_id, "A title")
        assert await daemon.service.get_run(run_id) == before


async def test_a_run_that_is_not_there_or_is_deleted_meanwhile_is_not_renamed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        old = await over(machine, daemon)
        (await daemon.begun("one"))[1].complete()
        with pytest.raises(NotFound):
            await daemon.service.rename("absent", "A title")

        async def deleted_meanwhile(store: Store, run_id: str) -> Loaded | None:
            loaded = await load(store, run_id)
            await store.forget_runs([run_id])
            return loaded

        monkeypatch.setattr("podiumd.runtime.titles.load", deleted_meanwhile)
        with pytest.raises(NotFound):
            await daemon.service.rename(old, "A title")
        assert await daemon.context.store.run(old) is None
