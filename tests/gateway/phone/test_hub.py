"""All phones together: what goes wrong with one event or one phone stays there."""

from __future__ import annotations

import uuid

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.core.run import facts as f
from podiumd.gateway.phone.feed import run_events
from podiumd.gateway.phone.feed.recipe_board import Told
from podiumd.runtime.errors import Overloaded
from tests.gateway.phone.office import Office
from tests.runtime.harness import Machine
from tests.sessions.support import line as record


async def test_a_fault_in_telling_one_event_does_not_end_the_gateway(
    office: Office, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = await office.connected()
    take = office.hub.board.take

    def broken(run_id: str, fact: Told) -> object:
        if isinstance(fact, f.StepEntered):
            raise RuntimeError("broken")  # noqa: TRY004
        return take(run_id, fact)

    monkeypatch.setattr(office.hub.board, "take", broken)
    _, turn = await office.daemon.begun(one)
    turn.complete()
    await line.hears("recipe_exited")
    assert line.of("recipe_started") == []


async def test_events_that_cannot_be_read_are_read_again_where_it_stopped(
    office: Office, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_events, "AGAIN_SECONDS", 0.0)
    line = await office.connected()
    machine.one_step()
    take = run_events.guarded
    failed: list[None] = []

    async def refused(work: object) -> None:
        if not failed:
            failed.append(work.close())  # type: ignore[attr-defined]
            raise Overloaded("the disk is slow")
        await take(work)  # type: ignore[arg-type]

    monkeypatch.setattr(run_events, "guarded", refused)
    _, turn = await office.daemon.begun("one")
    turn.complete()
    await line.hears("recipe_exited")
    assert [m["current_step"] for m in line.of("recipe_started")] == ["work"]


async def test_what_changed_while_no_phone_is_here_is_not_kept(office: Office) -> None:
    """A first index changes every session, and the ids of all of them are much."""
    (kept,) = office.daemon.transcripts._follower.news._listeners
    for known in (True, True, False, False):
        await office.record(str(uuid.uuid4()), record(1))
        await wait_all_tasks_blocked()
        assert kept._changed == set()
        line = await office.connected() if known else office.dial()
        await wait_all_tasks_blocked()
        line.hang_up()
        await wait_all_tasks_blocked()


async def test_what_changes_while_a_phone_connects_is_told_to_it(office: Office) -> None:
    """Its lists may have been made just before."""
    line = office.dial()
    await wait_all_tasks_blocked()
    session = str(uuid.uuid4())
    await office.record(session, record(1))
    _, key = await office.devices.pair(None)
    line.say("connect", api_key=key, protocol_version="0.5.0")
    again = await line.hears("recent_sessions", 2)
    assert [row["session_id"] for row in again["sessions"]] == [session]


async def test_who_connects_without_a_key_and_goes_holds_up_no_list(office: Office) -> None:
    stranger = office.dial()
    await wait_all_tasks_blocked()
    await office.record(str(uuid.uuid4()), record(1))
    stranger.hang_up()
    await wait_all_tasks_blocked()
    line = await office.connected()
    await office.record(session := str(uuid.uuid4()), record(1))
    newest = await line.hears("recent_sessions")
    assert session in [row["session_id"] for row in newest["sessions"]]
