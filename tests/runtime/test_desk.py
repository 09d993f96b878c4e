"""The desk: who of this daemon's runs has a session, who borrows it, who is next."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.runtime.locks.leases import LeaseBook
from podiumd.runtime.locks.session_locks import SessionLocks


@pytest.fixture
def book(tmp_path: Path) -> LeaseBook:
    return LeaseBook(tmp_path / "locks")


@pytest.fixture
def session_locks(book: LeaseBook) -> SessionLocks:
    return SessionLocks(book, "/state", lambda: "2026-01-02T03:00:00.000Z")


class Line:
    """Runs that stand in line, and whom the desk has called."""

    def __init__(self, session_locks: SessionLocks) -> None:
        self.session_locks = session_locks
        self.called: list[str] = []

    def stand(self, run_id: str) -> None:
        self.session_locks.wait_in_line("s", run_id, lambda: self.called.append(run_id))


def test_a_session_is_taken_once_and_given_back(
    session_locks: SessionLocks, book: LeaseBook
) -> None:
    assert session_locks.acquire_session("s", "a", "recipe") is None
    assert session_locks.acquire_session("s", "a", "recipe") is None
    holder = session_locks.acquire_session("s", "b", "prompt")
    assert holder is not None
    assert holder.id == "a"
    session_locks.release("a")
    assert book.peek("s") is None
    assert session_locks.acquire_session("s", "b", "prompt") is None


def test_only_the_first_in_line_can_take_what_falls_free(session_locks: SessionLocks) -> None:
    line = Line(session_locks)
    session_locks.acquire_session("s", "a", "recipe")
    line.stand("b")
    line.stand("c")
    line.stand("b")  # once more, at its old place
    session_locks.release("a")
    assert line.called == ["b", "c"]
    assert session_locks.held_here("s")
    refused = session_locks.acquire_session("s", "c", "prompt")
    assert refused is not None
    assert (refused.kind, refused.id) == ("prompt", "b")
    assert session_locks.acquire_session("s", "b", "prompt") is None
    session_locks.release("b")
    assert session_locks.acquire_session("s", "c", "prompt") is None


def test_one_that_leaves_the_line_calls_the_next(session_locks: SessionLocks) -> None:
    line = Line(session_locks)
    session_locks.acquire_session("s", "a", "recipe")
    line.stand("b")
    line.stand("c")
    session_locks.release("a")
    line.called.clear()
    session_locks.release("b")
    assert line.called == ["c"]
    session_locks.leave_lines("c")
    assert not session_locks.held_here("s")


def test_a_lent_session_is_its_borrowers_until_it_is_given_back(
    session_locks: SessionLocks,
) -> None:
    line = Line(session_locks)
    assert not session_locks.lend("s", "b")
    session_locks.acquire_session("s", "a", "recipe")
    assert session_locks.user("s") == "a"
    assert session_locks.lend("s", "b")
    assert session_locks.lend("s", "b")
    assert not session_locks.lend("s", "c")
    assert (session_locks.user("s"), session_locks.owner("s")) == ("b", "a")
    assert session_locks.acquire_session("s", "b", "prompt") is None
    line.stand("a")
    session_locks.release("b")
    assert line.called == ["a"]
    assert session_locks.user("s") == "a"


def test_what_an_ended_run_has_lent_becomes_the_borrowers_own(
    session_locks: SessionLocks, book: LeaseBook
) -> None:
    session_locks.acquire_session("s", "a", "recipe")
    session_locks.lend("s", "b")
    session_locks.release("a")
    assert (session_locks.user("s"), session_locks.owner("s")) == ("b", "b")
    holder = book.peek("s")
    assert holder is not None
    assert (holder.kind, holder.id) == ("prompt", "b")
    session_locks.release("b")
    assert book.peek("s") is None


def test_a_tree_is_taken_once_and_given_back_with_the_rest(
    session_locks: SessionLocks, book: LeaseBook, tmp_path: Path
) -> None:
    assert session_locks.acquire_tree(str(tmp_path), "a") is None
    assert session_locks.holds_tree("a")
    holder = session_locks.acquire_tree(str(tmp_path), "b")
    assert holder is not None
    assert holder.id == "a"
    session_locks.release("a")
    assert book.peek_tree(tmp_path) is None


def test_a_session_that_an_agent_of_ours_still_holds_is_taken_back(
    session_locks: SessionLocks, book: LeaseBook
) -> None:
    """After a restart: the agent inherited the lease and is at work."""
    before = session_locks.holder("a", "recipe", "turn-1")
    agent = book.try_session("s", before)
    again = SessionLocks(book, "/state", lambda: "later")
    assert again.reacquire_session("s", "a", "recipe", "turn-1") is None
    lease = again.lease("s")
    assert lease is not None
    assert not lease.held
    other = SessionLocks(book, "/another", lambda: "later")
    refused = other.reacquire_session("s", "a", "recipe", "turn-1")
    assert refused is not None
    assert refused.state_directory == "/state"
    assert other.lease("s") is None
    del agent


def test_forgetting_frees_what_no_agent_holds(
    session_locks: SessionLocks, book: LeaseBook, tmp_path: Path
) -> None:
    session_locks.acquire_session("s", "a", "recipe")
    session_locks.acquire_tree(str(tmp_path), "a")
    session_locks.forget()
    assert book.peek("s") is None
    assert book.peek_tree(tmp_path) is None
    session_locks.release("a")  # an actor that ends a moment later
