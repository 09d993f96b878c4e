"""At the start the list is right before anything is watched, and nothing falls between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Event

import pytest

from podiumd.sessions.index.watch import TreeWatch
from tests.patience import HANG_SECONDS
from tests.sessions.service import Home
from tests.sessions.support import line


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Nothing is watched before this is set."""
    may_arm = Event()
    arm = TreeWatch.arm

    def late(self: TreeWatch) -> None:
        assert may_arm.wait(HANG_SECONDS)
        arm(self)

    monkeypatch.setattr(TreeWatch, "arm", late)
    return may_arm


async def test_the_list_does_not_wait_for_the_watch(home: Home, gate: Event) -> None:
    home.write(line(1))
    async with home.running(complete=False) as service:
        await service.transcripts.complete()
        assert await service.transcripts.count() == 1
        gate.set()


async def test_what_changes_before_it_is_watched_is_found(home: Home, gate: Event) -> None:
    home.write(line(1))
    async with home.running(complete=False) as service:
        await service.transcripts.complete()
        home.write(line(2))
        home.write(line(1), 2)
        gate.set()
        async with service.follower._sweeping:
            assert (await service.row()).summary.messages == 2
            assert await service.transcripts.count() == 2


async def test_who_waits_for_the_first_look_goes_before_the_watch_is_armed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arming holds up all threads for a while. Whose turn it is, is chance: so more than once."""
    order: list[str] = []
    arm = TreeWatch.arm

    def asked(self: TreeWatch) -> Callable[[], None]:
        order.append("arm")
        return partial(arm, self)

    # What is noted is when the event loop takes hold of it, not when a thread gets round to it.
    monkeypatch.setattr(TreeWatch, "arm", property(asked))
    for _ in range(12):
        order.clear()
        async with home.running(complete=False) as service:
            await service.transcripts.complete()
            order.append("complete")
            async with service.follower._sweeping:
                assert order == ["complete", "arm"]
