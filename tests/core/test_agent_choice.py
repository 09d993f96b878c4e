"""Agents chosen for a recipe of the package are refused by the option that chose them."""

from __future__ import annotations

from typing import Any

from podiumd.core.analysis.agent_choice import refuse_choice
from podiumd.core.analysis.check_agents import Capabilities, KnownAgents
from podiumd.core.recipe.model import Param, Recipe, Step
from podiumd.core.recipe.parts import agents_of, given_out
from podiumd.core.structs import replace
from tests.core.builders import a_recipe, a_step, leave, to

ABLE = Capabilities(approvals=True, resume=True, read_only_tools=True)
AGENTS = {
    "claude": ABLE,
    "codex": ABLE,
    "kimi": replace(ABLE, read_only_tools=False),
    "mine": replace(ABLE, approvals=False),
}


def _refusal(recipe: Recipe, own: str = "claude", **chosen: str) -> str | None:
    agents = agents_of(recipe, chosen, own)
    known = KnownAgents(can=AGENTS, own=own, ask_settings={"mine": "ask_mode"})
    return refuse_choice(given_out(recipe, agents, own, "claude"), recipe, known, AGENTS)


def _recipe(**steps: Step) -> Recipe:
    params = {"reviewer": Param(type="agent", default="")}
    return replace(a_recipe(steps), params=params)


def _review(**more: Any) -> Step:
    return a_step(session="fresh", tools="read-only", **more)


PARTS = _recipe(
    work=a_step(on={"complete": to("check")}, allow=("Edit",)),
    check=Step(kind="command", run=("true",), on={"passed": leave("all-done", "completed")}),
    review=_review(agent="{{reviewer}}"),
    mend=a_step(allow=("Edit",)),
)


def test_the_option_that_chose_it_is_named_with_the_agents_that_fit() -> None:
    assert _refusal(PARTS, reviewer="kimi") == (
        "Step 'review': agent 'kimi' cannot be limited to tools that only read. "
        "Choose another with -p reviewer=AGENT (here: claude, codex, mine)."
    )


def test_what_several_steps_demand_is_said_once_and_a_setting_that_mends_it_first() -> None:
    assert _refusal(PARTS, own="mine", reviewer="codex") == (
        "Steps 'work', 'mend': agent 'mine' is not known to ask before it uses a tool. "
        "Set [agents.mine] ask_mode ('podium agent try mine' lists its modes), or choose another "
        "with --agent AGENT (here: claude, codex, kimi)."
    )


def test_each_choice_that_does_not_fit_has_its_own_words() -> None:
    words = _refusal(PARTS, own="mine", reviewer="kimi")
    assert words is not None
    assert words.count("-p reviewer=AGENT") == words.count("--agent AGENT") == 1


def test_it_is_said_where_none_fits() -> None:
    review = _review(agent="{{reviewer}}", needs=("cost",))
    words = _refusal(_recipe(review=review), reviewer="kimi")
    assert words is not None
    assert "that only read, and does not say what a turn costs. " in words
    assert words.endswith("Choose another with -p reviewer=AGENT (none of those here fits).")


def test_a_choice_that_fits_and_an_agent_that_the_recipe_names_are_not_refused_so() -> None:
    assert _refusal(PARTS, reviewer="codex") is None
    assert _refusal(_recipe(review=_review(agent="kimi")), reviewer="codex") is None
