"""The desk: who of this daemon's runs has a session, who borrows it, who is next."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.runtime.desk import Desk
from podiumd.runtime.leases import LeaseBook


@pytest.fixture
def book(tmp_path: Path) -> LeaseBook:
    return LeaseBook(tmp_path / "locks")


@pytest.fixture
def desk(book: LeaseBook) -> Desk:
    return Desk(book, "/state", lambda: "2026-01-02T03:00:00.000Z")


class Line:
    """Runs that stand in line, and whom the desk has called."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.called: list[str] = []

    def stand(self, run_id: str) -> None:
        self.desk.stand_in_line("s", run_id, lambda: self.called.append(run_id))


def test_a_session_is_taken_once_and_given_back(desk: Desk, book: LeaseBook) -> None:
    assert desk.take_session("s", "a", "recipe") is None
    assert desk.take_session("s", "a", "recipe") is None
    holder = desk.take_session("s", "b", "prompt")
    assert holder is not None
    assert holder.id == "a"
    desk.give_back("a")
    assert book.peek("s") is None
    assert desk.take_session("s", "b", "prompt") is None


def test_only_the_first_in_line_can_take_what_falls_free(desk: Desk) -> None:
    line = Line(desk)
    desk.take_session("s", "a", "recipe")
    line.stand("b")
    line.stand("c")
    line.stand("b")  # once more, at its old place
    desk.give_back("a")
    assert line.called == ["b", "c"]
    assert desk.held_here("s")
    refused = desk.take_session("s", "c", "prompt")
    assert refused is not None
    assert (refused.kind, refused.id) == ("prompt", "b")
    assert desk.take_session("s", "b", "prompt") is None
    desk.give_back("b")
    assert desk.take_session("s", "c", "prompt") is None


def test_one_that_leaves_the_line_calls_the_next(desk: Desk) -> None:
    line = Line(desk)
    desk.take_session("s", "a", "recipe")
    line.stand("b")
    line.stand("c")
    desk.give_back("a")
    line.called.clear()
    desk.give_back("b")
    assert line.called == ["c"]
    desk.leave_lines("c")
    assert not desk.held_here("s")


def test_a_lent_session_is_its_borrowers_until_it_is_given_back(desk: Desk) -> None:
    line = Line(desk)
    assert not desk.lend("s", "b")
    desk.take_session("s", "a", "recipe")
    assert desk.user("s") == "a"
    assert desk.lend("s", "b")
    assert desk.lend("s", "b")
    assert not desk.lend("s", "c")
    assert (desk.user("s"), desk.owner("s")) == ("b", "a")
    assert desk.take_session("s", "b", "prompt") is None
    line.stand("a")
    desk.give_back("b")
    assert line.called == ["a"]
    assert desk.user("s") == "a"


def test_what_an_ended_run_has_lent_becomes_the_borrowers_own(desk: Desk, book: LeaseBook) -> None:
    desk.take_session("s", "a", "recipe")
    desk.lend("s", "b")
    desk.give_back("a")
    assert (desk.user("s"), desk.owner("s")) == ("b", "b")
    holder = book.peek("s")
    assert holder is not None
    assert (holder.kind, holder.id) == ("prompt", "b")
    desk.give_back("b")
    assert book.peek("s") is None


def test_a_tree_is_taken_once_and_given_back_with_the_rest(
    desk: Desk, book: LeaseBook, tmp_path: Path
) -> None:
    assert desk.take_tree(str(tmp_path), "a") is None
    assert desk.holds_tree("a")
    holder = desk.take_tree(str(tmp_path), "b")
    assert holder is not None
    assert holder.id == "a"
    desk.give_back("a")
    assert book.peek_tree(tmp_path) is None


def test_a_session_that_an_agent_of_ours_still_holds_is_taken_back(
    desk: Desk, book: LeaseBook
) -> None:
    """After a restart: the agent inherited the lease and is at work."""
    before = desk.holder("a", "recipe", "turn-1")
    agent = book.try_session("s", before)
    again = Desk(book, "/state", lambda: "later")
    assert again.take_back("s", "a", "recipe", "turn-1") is None
    lease = again.lease("s")
    assert lease is not None
    assert not lease.held
    other = Desk(book, "/another", lambda: "later")
    refused = other.take_back("s", "a", "recipe", "turn-1")
    assert refused is not None
    assert refused.state_directory == "/state"
    assert other.lease("s") is None
    del agent


def test_forgetting_frees_what_no_agent_holds(desk: Desk, book: LeaseBook, tmp_path: Path) -> None:
    desk.take_session("s", "a", "recipe")
    desk.take_tree(str(tmp_path), "a")
    desk.forget()
    assert book.peek("s") is None
    assert book.peek_tree(tmp_path) is None
    desk.give_back("a")  # an actor that ends a moment later
