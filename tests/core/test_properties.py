"""What holds for every recipe and every order of events.

``Play`` itself proves at each command that the fold of the stored bytes is the live state, that a
run which goes on has exactly one thing to wait for, that nothing follows ``run.ended`` and that no
two prompts share a uuid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.recipe.model import Edge, Limits, Recipe
from podiumd.core.reply.outcome import outcome_block
from podiumd.core.reply.report import EndKind
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from tests.core.builders import TREE, WORKTREE, Play, a_check, a_recipe, a_step, leave, to
from tests.examples import examples

T = TypeVar("T")

STEPS = ("plan", "work", "review", "commit")
OUTCOMES = ("complete", "again", "no-issues", "other", "checks-failed", "declined")
ENDS: tuple[EndKind, ...] = (
    *(("done",) * 14),
    *("broken", "broken", "interrupted", "usage_limit", "timeout", "budget", "api_error"),
)
RESET = "2026-01-02T05:00:00.000Z"
# What ends a run comes seldom, or stories would be short.
LAST_WORDS: tuple[tuple[Any, dict[str, Any]], ...] = (
    *([(c.Pause, {})] * 5),
    (c.Cancel, {}),
    (c.Cancel, {"reason": "orchestration-disabled"}),
    (c.ReportFault, {"detail": "log entry 1"}),
    (c.Proceed, {"locked": "pid 7"}),
    (c.Proceed, {"problem": "not found"}),
)


@st.composite
def edges(draw: st.DrawFn, names: tuple[str, ...]) -> dict[str, Edge]:
    targets = [*names, *names, "@restart", "changes-committed", "clarification-needed", "odd"]
    found = {}
    for outcome in draw(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=4, unique=True)):
        target = draw(st.sampled_from(targets))
        goes_on = target in names or target == "@restart"
        found[outcome] = to(target) if goes_on else leave(target)
    return found


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    names = STEPS[: draw(st.integers(1, len(STEPS)))]
    steps = {
        name: a_step(
            draw(st.sampled_from(["Do it.", "{{last.plan.detail}} Do it."])),
            on=draw(edges(names)),
            checks=(a_check(),) * draw(st.integers(0, 2)),
            gate=draw(st.sampled_from([None, None, "Shall I?"])),
            session=draw(st.sampled_from(["same", "fresh", "fork"])),
            irreversible=draw(st.booleans()),
            commits=draw(st.booleans()),
        )
        for name in names
    }
    limits = Limits(
        max_total_steps=draw(st.integers(1, 6)),
        max_step_visits=draw(st.none() | st.integers(1, 3)),
        max_minutes=draw(st.none() | st.sampled_from([0.25, 5.0])),
        max_cost_usd=draw(st.none() | st.sampled_from([0.5, 5.0])),
        max_retries=draw(st.integers(1, 2)),
        max_restarts=draw(st.integers(1, 2)),
        on_limit=draw(st.sampled_from(["exit", "ask"])),
    )
    return a_recipe(steps, limits)


def within_limits(play: Play) -> None:
    """No limit was passed, granted extensions counted once."""
    limits, granted = play.state.limits, play.state.granted
    restart = steps = 0
    visits: dict[str, int] = {}
    for fact in play.facts:
        if isinstance(fact, f.EdgeTaken) and fact.to == "@restart":
            restart, steps, visits = restart + 1, 0, {}
        if isinstance(fact, f.StepEntered):
            steps, visits[fact.step] = steps + 1, visits.get(fact.step, 0) + 1
            total = limits.max_total_steps or 0
            assert steps == fact.step_count <= total * (1 + ("max-total-steps" in granted))
            assert restart <= limits.max_restarts * (1 + ("max-restarts" in granted))
            assert fact.visit == visits[fact.step]
            if limits.max_step_visits is not None:
                more = f"max-step-visits-exceeded:{fact.step}" in granted
                assert fact.visit <= limits.max_step_visits * (1 + more)
        if isinstance(fact, f.TurnIntended):
            assert fact.attempt <= limits.max_retries + 1
            assert fact.seconds_left is None or fact.seconds_left > 0
            assert fact.budget_usd is None or fact.budget_usd > 0
            assert not fact.outcomes or fact.prompt.endswith(outcome_block(fact.outcomes))


class Pick:
    """Choices drawn from one number, so that a list of numbers is a whole story."""

    def __init__(self, number: int) -> None:
        self._left = number

    def of(self, choices: Sequence[T]) -> T:
        self._left, index = divmod(self._left, len(choices))
        return choices[index]


def natural(play: Play, pick: Pick) -> None:
    """What comes next by itself: a turn or check ends, a person answers, the run goes on."""
    state = play.state
    if state.open_questions:
        question = pick.of(state.open_questions)
        answers = [choice for choice, _ in question.choices] or ["a text"]
        play.do(c.Answer, question_id=question.question_id, answer=pick.of(answers))
    elif state.turn is not None:
        end_turn(play, pick)
    elif state.paused:
        play.do(c.Resume)
    elif state.parked_until is not None:
        play.do(c.ReportLimitReset)
    elif state.next is not None and state.next.kind == "check":
        play.check(passed=pick.of((True, False)), seconds=pick.of((0.0, 2.5)))
    elif state.next is not None and state.next.kind == "run":
        play.do(c.ReportCommandEnd, passed=pick.of((True, False)), seconds=pick.of((0.0, 2.5)))
    elif state.next is not None and state.next.kind == "worktree":
        play.do(c.ReportEffectEnd, effect="worktree", state=pick.of(("made", "made", "failed")))
    else:
        play.do(
            c.Proceed,
            dirty=pick.of((None, (), ("a.py",))),
            foreign_rows=pick.of((0, 0, 0, 1)),
            tree=pick.of((None, TREE)),
        )


def end_turn(play: Play, pick: Pick) -> None:
    """The running turn ends, mostly with one of its outcomes."""
    outcomes = play.turn.outcomes
    outcome = pick.of((*outcomes, *outcomes, "unheard-of"))
    play.wait(pick.of((0, 5, 20))).over(
        pick.of(ENDS),
        structured=pick.of(({"outcome": outcome, "otherDescription": "So"}, None)),
        texts=(f'{{"outcome": "{outcome}"}}',),
        delivered=tuple(steer.uuid for steer in play.state.steers[:1]),
        cost_usd=pick.of((0.0, 0.25)),
        prompt_recorded=pick.of((True, False)),
        resets_at=pick.of((RESET, None)),
    )


def disturbance(play: Play, pick: Pick) -> tuple[Any, dict[str, Any]]:
    """What a person or the world may do at any time, also at the wrong one."""
    state, uuid = play.state, pick.of(("s1", "s2", "s3"))
    turn_id = state.turn.intent.turn_id if state.turn is not None else "turn-0"
    question = pick.of(list(state.questions) or ["q-0"])
    asked = {"request_id": uuid, "tool": pick.of(("Bash", "Write")), "input": {}}
    effect = pick.of((f"steer:{uuid}", f"answer:{question}", "worktree"))
    choices: list[tuple[Any, dict[str, Any]]] = [
        (c.Pause, {}),
        (c.Resume, {}),
        (c.Interrupt, {}),
        (c.Interrupt, {}),
        (c.ReportLimitReset, {}),
        (c.Steer, {"uuid": uuid, "text": f"Text of {uuid}"}),
        (c.NoteAside, {"run_id": "run-2", "session_id": "session-1"}),
        (c.ReportTurnStart, {"turn_id": turn_id, "pid": 7, "proc_start": 7, "group": 7}),
        (c.ReportSessionName, {"turn_id": turn_id, "agent_session_id": uuid}),
        (c.ReportApproval, {"turn_id": turn_id, **asked}),
        (c.ReportApproval, {"turn_id": turn_id, "asks_person": True, **asked}),
        (c.ReportApprovalGone, {"request_id": uuid}),
        (c.Answer, {"question_id": question, "answer": "always"}),
        (c.ReportEffectEnd, {"effect": effect, "state": pick.of(("queued", "too_late", "made"))}),
        (c.ReportCheckEnd, {"index": pick.of((0, 1)), "passed": True}),
        (c.ReportWorkStopped, {}),
        (c.AskRecovery, {"about": pick.of(("damage", "more")), "text": "How?"}),
        pick.of(LAST_WORDS),
    ]
    return pick.of(choices)


def live(play: Play, number: int) -> None:
    """One more thing happens to the run; a refusal changes nothing."""
    pick = Pick(number)
    if play.state.exit is None and pick.of((True, True, False)):
        natural(play, pick)
        return
    before = play.state
    make, fields = disturbance(play, pick)
    try:
        play.do(make, **fields)
    except CommandRefused:
        assert play.state == before


@examples(300)
@given(
    recipe=st.one_of(st.none(), recipes(), recipes(), recipes()),
    on_question=st.sampled_from(["wait", "wait", "wait", "fail"]),
    worktree=st.sampled_from([None, None, WORKTREE]),
    story=st.lists(st.integers(0, 2**48), min_size=25, max_size=60),
)
def test_whatever_happens_in_whatever_order_a_run_stays_whole_and_within_its_limits(
    recipe: Recipe | None, on_question: str, worktree: f.Worktree | None, story: list[int]
) -> None:
    play = Play(recipe, on_question=on_question, worktree=worktree)
    for number in story:
        live(play, number)
    within_limits(play)


@given(recipes(), st.data())
def test_a_run_whose_every_prompt_and_question_is_answered_ends(
    recipe: Recipe, data: st.DataObject
) -> None:
    play = Play(recipe)
    while play.state.exit is None:
        state = play.state
        if state.open_questions:
            play.answer(play.question.choices[0][0])
        elif state.turn is not None:
            play.say(data.draw(st.sampled_from([*state.turn.intent.outcomes, "unheard-of"])))
        elif state.next is not None and state.next.kind == "check":
            play.check(passed=data.draw(st.booleans()))
        elif state.next is not None and state.next.kind == "run":
            play.ran(data.draw(st.booleans()))
        else:
            play.do(c.Proceed)
        assert len(play.facts) < 5_000, "the run does not end"
    within_limits(play)
