"""How long to wait before the whole tree is looked at again."""

from __future__ import annotations

from itertools import count

import pytest

from podiumd.sessions.index import follower
from podiumd.sessions.index.sweep_pause import pause_after
from tests.sessions.service import Home
from tests.sessions.support import line


@pytest.mark.parametrize(
    ("cost", "pause"), [(0.0, 60.0), (0.3, 60.0), (0.5, 100.0), (1.5, 300.0), (60.0, 900.0)]
)
def test_looks_cost_half_a_percent_of_a_processor_while_everything_is_watched(
    cost: float, pause: float
) -> None:
    assert pause_after(cost, complete=True) == pytest.approx(pause)


@pytest.mark.parametrize("cost", [0.0, 60.0])
def test_what_is_not_watched_is_looked_at_soon_whatever_it_costs(cost: float) -> None:
    assert pause_after(cost, complete=False) == 2.0


async def test_the_next_look_comes_the_later_the_more_the_last_has_cost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(line(1))
    async with home.running() as service:
        seconds = count()
        monkeypatch.setattr(follower, "process_time", lambda: float(next(seconds)))
        await service.follower._sweep()

        cost = service.follower._cost
        assert cost == 3, "the watch, the look itself, and whether all is watched"
        assert service.follower._pause == pause_after(cost, complete=True) == pytest.approx(600)
        service.follower._complete = False
        assert service.follower._pause == 2.0
