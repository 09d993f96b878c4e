"""The notice that nothing moves: same outcome, same findings, same tree as on an earlier visit."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.recipe.model import Limits
from podiumd.core.run import facts as f
from podiumd.core.run.progress import FOLDED_CHARACTERS, comes_round, standing
from tests.core.builders import (
    Play,
    a_check,
    a_command,
    a_question,
    a_recipe,
    a_step,
    leave,
    review_loop,
    to,
)

OTHER_FILES = f.TreeMark(head="c0ffee", digest="d2")
OTHER_COMMIT = f.TreeMark(head="decaf", digest="d1")
TREE = f.TreeMark(head="c0ffee", digest="d1")
FOUND = "The price is wrong."


def reviewed(
    first: tuple[str, f.TreeMark | None], second: tuple[str, f.TreeMark | None], **more: Any
) -> Play:
    """Two reviews that find something, each with its words and the tree it looked at."""
    play = Play(review_loop(**more))
    play.say("complete", "Built.", tree=TREE)
    play.say("issues-found", first[0], tree=first[1])
    play.say("complete", "Fixed.", tree=OTHER_FILES)
    play.say("issues-found", second[0], tree=second[1])
    return play


def test_the_same_findings_on_the_same_tree_are_told_and_the_run_goes_on() -> None:
    play = reviewed((FOUND, TREE), (FOUND, TREE))

    (notice,) = play.all(f.ProgressStalled)
    assert (notice.step, notice.visit, notice.since) == ("review", 2, 1)
    assert (notice.outcome, notice.tree) == ("issues-found", TREE)
    assert [f.type_of(fact) for fact in play.facts[-2:]] == ["edge.taken", "progress.stalled"]
    assert play.state.next == f.Move(kind="enter", step="fix")
    assert play.say("complete", "Better.", tree=TREE)[-1] == "edge.taken"


@pytest.mark.parametrize(
    "second",
    [
        ("Something else.", TREE),
        (FOUND, OTHER_FILES),
        (FOUND, OTHER_COMMIT),
        (FOUND, None),
        (FOUND.upper(), TREE),
    ],
)
def test_other_findings_another_tree_and_one_nobody_knows_are_progress(
    second: tuple[str, f.TreeMark | None],
) -> None:
    assert reviewed((FOUND, TREE), second).all(f.ProgressStalled) == []


def test_outside_git_nothing_is_said() -> None:
    assert reviewed((FOUND, None), (FOUND, None)).all(f.ProgressStalled) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2 failed in 0.31s", "2 failed in 1.2s"),
        ("ok  shop  0.003 s\n", "  ok shop 12 ms "),
        ("Done in 2 minutes", "Done in 41 seconds"),
    ],
)
def test_white_space_and_how_long_something_took_are_no_news(first: str, second: str) -> None:
    assert len(reviewed((first, TREE), (second, TREE)).all(f.ProgressStalled)) == 1


def findings(detail: str) -> str:
    """What of a visit's findings is compared."""
    ended = standing("work", "bad", "text", detail, TREE)
    assert ended is not None
    return ended.findings


def test_of_very_long_findings_the_rest_is_compared_as_it_is() -> None:
    long = "x " * FOLDED_CHARACTERS

    assert findings("1 s " + long) == findings("2 s " + long)
    assert findings(long + "1 s") != findings(long + "2 s")
    assert findings(long + "1 s") == findings(long + "1 s")


def test_a_lone_surrogate_in_findings_does_no_harm() -> None:
    assert findings("a\ud800") == findings(" a\ud800") != findings("a\ud801")


def test_another_number_is_news() -> None:
    assert reviewed(("2 failed", TREE), ("3 failed", TREE)).all(f.ProgressStalled) == []


def test_another_outcome_with_the_same_words_is_progress() -> None:
    on = {"worse": to("work"), "bad": to("work"), "good": leave("changes-committed")}
    play = Play(a_recipe({"work": a_step(on=on)}, Limits(max_total_steps=9)))
    play.say("bad", FOUND, tree=TREE)
    play.say("worse", FOUND, tree=TREE)

    assert play.all(f.ProgressStalled) == []


def test_going_to_and_fro_is_found_and_the_first_visit_that_was_the_same_is_named() -> None:
    on = {"bad": to("work"), "good": leave("changes-committed")}
    play = Play(a_recipe({"work": a_step(on=on)}, Limits(max_total_steps=9)))
    for words, tree in (("a", TREE), ("b", OTHER_FILES), ("a", TREE), ("b", OTHER_FILES)):
        play.say("bad", words, tree=tree)

    assert [(n.visit, n.since) for n in play.all(f.ProgressStalled)] == [(3, 1), (4, 2)]


def test_a_check_that_fails_the_same_way_is_told_with_the_tree_that_the_turn_left() -> None:
    on = {"complete": leave("changes-committed"), "checks-failed": to("work")}
    recipe = a_recipe({"work": a_step(on=on, checks=(a_check(),))}, Limits(max_step_visits=3))
    play = Play(recipe)
    for words in ("First.", "Second."):
        play.say("complete", words, tree=TREE)
        play.check(passed=False, tail="AssertionError: 3 != 12")

    (notice,) = play.all(f.ProgressStalled)
    assert (notice.step, notice.outcome, notice.tree) == ("work", "checks-failed", TREE)


def test_a_command_that_fails_the_same_way_is_told() -> None:
    steps = {
        "build": a_command(on={"failed": to("mend")}),
        "mend": a_step(on={"complete": to("build")}),
    }
    play = Play(a_recipe(steps, Limits(max_step_visits=3)))
    play.ran(False, tail="no rule", tree=TREE)
    play.say("complete", "Mended.", tree=OTHER_FILES)
    play.ran(False, tail="no rule", tree=TREE)

    (notice,) = play.all(f.ProgressStalled)
    assert (notice.step, notice.visit, notice.since) == ("build", 2, 1)


def test_what_a_person_chose_is_no_finding() -> None:
    steps = {
        "ask": a_question(again=to("work"), stop=leave("turn-complete")),
        "work": a_step(on={"complete": to("ask")}),
    }
    play = Play(a_recipe(steps, Limits(max_step_visits=3)))
    for words in ("One.", "Two."):
        play.go().answer("again")
        play.say("complete", words, tree=TREE)
    play.go().answer("again")

    assert play.all(f.ProgressStalled) == []


def test_a_restart_begins_anew() -> None:
    on = {"bad": to("work"), "next": to("@restart")}
    play = Play(a_recipe({"work": a_step(on=on)}, Limits(max_total_steps=9)))
    play.say("bad", FOUND, tree=TREE)
    play.say("next", FOUND, tree=TREE)
    play.say("bad", FOUND, tree=TREE)
    assert play.all(f.ProgressStalled) == []
    play.say("bad", FOUND, tree=TREE)
    assert [(n.visit, n.since) for n in play.all(f.ProgressStalled)] == [(2, 1)]


def test_the_tree_of_a_turn_that_had_no_outcome_is_not_that_of_the_visit() -> None:
    on = {"bad": to("work"), "good": leave("changes-committed")}
    play = Play(a_recipe({"work": a_step(on=on)}, Limits(max_total_steps=9)))
    play.say("bad", FOUND, tree=TREE)
    play.reply("Hm.", tree=OTHER_FILES)
    play.say("bad", FOUND, tree=TREE)

    assert [(n.visit, n.since) for n in play.all(f.ProgressStalled)] == [(2, 1)]


def test_only_steps_that_a_run_can_come_back_to_are_looked_at() -> None:
    recipe = review_loop()
    assert [comes_round(recipe, name) for name in recipe.steps] == [False, True, True, False]
    again = a_recipe({"work": a_step(on={"more": to("@restart"), "bad": to("work")})})
    once = a_recipe({"work": a_step(on={"more": to("@restart")})})
    assert (comes_round(again, "work"), comes_round(once, "work")) == (True, False)
