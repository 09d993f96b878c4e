"""What holds for every recipe and every order of events.

``Play`` itself proves at each command that the fold of the stored bytes is the live state, that a
run which goes on has exactly one thing to wait for, that nothing follows ``run.ended`` and that no
two prompts share a uuid.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from podiumd.core import commands as c
from podiumd.core import facts as f
from podiumd.core.commands import CommandRefused
from podiumd.core.outcome import outcome_block
from podiumd.core.recipe import Edge, Limits, Recipe
from podiumd.core.report import EndKind
from tests.core.builders import TREE, WORKTREE, Play, a_check, a_recipe, a_step, leave, to

STEPS = ("plan", "work", "review", "commit")
OUTCOMES = ("complete", "again", "no-issues", "other", "checks-failed", "declined")
ENDS: tuple[EndKind, ...] = (
    *("done", "done", "done", "done", "broken", "interrupted"),
    *("usage_limit", "timeout", "budget", "api_error"),
)
RESET = "2026-01-02T05:00:00.000Z"


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


class AnyOrder(RuleBasedStateMachine):
    """Commands in any order, also ones that no run would see."""

    play: Play

    @initialize(
        recipe=st.none() | recipes(),
        on_question=st.sampled_from(["wait", "wait", "wait", "fail"]),
        worktree=st.sampled_from([None, None, WORKTREE]),
    )
    def start(self, recipe: Recipe | None, on_question: str, worktree: f.Worktree | None) -> None:
        self.play = Play(recipe, on_question=on_question, worktree=worktree)

    def do(self, make: Any, **fields: Any) -> None:
        before = self.play.state
        try:
            self.play.do(make, **fields)
        except CommandRefused:
            assert self.play.state == before

    def turn_id(self, stale: bool) -> str:
        turn = self.play.state.turn
        return "turn-0" if stale or turn is None else turn.intent.turn_id

    @rule(
        dirty=st.sampled_from([None, (), ("a.py",)]),
        foreign_rows=st.sampled_from([0, 0, 0, 1]),
        tree=st.sampled_from([None, TREE]),
        stop=st.sampled_from([{}] * 18 + [{"locked": "pid 7"}, {"problem": "not found"}]),
    )
    def proceed(self, stop: dict[str, str], **seen: Any) -> None:
        self.do(c.Proceed, **seen, **stop)

    @rule(stale=st.booleans())
    def turn_started(self, stale: bool) -> None:
        ids = {"pid": 7, "proc_start": 7, "group": 7}
        self.do(c.TurnStartedSeen, turn_id=self.turn_id(stale), **ids)

    @precondition(lambda self: self.play.state.turn is not None)
    @rule(
        kind=st.sampled_from(ENDS),
        outcome=st.sampled_from([*OUTCOMES, "unheard-of", None]),
        seconds=st.integers(0, 30),
        report=st.fixed_dictionaries(
            {
                "cost_usd": st.sampled_from([0.0, 0.25]),
                "prompt_recorded": st.booleans(),
                "resets_at": st.sampled_from([None, RESET]),
            }
        ),
    )
    def turn_over(
        self, kind: EndKind, outcome: str | None, seconds: int, report: dict[str, Any]
    ) -> None:
        answer = {"outcome": outcome, "otherDescription": "So"} if outcome else None
        play = self.play.wait(seconds)
        delivered = tuple(steer.uuid for steer in play.state.steers[:1])
        play.over(kind, delivered=delivered, structured=answer, texts=("Words",), **report)

    @rule(index=st.integers(0, 2), passed=st.booleans(), seconds=st.sampled_from([0.0, 2.5]))
    def check_over(self, **result: Any) -> None:
        self.do(c.CheckOver, **result)

    @rule(
        request=st.sampled_from(["r1", "r2", "r3"]),
        tool=st.sampled_from(["Bash", "Write"]),
        asks_person=st.booleans(),
        stale=st.booleans(),
    )
    def approval(self, request: str, tool: str, asks_person: bool, stale: bool) -> None:
        fields = {"request_id": request, "tool": tool, "asks_person": asks_person, "input": {}}
        self.do(c.ApprovalSeen, turn_id=self.turn_id(stale), **fields)

    @rule(request=st.sampled_from(["r1", "r2", "r3"]))
    def approval_gone(self, request: str) -> None:
        self.do(c.ApprovalGone, request_id=request)

    @precondition(lambda self: self.play.state.questions)
    @rule(which=st.integers(0, 3), choice=st.integers(0, 3))
    def answer(self, which: int, choice: int) -> None:
        play = self.play
        asked = list(play.state.open_questions or play.state.questions.values())
        question = asked[which % len(asked)]
        answers = [*(choice for choice, _ in question.choices), "a text"]
        answer = answers[choice % len(answers)]
        self.do(c.Answer, question_id=question.question_id, answer=answer)

    @rule(
        name=st.sampled_from(["s1", "s2", "s3"]),
        state=st.sampled_from(["queued", "delivered", "too_late"]),
    )
    def steer_over(self, name: str, state: str) -> None:
        self.do(c.EffectOver, effect=f"steer:{name}", state=state)

    @rule(state=st.sampled_from(["made", "made", "made", "failed"]))
    def worktree_over(self, state: str) -> None:
        self.do(c.EffectOver, effect="worktree", state=state)

    @precondition(lambda self: self.play.state.questions)
    @rule(which=st.integers(0, 9))
    def answer_over(self, which: int) -> None:
        names = list(self.play.state.questions)
        effect = f"answer:{names[which % len(names)]}"
        self.do(c.EffectOver, effect=effect, state="delivered")

    @rule(uuid=st.sampled_from(["s1", "s2", "s3"]))
    def steer(self, uuid: str) -> None:
        self.do(c.Steer, uuid=uuid, text=f"Text of {uuid}")

    @rule(
        make=st.sampled_from(
            [c.Pause, c.Resume, c.Resume, c.LimitReset, c.LimitReset, c.Interrupt, c.Proceed]
        )
    )
    def control(self, make: Any) -> None:
        self.do(make)

    @rule(about=st.sampled_from(["damage", "more damage"]))
    def ask_recovery(self, about: str) -> None:
        self.do(c.AskRecovery, about=about, text="How shall it go on?")

    @rule(last=st.sampled_from([None] * 17 + ["user-requested", "orchestration-disabled", "fault"]))
    def end(self, last: str | None) -> None:
        if last == "fault":
            self.do(c.Fault, detail="log entry 1")
        elif last is not None:
            self.do(c.Cancel, reason=last)
        else:
            self.do(c.NoteAside, run_id="run-2", session_id="session-1")

    def teardown(self) -> None:
        if hasattr(self, "play"):
            within_limits(self.play)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@settings(max_examples=200, deadline=None)
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
        else:
            play.do(c.Proceed)
        assert len(play.facts) < 5_000, "the run does not end"
    within_limits(play)
