"""A recipe as data: what its steps allow and where their outcomes lead."""

from __future__ import annotations

import msgspec

from podiumd.core.recipe.model import Edge, Limits, Param, Recipe, Step

TURN = Step(
    kind="turn",
    prompt="Do it.",
    outcomes=("complete", "blocked"),
    on={"complete": Edge(to="ask"), "blocked": Edge(exit="stuck", class_="blocked")},
)
ASK = Step(kind="gate", ask="Go on?", choices=("yes", "no"), outcomes=("yes", "no"))
COMMAND = Step(kind="command", run=("make",), outcomes=("passed", "failed"))


def _recipe(initial: str = "work") -> Recipe:
    return Recipe(
        id="r",
        label="R",
        description="",
        initial=initial,
        params={"n": Param(type="integer", default=1), "b": Param(type="boolean", default=True)},
        limits=Limits(max_minutes=1.5),
        context={"goal": "", "list": [1, "a"]},
        steps={
            "work": TURN,
            "ask": ASK,
            "again": Step(kind="turn", outcomes=("other", "done", "complete")),
            "make": COMMAND,
            "talk": Step(kind="talk", opening="Hello.", outcomes=("ready",)),
        },
        digest="00",
    )


def test_a_recipe_survives_storage() -> None:
    stored = msgspec.json.encode(_recipe())
    assert msgspec.json.decode(stored, type=Recipe) == _recipe()
    assert b'"class":"blocked"' in stored
    assert list(msgspec.json.decode(stored, type=Recipe).steps) == list(_recipe().steps)


def test_a_turn_may_always_end_with_other() -> None:
    assert TURN.allowed_outcomes == ("complete", "blocked", "other")
    assert _recipe().steps["again"].allowed_outcomes == ("done", "complete", "other")
    assert COMMAND.allowed_outcomes == ("passed", "failed")


def test_the_union_is_of_all_turns_with_other_last() -> None:
    assert _recipe().union_outcomes() == ("complete", "blocked", "done", "other")


def test_the_first_prompt_is_what_the_first_step_says() -> None:
    assert _recipe().first_prompt == "Do it."
    assert _recipe("ask").first_prompt == "Go on?"
    assert _recipe("talk").first_prompt == "Hello."
    assert _recipe("make").first_prompt == ""


def test_an_outcome_leads_along_its_edge_or_a_built_in_one() -> None:
    assert TURN.edge("complete") == Edge(to="ask")
    assert TURN.edge("other") == Edge(exit="user-provided-other", class_="needs-user")
    assert TURN.edge("checks-failed") == Edge(exit="checks-failed")
    assert TURN.edge("declined") == Edge(exit="gate-declined")
    assert TURN.edge("unheard-of") is None
    own = msgspec.structs.replace(TURN, on={"other": Edge(to="ask")})
    assert own.edge("other") == Edge(to="ask")


def test_no_to_a_gate_step_is_declining() -> None:
    assert ASK.edge("no") == Edge(exit="gate-declined")
    declined = msgspec.structs.replace(ASK, on={"declined": Edge(to="work")})
    assert declined.edge("no") == Edge(to="work")
    no = msgspec.structs.replace(ASK, on={"no": Edge(to="make")})
    assert no.edge("no") == Edge(to="make")


def test_a_recipe_commits_where_a_step_of_it_does() -> None:
    committing = msgspec.structs.replace(TURN, commits=True)
    recipe = _recipe()
    assert not recipe.commits
    steps = {**recipe.steps, "work": committing}
    assert msgspec.structs.replace(recipe, steps=steps).commits
