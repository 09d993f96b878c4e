"""The table of what a run does: each arrow in it is walked by some play.

That no play walks another way, ``Play`` itself holds in every test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podiumd.core.decide.machine import LIVE, NO_RULES, Rule
from podiumd.core.decide.workflow import MACHINE
from podiumd.core.recipe.model import Edge, Limits, Recipe, Step
from podiumd.core.run import commands as c
from podiumd.core.run.facts import TreeLook
from podiumd.core.run.state import Place
from tests.core.builders import WORKTREE, Play, a_check, a_command, a_recipe, a_step, leave, to
from tests.core.conversations import Conversation, a_hook, a_talk
from tests.core.played_conversation import played_talks
from tests.core.played_log import played
from tests.core.played_native import played_natively

Arrow = tuple[Place, type[c.Command], Place]

BEFORE, COMMITTED = TreeLook(head="a" * 40), TreeLook(head="b" * 40, commits=1)


def arrows() -> list[Arrow]:
    """Every arrow of the table, of each place of a rule."""
    return [(at, command, to) for (at, command), rule in MACHINE.rules.items() for to in rule.to]


def committing(claim: str = "complete", on_question: Any = "ask", **step: Any) -> Play:
    """A run whose first step is to end with a claim that is to be looked at."""
    on = {claim: Edge(to="work", claims="commit"), "failed": leave("broken", "error")}
    first = step.pop("first", None) or a_step("Commit.", on=on, **step)
    return Play(a_recipe({"commit": first, "work": a_step()}), on_question=on_question).go(
        look=BEFORE
    )


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
    play.do(c.ReportCommandEnd, passed=True, exit_status=0)
    return play


def a_conversation_claims() -> Play:
    talk = a_talk({"x": Edge(to="one", claims="commit")}, hooks=(a_hook(),))
    play = Play(a_recipe({"one": talk})).go(look=BEFORE)
    play.do(c.Say, uuid="s1", text="Go on.")
    turn_id = play.begin().turn.turn_id
    args = {"to": "x", "summary": "So."}
    play.do(c.ReportToolCall, turn_id=turn_id, call_id="c1", tool="transition", args=args)
    play.over(texts=("So.",))
    play.do(c.ReportHookEnd, index=0, exit_status=0)
    return play


def a_hook_refuses_for_good() -> Play:
    play = Conversation(a_recipe({"one": a_talk({"x": to("one")}, hooks=(a_hook(),))}))
    play.tell("Go on.")
    while play.state.exit is None:
        play.begin()
        play.over(texts=("So.",))
        play.hook(2)
    return play


def a_prompt_in_a_worktree() -> Play:
    play = Play(worktree=WORKTREE)
    play.do(c.ReportEffectEnd, effect="worktree", state="made")
    return play


def no_worktree() -> Play:
    play = Play(a_recipe(), worktree=WORKTREE)
    play.do(c.ReportEffectEnd, effect="worktree", state="failed")
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
    play = Conversation(a_recipe(steps))
    play.answer("no")
    return play


def no_dirty_tree() -> Play:
    play = Play(a_recipe({"one": a_step(commits=True)})).go(dirty=("a.py",))
    play.answer("no")
    return play


def words_for_a_turn_to_a_conversation_that_waits() -> Play:
    play = Conversation()
    play.do(c.Steer, uuid="s1", text="A boat.")
    return play


def a_command_that_was_cut_off_is_accepted() -> Play:
    step = a_command(on={"passed": to("two")}, irreversible=True)
    play = at_run(recipe=a_recipe({"one": step, "two": a_step()}))
    play.do(c.Interrupt)
    play.do(c.ReportWorkStopped)
    play.do(c.Resume)
    play.answer("continue")
    return play


def a_command_declined(*, back: bool) -> Play:
    on = {"passed": leave("done"), "declined": to("two") if back else leave("odd")}
    play = Play(a_recipe({"one": a_command(on=on, gate="Shall I?"), "two": a_step()})).go()
    play.answer("no")
    return play


def chosen(answer: str) -> Play:
    play = at_gate()
    play.answer(answer)
    return play


# A run at each place where it can be.


def at_worktree(**start: Any) -> Play:
    return Play(worktree=WORKTREE, **start)


def at_enter(**start: Any) -> Play:
    return Play(a_recipe(), **start)


def at_turn(**start: Any) -> Play:
    return Play(**start)


def in_turn(**start: Any) -> Play:
    return Play(**start).begin()


def at_check(**start: Any) -> Play:
    step = a_step(on={"complete": leave("done")}, checks=(a_check(),))
    play = Play(a_recipe({"work": step}), **start)
    play.say("complete")
    return play


def at_command(recipe: Recipe | None = None, **start: Any) -> Play:
    play = Play(recipe or a_recipe({"make": a_command()}), **start)
    play.do(c.Proceed)
    return play


def at_run(**start: Any) -> Play:
    play = at_command(**start)
    play.do(c.Proceed)
    return play


def at_look(**start: Any) -> Play:
    play = committing(**start)
    play.say("complete")
    return play


def at_gate(**start: Any) -> Play:
    words = ("yes", "no", "later")
    on = {"yes": to("two"), "later": leave("odd")}
    gate = Step(kind="gate", ask="Well?", on=on, choices=words, outcomes=words)
    return Play(a_recipe({"one": gate, "two": a_step()}), **start).go()


def at_hook(**start: Any) -> Play:
    """In a phase that the agent begins by itself: nobody need attend to it."""
    play = Play(a_recipe({"one": a_talk({"x": to("one")}, auto=True, hooks=(a_hook(),))}), **start)
    play.begin()
    play.over(texts=("So.",))
    return play


def at_waiting(**start: Any) -> Play:
    return Conversation(**start)


AT: dict[Place, Callable[..., Play]] = {
    "worktree": at_worktree,
    "enter": at_enter,
    "turn": at_turn,
    "in-turn": in_turn,
    "check": at_check,
    "command": at_command,
    "run": at_run,
    "look": at_look,
    "gate": at_gate,
    "hook": at_hook,
    "waiting": at_waiting,
}
WITHOUT_A_PERSON = tuple(place for place in LIVE if place not in ("gate", "waiting"))


def stopped(place: Place, command: Callable[..., c.AnyCommand], **fields: Any) -> Play:
    play = AT[place]()
    play.do(command, **fields)
    return play


def damage_that_nobody_attends(place: Place) -> Play:
    play = AT[place](on_question="fail")
    assert play.state.place == place
    play.do(c.AskRecovery, about="damage", text="How?")
    return play


def given_up_at_damage(place: Place) -> Play:
    play = AT[place]()
    play.do(c.AskRecovery, about="damage", text="How?")
    [damage] = [one for one in play.state.open_questions if one.about == "damage"]
    play.do(c.Answer, question_id=damage.question_id, answer="stop")
    return play


def wherever_it_is() -> list[Play]:
    """What may come to a run at any place."""
    plays = [given_up_at_damage(place) for place in LIVE]
    plays += [damage_that_nobody_attends(place) for place in WITHOUT_A_PERSON]
    for place in LIVE:
        plays += [stopped(place, c.Cancel), stopped(place, c.Interrupt)]
        plays += [stopped(place, c.ReportFault, detail="log entry 1")]
        plays += [stopped(place, c.Proceed, problem="not found")]
    return plays


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
    lambda: declined(on={"complete": leave("done"), "declined": to("two")}),
    lambda: a_command_declined(back=True),
    lambda: a_command_declined(back=False),
    a_command_that_was_cut_off_is_accepted,
    lambda: chosen("yes"),
    lambda: chosen("later"),
)


def test_each_arrow_of_the_table_is_walked_by_a_play() -> None:
    plays = [*played().values(), *played_natively().values(), *played_talks().values()]
    plays += [*(play() for play in OTHERS), *wherever_it_is()]
    walked = {step for play in plays for step in play.walked}

    missed = [
        (at, command.__name__, to)
        for at, command, to in arrows()
        if (at, command, to) not in walked
    ]
    assert missed == []


def test_a_run_can_be_at_each_place() -> None:
    assert {place: play().state.place for place, play in AT.items()} == {one: one for one in LIVE}


def test_a_place_has_one_rule_for_a_command() -> None:
    with pytest.raises(AssertionError, match="two rules"):
        NO_RULES.on(
            c.ReportFault, Rule(LIVE, lambda _d, _fault: None), Rule("turn", lambda _d, _f: None)
        )


def test_what_else_is_over_says_nothing_of_a_worktree_that_is_being_made() -> None:
    play = Play(a_recipe(), worktree=WORKTREE)

    assert play.do(c.ReportEffectEnd, effect="steer:s1", state="delivered") == []
    assert play.state.place == "worktree"


def test_a_worktree_that_is_over_a_second_time_is_no_news() -> None:
    play = Play(worktree=WORKTREE)

    assert play.do(c.ReportEffectEnd, effect="worktree", state="made") == ["effect.ended"]
    assert play.do(c.ReportEffectEnd, effect="worktree", state="made") == []


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
