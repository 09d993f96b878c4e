"""What an outcome claims of the working tree is believed only where it is so."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from podiumd.core.analysis.simulate import simulate
from podiumd.core.decide.claims import SHOWN, listed, refuted, same_content
from podiumd.core.recipe.exits import Claims
from podiumd.core.recipe.model import CHECKS_FAILED, RESTART, Edge, Limits, Recipe, Step
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.facts import TreeLook
from podiumd.wire.event import data_of
from tests.core.builders import Play, a_check, a_command, a_recipe, a_step, leave, to
from tests.core.conversations import a_talk
from tests.plain import shown

BEFORE = TreeLook(head="a" * 40)
COMMITTED = TreeLook(head="b" * 40, commits=1)
LEFT = TreeLook(head="b" * 40, commits=1, uncommitted={"new.py": "1", "old.py": "2"})


def claiming(claims: Claims = "commit", **more: Edge) -> dict[str, Edge]:
    return {"committed": Edge(exit="changes-committed", claims=claims), **more}


def committing(step: Step | None = None, limits: Limits | None = None) -> Play:
    """A run whose first step is entered in a tree that was seen."""
    step = step or a_step("Commit.", claiming())
    return Play(a_recipe({"commit": step, "mend": a_step()}, limits)).go(look=BEFORE)


# What is so, and what is not.


@pytest.mark.parametrize(
    ("claims", "now", "accepted", "wrong"),
    [
        ("commit", COMMITTED, False, ""),
        ("commit", TreeLook(repository=False), False, "no git repository"),
        ("commit", BEFORE, False, "HEAD is aaaaaaaaaaaa, as when the run began"),
        ("commit", TreeLook(head="c" * 40), False, "cccccccccccc, which was there when"),
        ("commit", TreeLook(), False, "the branch has none at all"),
        ("commit", LEFT, False, "the run changed and did not commit new.py, old.py"),
        ("clean", BEFORE, False, ""),
        ("clean", COMMITTED, False, ""),
        ("clean", LEFT, False, "the working tree is not clean: new.py, old.py"),
        ("clean", LEFT, True, "the run changed and did not commit new.py, old.py"),
        ("clean", TreeLook(head="a" * 40, more=7), False, "not clean: 7 files"),
    ],
)
def test_a_claim_is_held_against_what_was_seen(
    claims: str, now: TreeLook, accepted: bool, wrong: str
) -> None:
    found = refuted(claims, BEFORE, now, accepted=accepted)

    assert (found is None) if not wrong else (found is not None and wrong in found)


def test_what_was_uncommitted_when_the_run_began_may_stay_as_it_was() -> None:
    dirty = TreeLook(head="a" * 40, uncommitted={"mine.txt": "1", "yours.txt": "2"})
    now = TreeLook(head="b" * 40, commits=1, uncommitted={"mine.txt": "1", "yours.txt": "3"})

    assert refuted("commit", dirty, now, accepted=False) == (
        "the run changed and did not commit yours.txt"
    )
    same = TreeLook(head="b" * 40, commits=1, uncommitted={"mine.txt": "1"})
    assert refuted("commit", dirty, same, accepted=False) is None
    assert refuted("clean", dirty, same, accepted=True) is None
    assert refuted("clean", dirty, same, accepted=False) is not None


def test_more_than_can_be_remembered_at_the_start_is_not_held_against_the_run() -> None:
    many = TreeLook(head="a" * 40, more=5)

    assert (
        refuted("commit", many, TreeLook(head="b" * 40, commits=1, more=9), accepted=True) is None
    )


def test_only_the_first_paths_are_named() -> None:
    names = [f"{number:02}" for number in range(SHOWN + 2)]

    assert listed(names, 3) == ", ".join(names[:SHOWN]) + " and 5 more"


# In a run.


def test_a_claim_waits_for_a_look_and_is_taken_where_it_is_so() -> None:
    play = committing()

    assert play.say("committed")[-1] == "claim.made"
    assert play.state.next == f.Move(kind="look") and play.state.status == "running"
    assert play.do(c.Proceed, look=COMMITTED) == ["tree.seen", "edge.taken", "run.ended"]
    assert play.reason == "changes-committed"


def test_what_is_not_so_goes_back_to_the_agent_with_what_was_seen() -> None:
    play = committing()
    play.say("committed")

    assert play.do(c.Proceed, look=LEFT) == ["tree.seen", "outcome.invalid"]
    invalid = play.last(f.OutcomeInvalid)
    assert (invalid.error, invalid.returned, invalid.attempt) == ("not-so", "committed", 1)
    prompt = play.begin().turn.prompt
    assert "You answered 'committed'. Podium has looked, and that is not so" in prompt
    assert "did not commit new.py, old.py" in prompt
    assert prompt.endswith("Your possible outcomes for this step: committed, other")
    play.say("committed")
    play.do(c.Proceed, look=COMMITTED)
    assert (play.reason, play.history[0].attempts) == ("changes-committed", 2)


def test_what_stays_untrue_ends_the_run_as_failed_checks_do() -> None:
    play = committing(limits=Limits(max_retries=1))
    for _ in range(2):
        play.say("committed")
        play.do(c.Proceed, look=BEFORE)

    assert play.reason == "checks-failed"
    detail = play.last(f.RunEnded).exit.detail or ""
    assert detail.startswith("'committed' is not so: there is no new commit")


def test_a_recipe_says_itself_where_a_claim_goes_that_is_not_so() -> None:
    play = committing(a_step("Commit.", {**claiming(), CHECKS_FAILED: to("mend")}))
    play.say("committed")

    assert play.do(c.Proceed, look=BEFORE) == ["tree.seen", "edge.taken"]
    edge = play.last(f.EdgeTaken)
    assert (edge.outcome, edge.source, edge.to) == (CHECKS_FAILED, "check", "mend")
    assert edge.detail.startswith("there is no new commit")


def test_checks_come_first() -> None:
    play = committing(a_step("Commit.", claiming(), checks=(a_check(),)))
    play.say("committed")

    assert play.check() == ["check.ended", "claim.made"]
    assert play.do(c.Proceed, look=COMMITTED)[-1] == "run.ended"


def test_a_command_s_claim_is_looked_at_too() -> None:
    edge = Edge(exit="changes-committed", claims="commit")
    play = Play(a_recipe({"commit": a_command(on={"passed": edge})})).go(look=BEFORE)

    assert play.ran()[-1] == "claim.made"
    play.do(c.Proceed, look=BEFORE)
    assert play.reason == "checks-failed"


def test_a_conversation_is_told_what_is_not_so() -> None:
    recipe = a_recipe({"agree": a_talk(on=claiming())})
    play = Play(recipe).go(look=BEFORE)
    for look, last in ((BEFORE, "outcome.invalid"), (COMMITTED, "run.ended")):
        if play.state.turn is None and play.state.next is None:
            play.do(c.Say, uuid="m1", text="Commit it.")
        play.begin()
        args = {"to": "committed", "summary": "Committed."}
        turn = play.turn.turn_id
        play.do(c.ReportToolCall, turn_id=turn, call_id=turn, tool="transition", args=args)
        play.over(texts=("Done.",))
        assert play.do(c.Proceed, look=look)[-1] == last
    assert play.reason == "changes-committed"


def test_each_round_of_a_recipe_has_to_commit_anew() -> None:
    again = {"committed": Edge(to=RESTART, claims="commit"), "done": leave("no-tasks-available")}
    play = Play(a_recipe({"commit": a_step("Commit.", again)})).go(look=BEFORE)
    play.say("committed")
    play.do(c.Proceed, look=COMMITTED)
    assert play.state.base is None

    play.go(look=TreeLook(head="b" * 40))
    play.say("committed")
    play.do(c.Proceed, look=TreeLook(head="b" * 40))
    assert play.last(f.OutcomeInvalid).message.startswith("'committed' is not so: there is no new")


def test_what_a_person_accepted_at_the_start_is_not_the_run_s() -> None:
    mine = TreeLook(head="a" * 40, uncommitted={"mine.txt": "1"})
    step = a_step("Commit.", claiming("clean"), commits=True)
    play = Play(a_recipe({"commit": step})).go(look=mine, dirty=("mine.txt",))
    play.answer("yes")
    play.go(look=mine)
    play.say("committed")
    play.do(c.Proceed, look=mine)

    assert play.reason == "changes-committed"


@pytest.mark.parametrize("recipe", [a_recipe({"commit": a_step("Commit.", claiming("none"))})])
def test_a_recipe_may_say_that_nothing_is_claimed(recipe: Recipe) -> None:
    play = Play(recipe).go(look=BEFORE)

    assert play.say("committed")[-1] == "run.ended"


def test_a_run_of_an_earlier_release_whose_tree_nobody_saw_goes_on() -> None:
    play = Play(a_recipe({"commit": a_step("Commit.", claiming())})).go()

    assert play.say("committed")[-1] == "run.ended"


def test_a_pause_holds_while_a_claim_waits_to_be_looked_at() -> None:
    play = committing()
    play.say("committed")
    play.do(c.Pause)

    assert play.do(c.Proceed, look=COMMITTED) == []
    play.do(c.Resume)
    assert play.do(c.Proceed) == [], "nothing was looked at"
    assert play.do(c.Proceed, look=COMMITTED)[-1] == "run.ended"


def test_the_public_event_names_paths_and_neither_digests_nor_tips() -> None:
    fact = f.TreeSeen(why="claim", look=replace(LEFT, tips=["c" * 40], ignored=[".env"]))

    look = shown(data_of, fact)["look"]
    assert look["uncommitted"] == ["new.py", "old.py"] and not {"tips", "ignored"} & {*look}


def test_a_look_of_an_older_release_knows_of_no_other_tips() -> None:
    look = msgspec.json.decode(b'{"head":"a","uncommitted":{"a.py":"1"}}', type=TreeLook)
    assert look.tips == [] and look.ignored is None


def test_a_simulation_can_have_a_claim_be_untrue_and_believes_the_next() -> None:
    on = {**claiming(), "nothing": leave("no-tasks-available"), CHECKS_FAILED: to("commit")}
    recipe = a_recipe({"commit": a_step("Commit.", on)}, Limits(max_step_visits=3))

    played = simulate(recipe, [CHECKS_FAILED, "committed"])

    assert [(hop.outcome, hop.to) for hop in played.trace] == [
        (CHECKS_FAILED, "commit"),
        ("committed", None),
    ]
    assert played.exit is not None and played.exit.reason == "changes-committed"


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("content time", "content later", True),
        ("content time", "other time", False),
        ("content time", " time", True),
        (" time", "content time", True),
        ("content time", " later", False),
        (" time", " time", True),
        ("content", "content time", True),  # of an older release
        ("content", "other time", False),
        ("time", " time", True),
        ("content", " time", False),
    ],
)
def test_content_is_compared_where_both_looks_read_it(before: str, now: str, same: bool) -> None:
    assert same_content(before, now) is same
