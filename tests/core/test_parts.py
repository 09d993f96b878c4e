"""The parts of agents in a recipe: each step is given to the one that a name or parameter says."""

from __future__ import annotations

import pytest

from podiumd.core.analysis.check import check_recipe
from podiumd.core.analysis.check_agents import (
    Capabilities,
    Described,
    KnownAgents,
    check_agents,
)
from podiumd.core.findings import Notes
from podiumd.core.recipe.model import Param, Recipe, Step
from podiumd.core.recipe.parts import agents_of, chosen_by, doubled, doubt, given_out
from podiumd.core.structs import replace
from podiumd.core.toml_lines import TomlLines
from tests.core.builders import a_recipe, a_step, leave, to

PARTS = {
    "task": Param(type="string", default=""),
    "implementer": Param(type="agent", default=""),
    "reviewer": Param(type="agent"),
}


@pytest.mark.parametrize(
    ("agent", "param"),
    [
        (None, None),
        ("codex", None),
        ("{{reviewer}}", "reviewer"),
        (" {{ reviewer }} ", "reviewer"),
        ("my-{{reviewer}}", None),
        ("{{a}}{{b}}", None),
        ("{{.Name}}", None),
    ],
)
def test_a_parameter_names_the_agent_if_it_is_all_that_is_there(
    agent: str | None, param: str | None
) -> None:
    assert chosen_by(agent) == param


def _recipe() -> Recipe:
    steps = {
        "work": a_step(agent="{{implementer}}", model="big", on={"complete": to("review")}),
        "review": a_step(agent="{{reviewer}}", session="fresh", on={"complete": to("sum-up")}),
        "sum-up": a_step(model="small", permission_mode="plan", on={"complete": to("check")}),
        "check": Step(kind="command", run=("true",), on={"passed": leave("all-done", "completed")}),
        "own": a_step(agent="kimi", model="k2"),
    }
    return replace(a_recipe(steps), params=PARTS)


def test_an_empty_parameter_means_the_runs_own_agent_and_other_parameters_no_agent() -> None:
    values = {"task": "claude", "implementer": "", "reviewer": "codex "}
    assert agents_of(_recipe(), values, "kimi") == {"implementer": "kimi", "reviewer": "codex"}


def test_the_runs_agent_takes_the_steps_that_name_none_and_no_other_step() -> None:
    agents = {"implementer": "claude", "reviewer": "codex"}
    by_default = given_out(_recipe(), agents, "claude", "claude").steps
    assert {name: step.agent for name, step in by_default.items()} == {
        "work": "claude",
        "review": "codex",
        "sum-up": None,
        "check": None,
        "own": "kimi",
    }
    chosen = given_out(_recipe(), agents, "codex", "claude").steps
    assert {name: step.agent for name, step in chosen.items()} == {
        name: step.agent for name, step in by_default.items()
    }
    assert chosen["check"] == by_default["check"] == _recipe().steps["check"]


def test_words_of_a_step_for_the_default_agent_mean_nothing_to_another_that_is_given_it() -> None:
    agents = {"implementer": "claude", "reviewer": "codex"}
    steps = given_out(_recipe(), agents, "codex", "claude").steps
    assert (steps["sum-up"].model, steps["sum-up"].permission_mode) == (None, None)
    assert (steps["own"].model, steps["work"].model) == ("k2", "big")
    kept = given_out(_recipe(), agents, "claude", "claude").steps["sum-up"]
    assert (kept.model, kept.permission_mode) == ("small", "plan")


def test_an_agent_in_two_parts_is_doubted_in_a_sentence_with_a_way_out() -> None:
    assert doubled({"a": "claude", "b": "codex"}) == {}
    [(agent, params)] = doubled({"a": "claude", "b": "codex", "c": "claude", "d": "claude"}).items()
    assert doubt(agent, params) == (
        "'claude' is a, c and d: these parts are meant for different agents; choose another with "
        "-p d=AGENT"
    )


def _findings(said: Described, step: Step) -> list[str]:
    can = Capabilities(resume=True, fork=True, permission_modes=("ask",))
    agents = KnownAgents(can={"kimi": can}, own="kimi", described={"kimi": said})
    recipe = a_recipe({"work": step})
    found = check_recipe(recipe, Notes("r.toml", TomlLines("")), agents=agents).findings
    return [finding.message for finding in found if finding.code == "agent-capability"]


def test_what_an_agent_said_of_itself_counts_where_its_table_promises_more() -> None:
    same, forked = a_step(), a_step(session="fork")
    assert _findings(Described("2.1.0"), same) == []
    [message] = _findings(Described("2.1.0", lacks=("resume",)), same)
    assert message == (
        "agent 'kimi' cannot go on with a conversation: write session = \"fresh\", or give the "
        "step another agent (version 2.1.0 has said so; a prompt to the agent asks it again)"
    )
    [message] = _findings(Described(lacks=("fork",)), forked)
    assert message.endswith("another agent (it has said so; a prompt to the agent asks it again)")


def test_the_modes_that_an_agent_told_are_those_that_a_step_can_name() -> None:
    step = a_step(permission_mode="yolo")
    assert _findings(Described(modes=("ask", "yolo")), step) == []
    [message] = _findings(Described("3", modes=("ask", "plan")), a_step(permission_mode="yolo"))
    assert "has no permission mode 'yolo' (it has: ask, plan)" in message


def test_an_agent_that_asks_once_a_setting_says_how_is_not_said_never_to_ask() -> None:
    recipe = a_recipe({"work": a_step(agent="mine", allow=("Edit",), needs=("approvals",))})
    can, settings = {"mine": Capabilities(resume=True)}, {"mine": "ask_mode"}
    notes = Notes("r.toml", TomlLines(""))
    check_agents(recipe, notes, KnownAgents(can=can, ask_settings=settings))
    remedy = "set [agents.mine] ask_mode ('podium agent try mine' lists its modes)"
    words = f"agent 'mine' is not known to ask before it uses a tool: {remedy}"
    assert {one.message for one in notes.findings} == {f"{words}, or give the step another agent"}
    notes = Notes("r.toml", TomlLines(""))
    check_agents(recipe, notes, KnownAgents(can=can))
    assert [finding.message.partition(": ")[2] for finding in notes.findings] == [
        "remove 'allow', or give the step another agent",
        "remove 'approvals' from 'needs', or give the step another agent",
    ]
