"""What a run leaves uncommitted is seen at its end, stored, and told of it for good."""

from __future__ import annotations

from podiumd.core.decide.claims import TOLD, Left, left_uncommitted
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.facts import TreeLook
from podiumd.wire.views import run_view
from tests.core.builders import Play, a_recipe, a_step, leave, to

BEFORE = TreeLook(head="a" * 40, uncommitted={"mine": "1", "both": "1"})
AFTER = TreeLook(head="b" * 40, uncommitted={"mine": "1", "both": "2", "new": "3"})


def looping() -> Play:
    ways = {"complete": leave("task-committed"), "again": to("@restart")}
    return Play(a_recipe({"work": a_step("Do it.", ways)})).go(look=BEFORE)


def test_it_is_stored_before_the_end() -> None:
    play = looping()

    assert play.do(c.ReportFault, detail="x", parting=AFTER)[-2:] == ["tree.seen", "run.ended"]
    assert play.last(f.TreeSeen).why == "end"
    view = run_view(play.state)
    assert view.base == "a" * 40
    assert view.left == Left(head="b" * 40, paths=("both", "new"), more=0, problem=None)


def test_it_is_told_against_the_very_first_look_also_after_a_restart() -> None:
    play = looping()
    play.say("again")
    play.go(look=AFTER)
    play.do(c.ReportFault, detail="x", parting=AFTER)

    assert run_view(play.state).base == "a" * 40
    left = run_view(play.state).left
    assert left is not None and left.paths == ("both", "new")


def test_where_nobody_looked_nothing_is_told() -> None:
    play = looping()

    assert play.do(c.ReportFault, detail="x")[-1] == "run.ended"
    assert run_view(play.state).left is None
    assert left_uncommitted(None, AFTER) is None


def test_why_nobody_could_look_is_told() -> None:
    told = left_uncommitted(BEFORE, TreeLook(problem="no git"))

    assert told == Left(head=None, paths=(), more=0, problem="no git")


def test_many_files_are_named_in_part_and_counted() -> None:
    many = TreeLook(uncommitted={f"{n:03}": "1" for n in range(TOLD + 5)}, more=7)

    told = left_uncommitted(BEFORE, many)
    assert told is not None and (len(told.paths), told.more) == (TOLD, 12)
    told = left_uncommitted(TreeLook(more=1), many)
    assert told is not None and told.more == 5, "which of the others are its own is not known"
