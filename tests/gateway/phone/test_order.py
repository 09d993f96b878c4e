"""The end of a recipe waits for its run to be gone; of its session nothing is told before it."""

from __future__ import annotations

from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone.feed.session_ordering import SessionOrdering


class Told:
    """What was told, in order, and up to where everything was."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.order = SessionOrdering(nursery, self._reached)
        self.words: list[str] = []
        self.positions: list[int] = []
        self.gone = {name: trio.Event() for name in ("first", "second")}

    def _reached(self) -> None:
        self.positions.append(self.order.before(9))

    def say(self, session_id: str, words: str) -> None:
        self.order.tell(session_id, partial(self.words.append, words))

    def ends(self, session_id: str, run_id: str, position: int) -> None:
        tell = partial(self.words.append, f"{run_id} over")
        self.order.tell_end(session_id, run_id, position, self.gone[run_id].wait, tell)


@pytest.fixture
def told(nursery: trio.Nursery) -> Told:
    return Told(nursery)


async def test_an_end_and_what_comes_after_it_wait_and_other_sessions_do_not(told: Told) -> None:
    told.ends("s1", "first", 5)
    told.say("s1", "after")
    told.say("s2", "aside")
    await wait_all_tasks_blocked()
    assert told.words == ["aside"]
    assert told.order.waits("s1") and not told.order.waits("s2")
    assert told.order.untold == {"first"}
    told.gone["first"].set()
    await wait_all_tasks_blocked()
    assert told.words == ["aside", "first over", "after"]
    assert not told.order.waits("s1") and told.order.untold == frozenset()


async def test_two_ends_in_one_session_are_told_in_their_order(told: Told) -> None:
    told.ends("s1", "first", 5)
    told.say("s1", "between")
    told.ends("s1", "second", 7)
    told.gone["second"].set()
    await wait_all_tasks_blocked()
    assert told.words == []
    told.gone["first"].set()
    await wait_all_tasks_blocked()
    assert told.words == ["first over", "between", "second over"]


async def test_everything_is_told_only_up_to_the_first_end_that_waits(told: Told) -> None:
    told.ends("s1", "first", 5)
    told.ends("s2", "second", 3)
    assert told.order.before(9) == 2
    told.gone["second"].set()
    await wait_all_tasks_blocked()
    told.gone["first"].set()
    await wait_all_tasks_blocked()
    assert told.positions == [4, 9]


async def test_a_fault_in_telling_one_thing_does_not_keep_back_the_next(told: Told) -> None:
    def broken() -> None:
        raise RuntimeError("broken")

    told.order.tell_end("s1", "first", 5, told.gone["first"].wait, broken)
    told.say("s1", "after")
    told.gone["first"].set()
    await wait_all_tasks_blocked()
    assert told.words == ["after"] and told.order.before(9) == 9
