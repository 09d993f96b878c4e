"""The bound on working runs: fair, and nobody is forgotten."""

from __future__ import annotations

from podiumd.runtime.locks.agent_limiter import AgentLimiter


class Caller:
    """A run that counts how often it was called."""

    def __init__(self, agent_limiter: AgentLimiter, name: str) -> None:
        self.agent_limiter = agent_limiter
        self.name = name
        self.calls = 0

    def take(self, *, force: bool = False) -> bool:
        return self.agent_limiter.try_acquire(self.name, self._wake, force=force)

    def _wake(self) -> None:
        self.calls += 1


def test_whoever_is_refused_is_called_when_a_slot_is_free_in_the_order_of_asking() -> None:
    agent_limiter = AgentLimiter(1)
    a, b, c = (Caller(agent_limiter, name) for name in "abc")
    assert a.take()
    assert a.take()
    assert not b.take()
    assert not c.take()
    assert agent_limiter.in_line("b")
    agent_limiter.release("a")
    assert (b.calls, c.calls) == (1, 0)
    assert not c.take()  # not its turn
    assert b.take()
    assert not agent_limiter.in_line("b")
    agent_limiter.release("b")
    assert c.calls == 1
    assert c.take()


def test_one_that_leaves_the_line_lets_the_next_one_go() -> None:
    agent_limiter = AgentLimiter(1)
    a, b, c = (Caller(agent_limiter, name) for name in "abc")
    a.take()
    b.take()
    c.take()
    agent_limiter.release("a")
    agent_limiter.release("b")
    assert c.calls == 1
    assert c.take()


def test_several_free_slots_are_taken_one_after_the_other() -> None:
    agent_limiter = AgentLimiter(2)
    a, b, c, d = (Caller(agent_limiter, name) for name in "abcd")
    assert a.take()
    assert b.take()
    c.take()
    d.take()
    agent_limiter.release("a")
    agent_limiter.release("b")
    assert c.take()
    assert d.calls == 1
    assert d.take()


def test_work_that_exists_already_counts_whatever_the_bound() -> None:
    agent_limiter = AgentLimiter(1)
    a, b, c = (Caller(agent_limiter, name) for name in "abc")
    assert a.take(force=True)
    assert b.take(force=True)
    assert not c.take()
    agent_limiter.release("a")
    assert c.calls == 0
    agent_limiter.release("b")
    assert c.take()
