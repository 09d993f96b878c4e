"""The title of a run: shown everywhere, kept for good, given to runs that have ended too."""

from __future__ import annotations

import pytest

from podiumd.runtime.errors import NotFound
from podiumd.runtime.run.registry import Runs
from tests.runtime.harness import Daemon, Machine, running


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


async def test_a_run_that_is_not_there_or_is_deleted_meanwhile_is_not_renamed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        old, turn = await daemon.begun(machine.one_step())
        turn.complete()
        await daemon.ended(old)
        (await daemon.begun("one"))[1].complete()
        with pytest.raises(NotFound):
            await daemon.service.rename("absent", "A title")
        state = await daemon.runs.state(old)

        async def deleted_meanwhile(_runs: Runs, run_id: str) -> object:
            await daemon.context.store.forget_runs([run_id])
            return state

        await daemon.forgotten(old)
        monkeypatch.setattr(Runs, "state", deleted_meanwhile)
        with pytest.raises(NotFound):
            await daemon.service.rename(old, "A title")
        assert await daemon.context.store.run(old) is None
