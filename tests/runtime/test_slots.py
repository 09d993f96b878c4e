"""The bound on working runs: fair, and nobody is forgotten."""

from __future__ import annotations

from podiumd.runtime.slots import Slots


class Caller:
    """A run that counts how often it was called."""

    def __init__(self, slots: Slots, name: str) -> None:
        self.slots = slots
        self.name = name
        self.calls = 0

    def take(self, *, force: bool = False) -> bool:
        return self.slots.take(self.name, self._wake, force=force)

    def _wake(self) -> None:
        self.calls += 1


def test_whoever_is_refused_is_called_when_a_slot_is_free_in_the_order_of_asking() -> None:
    slots = Slots(1)
    a, b, c = (Caller(slots, name) for name in "abc")
    assert a.take()
    assert a.take()
    assert not b.take()
    assert not c.take()
    assert slots.in_line("b")
    slots.give_back("a")
    assert (b.calls, c.calls) == (1, 0)
    assert not c.take()  # not its turn
    assert b.take()
    assert not slots.in_line("b")
    slots.give_back("b")
    assert c.calls == 1
    assert c.take()


def test_one_that_leaves_the_line_lets_the_next_one_go() -> None:
    slots = Slots(1)
    a, b, c = (Caller(slots, name) for name in "abc")
    a.take()
    b.take()
    c.take()
    slots.give_back("a")
    slots.give_back("b")
    assert c.calls == 1
    assert c.take()


def test_several_free_slots_are_taken_one_after_the_other() -> None:
    slots = Slots(2)
    a, b, c, d = (Caller(slots, name) for name in "abcd")
    assert a.take()
    assert b.take()
    c.take()
    d.take()
    slots.give_back("a")
    slots.give_back("b")
    assert c.take()
    assert d.calls == 1
    assert d.take()


def test_work_that_exists_already_counts_whatever_the_bound() -> None:
    slots = Slots(1)
    a, b, c = (Caller(slots, name) for name in "abc")
    assert a.take(force=True)
    assert b.take(force=True)
    assert not c.take()
    slots.give_back("a")
    assert c.calls == 0
    slots.give_back("b")
    assert c.take()
