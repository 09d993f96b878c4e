"""The table of what a run does: each arrow in it is walked by some play.

That no play walks another way, ``Play`` itself holds in every test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podiumd.core import commands as c
from podiumd.core.machine import LIVE, NO_RULES, Rule
from podiumd.core.recipe import Edge, Limits
from podiumd.core.state import Place
from podiumd.core.tree_facts import TreeLook
from podiumd.core.workflow import MACHINE
from tests.core.builders import WORKTREE, Play, a_check, a_command, a_recipe, a_step, leave, to
from tests.core.played_log import played
from tests.core.played_native import played_natively
from tests.core.played_talk import played_talks
from tests.core.talks import Talk, a_hook, a_talk

Arrow = tuple[tuple[Place, ...], type[c.Command], Place]

BEFORE, COMMITTED = TreeLook(head="a" * 40), TreeLook(head="b" * 40, commits=1)
CLAIMING = {"committed": Edge(to="work", claims="commit")}
ONE_ENTRY = Limits(max_total_steps=1)


def arrows() -> list[Arrow]:
    """Every arrow of the table; the places of one rule count as one."""
    rules = {id(rule): (command, rule) for (_, command), rule in MACHINE.rules.items()}
    return [(rule.at, command, to) for command, rule in rules.values() for to in rule.to]


def committing(claim: str = "complete", **step: Any) -> Play:
    """A run whose first step has ended with a claim that is to be looked at."""
    on = {claim: Edge(to="work", claims="commit"), "failed": leave("broken", "error")}
    first = step.pop("first", None) or a_step("Commit.", on=on, **step)
    return Play(a_recipe({"commit": first, "work": a_step()})).go(look=BEFORE)


def lacks_a_value() -> Play:
    play = Play(a_recipe({"one": a_step("Build {{ctx.goal}}.")}, context={"goal": "string"}))
    return play.go()


def no_money_for_a_command() -> Play:
    limits = Limits(max_minutes=0.25)
    steps = {"work": a_step(on={"complete": to("make")}), "make": a_command()}
    play = Play(a_recipe(steps, limits)).begin().wait(60)
    play.say("complete")
    return play.go()


def believed() -> Play:
    play = committing()
    play.say("complete")
    play.do(c.Proceed, look=COMMITTED)
    return play


def not_so() -> Play:
    play = committing()
    play.say("complete")
    play.do(c.Proceed, look=BEFORE)
    return play


def not_so_and_given_up() -> Play:
    play = committing()
    for _ in range(play.state.limits.max_retries + 1):
        play.say("complete")
        play.do(c.Proceed, look=BEFORE)
    return play


def checked_and_claimed() -> Play:
    play = committing(checks=(a_check(),))
    play.say("complete")
    play.check()
    return play


def a_check_fails_for_good() -> Play:
    on = {"complete": leave("done"), "checks-failed": leave("broken", "error")}
    play = Play(a_recipe({"work": a_step(on=on, checks=(a_check(),))}))
    play.say("complete")
    play.check(passed=False)
    return play


def a_command_claims() -> Play:
    play = committing(first=a_command(on={"passed": Edge(to="work", claims="commit")}))
    play.do(c.Proceed)
    play.do(c.CommandOver, passed=True, exit_status=0)
    return play


def a_conversation_claims() -> Play:
    talk = a_talk({"x": Edge(to="one", claims="commit")}, hooks=(a_hook(),))
    play = Play(a_recipe({"one": talk})).go(look=BEFORE)
    play.do(c.Say, uuid="s1", text="Go on.")
    turn_id = play.begin().turn.turn_id
    args = {"to": "x", "summary": "So."}
    play.do(c.ToolCalled, turn_id=turn_id, call_id="c1", tool="transition", args=args)
    play.over(texts=("So.",))
    play.do(c.HookOver, index=0, exit_status=0)
    return play


def a_hook_refuses_for_good() -> Play:
    play = Talk(a_recipe({"one": a_talk({"x": to("one")}, hooks=(a_hook(),))}))
    play.tell("Go on.")
    while play.state.exit is None:
        play.begin()
        play.over(texts=("So.",))
        play.hook(2)
    return play


def a_prompt_in_a_worktree() -> Play:
    play = Play(worktree=WORKTREE)
    play.do(c.EffectOver, effect="worktree", state="made")
    return play


def no_worktree() -> Play:
    play = Play(a_recipe(), worktree=WORKTREE)
    play.do(c.EffectOver, effect="worktree", state="failed")
    return play


def locked_before_its_worktree() -> Play:
    play = Play(a_recipe(), worktree=WORKTREE)
    play.do(c.Proceed, locked="pid 7")
    return play


def declined(**step: Any) -> Play:
    play = Play(a_recipe({"one": a_step(gate="Shall I?", **step), "two": a_step()})).go()
    play.answer("no")
    return play


def a_conversation_declined(*, back: bool) -> Play:
    way = to("two") if back else leave("odd")
    steps = {"one": a_talk({"x": to("two"), "declined": way}, gate="Shall we?"), "two": a_step()}
    play = Talk(a_recipe(steps))
    play.answer("no")
    return play


def no_dirty_tree() -> Play:
    play = Play(a_recipe({"one": a_step(commits=True)})).go(dirty=("a.py",))
    play.answer("no")
    return play


def words_for_a_turn_to_a_conversation_that_waits() -> Play:
    play = Talk()
    play.do(c.Steer, uuid="s1", text="A boat.")
    return play


def damage_that_nobody_attends() -> Play:
    play = Play(a_recipe(), on_question="fail")
    play.do(c.AskRecovery, about="damage", text="How?")
    return play


def stopped(command: type[c.Interrupt | c.Cancel]) -> Play:
    play = Play()
    play.do(command)
    return play


def a_fault() -> Play:
    play = Play()
    play.do(c.Fault, detail="log entry 1")
    return play


OTHERS: tuple[Callable[[], Play], ...] = (
    lacks_a_value,
    no_money_for_a_command,
    believed,
    not_so,
    not_so_and_given_up,
    checked_and_claimed,
    a_check_fails_for_good,
    a_command_claims,
    a_conversation_claims,
    a_hook_refuses_for_good,
    a_prompt_in_a_worktree,
    no_worktree,
    locked_before_its_worktree,
    lambda: declined(on={"complete": leave("done"), "declined": leave("odd")}),
    lambda: a_conversation_declined(back=True),
    lambda: a_conversation_declined(back=False),
    no_dirty_tree,
    words_for_a_turn_to_a_conversation_that_waits,
    damage_that_nobody_attends,
    lambda: stopped(c.Interrupt),
    lambda: stopped(c.Cancel),
    a_fault,
)


def test_each_arrow_of_the_table_is_walked_by_a_play() -> None:
    plays = [*played().values(), *played_natively().values(), *played_talks().values()]
    plays += [play() for play in OTHERS]
    walked = {step for play in plays for step in play.walked}

    missed = [
        (at, command.__name__, to)
        for at, command, to in arrows()
        if not any((place, command, to) in walked for place in at)
    ]
    assert missed == []


def test_a_place_has_one_rule_for_a_command() -> None:
    with pytest.raises(AssertionError, match="two rules"):
        NO_RULES.on(c.Fault, Rule(LIVE, lambda _d, _fault: None), Rule("turn", lambda _d, _f: None))


def test_what_else_is_over_says_nothing_of_a_worktree_that_is_being_made() -> None:
    play = Play(a_recipe(), worktree=WORKTREE)

    assert play.do(c.EffectOver, effect="steer:s1", state="delivered") == []
    assert play.state.place == "worktree"


def test_a_run_begins_once() -> None:
    play = Play()

    with pytest.raises(AssertionError, match="begins once"):
        play.do(
            c.Start,
            run_id="r",
            kind="prompt",
            session_id="s",
            working_directory="/",
            agent="claude",
            text="Hello.",
        )
