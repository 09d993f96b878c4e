"""All phones together: what goes wrong with one event or one phone stays there."""

from __future__ import annotations

import pytest

from podiumd.gateway.phone import news
from podiumd.runtime.errors import Overloaded
from tests.gateway.phone.office import Office
from tests.runtime.harness import Machine


async def test_a_fault_in_telling_one_event_does_not_end_the_gateway(
    office: Office, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = await office.connected()
    take = office.hub.board.take

    def broken(event: dict[str, object]) -> object:
        if event["type"] == "step.entered":
            raise RuntimeError("broken")
        return take(event)

    monkeypatch.setattr(office.hub.board, "take", broken)
    _, turn = await office.daemon.begun(one)
    turn.complete()
    await line.hears("recipe_exited")
    assert line.of("recipe_started") == []


async def test_events_that_cannot_be_read_are_read_again_where_it_stopped(
    office: Office, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "AGAIN_SECONDS", 0.0)
    line = await office.connected()
    machine.one_step()
    take = news.guarded
    failed: list[None] = []

    async def refused(work: object) -> None:
        if not failed:
            failed.append(work.close())  # type: ignore[attr-defined]
            raise Overloaded("the disk is slow")
        await take(work)  # type: ignore[arg-type]

    monkeypatch.setattr(news, "guarded", refused)
    _, turn = await office.daemon.begun("one")
    turn.complete()
    await line.hears("recipe_exited")
    assert [m["current_step"] for m in line.of("recipe_started")] == ["work"]
