"""The conversation that ships: three phases and a last word, routed by nothing but data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from podiumd.core.analysis.check import CheckResult, check_text
from podiumd.core.recipe.model import Recipe
from podiumd.core.recipe.params import bind_params
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play
from tests.core.test_builtin_recipes import NAMES_OF_OTHERS

FILE: Final = Path(__file__).parents[2] / "recipes" / "guided-design.toml"
PHASES: Final = ("goal-understanding", "agent-configuration", "blueprint-design", "complete")
KEYS: Final = ("goal_summary", "agent_config", "blueprint", "entities", "agents")
GOAL: Final = "A rota for the nurses of one ward {{ctx.agents}}"
SAVED: Final[dict[str, Any]] = {
    "goal_summary": GOAL,
    "agent_config": {"role": "A planner of shifts"},
    "blueprint": {"name": "Rota"},
    "entities": [{"name": "shift"}],
    "agents": [{"name": "planner"}],
}


def _checked(text: str) -> CheckResult:
    return check_text(text, file="guided-design", read_prompt=lambda name: name)


def _recipe(text: str | None = None) -> Recipe:
    recipe = _checked(text or FILE.read_text(encoding="utf-8")).recipe
    assert recipe is not None
    return recipe


RECIPE: Final = _recipe()


class Conversation:
    """The conversation as it is played: the agent calls tools, the person says something."""

    def __init__(self, recipe: Recipe = RECIPE, **params: str) -> None:
        self.play = Play(recipe, params=bind_params(recipe, params))
        self._calls = 0

    @property
    def phase(self) -> str | None:
        return self.play.state.step

    def call(self, tool: str, **args: Any) -> f.ToolUsed:
        """The agent of the phase calls a tool; its turn is begun first."""
        if self.play.state.turn is None:
            self.play.begin()
        self._calls += 1
        turn_id = self.play.turn.turn_id
        self.play.do(
            c.ReportToolCall, turn_id=turn_id, call_id=f"c{self._calls}", tool=tool, args=args
        )
        return self.play.last(f.ToolUsed)

    def save(self, *keys: str) -> Conversation:
        for key in keys:
            assert self.call("save", key=key, value=SAVED[key]).success
        return self

    def ends(self) -> Conversation:
        """The turn is over, and what the phase has to run at its end has nothing against it."""
        if self.play.state.turn is None:
            self.play.begin()
        self.play.over(texts=("So.",))
        while (move := self.play.state.next) is not None and move.kind == "hook":
            self.play.do(c.ReportHookEnd, index=move.index, exit_status=0)
        self.play.go()
        return self

    def moves(self, to: str) -> Conversation:
        assert self.call("transition", to=to, summary="Agreed").success
        return self.ends()

    def says(self, words: str) -> Conversation:
        self._calls += 1
        self.play.do(c.Say, uuid=f"said-{self._calls}", text=words)
        return self

    def until(self, phase: str) -> Conversation:
        """The straight way to the beginning of a phase."""
        if not self.play.state.waits_for_words:
            self.ends()
        self.says("It is right.").save("goal_summary").moves("agreed")
        if phase == "agent-configuration":
            return self
        return self.save("agent_config").moves("configured")


def test_it_checks_without_an_error_or_a_warning_and_its_work_is_bounded() -> None:
    result = _checked(FILE.read_text(encoding="utf-8"))

    assert result.findings == () and result.recipe is not None
    assert result.worst_case is not None and result.worst_case.minutes is not None
    assert result.recipe.id == "guided-design"
    assert all(param.default is not None for param in result.recipe.params.values())


def test_its_phases_and_its_context_have_the_promised_names() -> None:
    assert tuple(RECIPE.steps) == PHASES
    assert tuple(RECIPE.context) == KEYS
    assert {step.kind for step in RECIPE.steps.values()} == {"talk"}
    assert [name for name, step in RECIPE.steps.items() if step.auto] == ["agent-configuration"]
    assert [name for name, step in RECIPE.steps.items() if not step.on] == ["complete"]


@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_changes_nothing_and_says_so(phase: str) -> None:
    step = RECIPE.steps[phase]
    texts = f"{step.system}\n{step.opening}"

    assert step.tools == "read-only" and step.allow == ()
    assert (step.agent, step.model, step.permission_mode) == (None, None, None)
    assert "Write no code" in texts and "change no file" in texts
    assert "fetch nothing" in texts
    assert NAMES_OF_OTHERS.findall(texts) == []


@pytest.mark.parametrize("phase", PHASES[:3])
def test_a_phase_is_told_when_it_may_go_on_and_how(phase: str) -> None:
    step = RECIPE.steps[phase]
    assert step.system is not None
    for outcome, edge in step.on.items():
        assert f"`transition` to `{outcome}`" in step.system
        for key in edge.requires:
            assert f"`{key}`" in step.system, "what it has to save first"


def test_each_phase_begins_with_what_the_one_before_has_saved() -> None:
    uses = {
        name: set(re.findall(r"\{\{ctx\.(\w+)\}\}", step.system or ""))
        for name, step in RECIPE.steps.items()
    }
    assert uses == {
        "goal-understanding": {"goal_summary"},
        "agent-configuration": {"goal_summary"},
        "blueprint-design": set(KEYS),
        "complete": set(KEYS) - {"agent_config"},
    }


def test_the_whole_conversation_needs_the_person_where_it_should_and_ends_well() -> None:
    talk = Conversation(goal="a rota")
    assert "a rota" in talk.play.begin().turn.prompt
    assert talk.phase == "goal-understanding"
    assert talk.play.turn.served == ("ask", "save", "transition", "notify")
    talk.ends()
    assert talk.play.state.waits_for_words
    talk.until("agent-configuration")
    assert (talk.phase, talk.play.state.waits_for_words) == ("agent-configuration", False)
    talk.save("agent_config").moves("configured")
    assert talk.phase == "blueprint-design"
    assert talk.call("ask", question="Which shifts?", options=["early", "late"]).success
    talk.ends().play.answer("early")
    talk.save("blueprint", "entities", "agents").moves("designed")
    assert talk.phase == "complete"
    talk.ends()
    assert talk.play.reason == "conversation-complete"
    assert talk.play.state.exit is not None
    assert talk.play.state.exit.class_ == "completed"
    assert talk.play.state.ctx == SAVED


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("complete", "the ways are: agreed"),
        ("blueprint-design", "the ways are: agreed"),
        ("agreed", "needs 'goal_summary'"),
    ],
)
def test_a_phase_cannot_be_jumped_over_nor_left_unfinished(to: str, said: str) -> None:
    talk = Conversation()
    refused = talk.call("transition", to=to, summary="Quick")

    assert not refused.success and said in refused.message
    assert talk.ends().phase == "goal-understanding"


def test_a_blueprint_is_complete_only_with_all_its_parts() -> None:
    talk = Conversation().until("blueprint-design")
    refused = talk.call("transition", to="designed", summary="Done")
    assert "'blueprint', 'entities', 'agents'" in refused.message
    assert not talk.save("blueprint", "entities").call("transition", to="designed").success
    assert talk.save("agents").call("transition", to="designed").success


def test_what_is_saved_stands_in_the_texts_of_the_next_turn_and_is_not_read_again() -> None:
    talk = Conversation().until("agent-configuration")
    system = talk.play.begin().turn.system
    assert system is not None
    assert GOAL in system, "braces in a value stay as they are"
    talk.save("agent_config").moves("configured")
    system = talk.play.begin().turn.system
    assert system is not None and '{"role": "A planner of shifts"}' in system


def test_a_goal_that_turns_out_to_be_another_one_is_talked_about_again() -> None:
    talk = Conversation().until("blueprint-design").moves("goal-changed")
    assert talk.phase == "goal-understanding"
    system = talk.play.begin().turn.system
    assert system is not None and GOAL in system, "what was agreed on is not forgotten"


def test_whoever_goes_back_and_forth_for_ever_is_asked_whether_to_go_on() -> None:
    talk = Conversation()
    for _ in range(5):
        assert talk.play.state.open_questions == ()
        talk.until("blueprint-design").moves("goal-changed")
    assert talk.play.question.kind == "limit"
    talk.play.answer("stop")
    assert talk.play.reason == "max-step-visits-exceeded:goal-understanding"


def test_the_blueprint_is_written_at_the_end_of_each_turn_of_its_design() -> None:
    hooks = {name: step.hooks for name, step in RECIPE.steps.items() if step.hooks}
    (hook,) = hooks.pop("blueprint-design")
    assert hooks == {}
    assert hook.event == "turn-end"
    assert hook.run == ("podium:write", "docs/blueprint.md", "docs/blueprint.json")


def test_a_phase_more_is_a_table_more_and_no_line_of_python() -> None:
    """Somebody wants the blueprint priced before it is done: that is all they write."""
    text = FILE.read_text(encoding="utf-8")
    text = text.replace('designed     = { to = "complete"', 'designed     = { to = "pricing"')
    text = text.replace("[context]\n", '[context]\nprice = "number"\n')
    text += """
[steps.pricing]
talk = true
tools = "read-only"
opening = "Say what it will cost."
system = "You say what this costs: {{ctx.blueprint}}"

[steps.pricing.on]
priced = { to = "complete", requires = ["price"] }
"""
    assert _checked(text).findings == ()
    talk = (
        Conversation(_recipe(text))
        .until("blueprint-design")
        .save("blueprint", "entities", "agents")
    )
    assert talk.moves("designed").phase == "pricing"
    assert "'price'" in talk.call("transition", to="priced").message
    assert talk.call("save", key="price", value=1200).success
    assert talk.moves("priced").phase == "complete"
    assert replace(RECIPE, id="x") != RECIPE, "the one that ships is another one"
