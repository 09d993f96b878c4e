"""A recipe may come from a stranger: what it can cost to read one is bounded."""

from __future__ import annotations

import pytest

from podiumd.core.analysis.check import check_recipe
from podiumd.core.findings import MOST_FINDINGS, nearest
from podiumd.core.recipe.load import RecipeInvalid, load_recipe, read_recipe
from podiumd.core.recipe.steps import MOST_PROMPT_TEXT

HEAD = 'format = 1\nid = "many"\ninitial = "s0"\n'
STEP = '[steps.s{0}]\nprompt_file = "p"\non.done.exit = "task-committed"\n'


def invalid(text: str, prompt: str = "Go.") -> RecipeInvalid:
    with pytest.raises(RecipeInvalid) as caught:
        load_recipe(text, file="r.toml", read_prompt=lambda name: prompt)
    return caught.value


def test_a_recipe_that_is_wrong_everywhere_is_told_a_hundred_faults_in_order() -> None:
    wrong = "".join(f"[steps.s{n}]\nprompt = 'x'\non.done.to = 'no{n}'\n" for n in range(300))
    fault = invalid(HEAD + wrong)
    lines = [finding.line or 0 for finding in fault.findings]
    assert (len(lines), lines, fault.id) == (MOST_FINDINGS, sorted(lines), "many")


def test_a_recipe_with_too_many_faults_before_its_id_has_one_all_the_same() -> None:
    unknown = "".join(f"k{number} = 1\n" for number in range(300))
    assert invalid(unknown + HEAD).id == "many"
    assert invalid(unknown + 'id = "No name"\n').id is None


def test_a_graph_that_is_wrong_everywhere_is_told_a_hundred_faults() -> None:
    text = HEAD + "".join(STEP.format(number) for number in range(300))
    recipe, notes = read_recipe(text, file="r.toml", read_prompt=lambda name: "Go.")
    assert (
        len(check_recipe(recipe, notes).findings) == MOST_FINDINGS
    )  # no step but the first is reached


def test_a_variable_that_does_not_exist_is_told_once_a_text() -> None:
    first, second = invalid(HEAD + STEP.format(0), "Go.\n{{x}} {{x}}\n{{y}}\n{{x}}").findings
    assert ("'{{x}}'" in first.message, first.line) == (True, 2)
    assert ("'{{y}}'" in second.message, second.line) == (True, 3)


def test_prompt_files_are_bounded_in_all_and_count_as_often_as_they_are_used() -> None:
    half = "x" * (MOST_PROMPT_TEXT // 2)
    two = HEAD + STEP.format(0) + STEP.format(1)
    recipe = load_recipe(two, file="r.toml", read_prompt=lambda name: half)
    assert len(recipe.steps) == 2
    (finding,) = invalid(two + STEP.format(2), half).findings
    assert (finding.code, finding.step) == ("bad-value", "s2")
    assert "over 1 MiB" in finding.message


@pytest.mark.parametrize(
    "key",
    ["a." * 64 + "a", "[" + "a . " * 64 + "a]", '"a".' * 64 + "a", "x = {" + "'a'." * 64 + "a"],
)
def test_a_key_of_names_without_end_is_refused_before_it_is_parsed(key: str) -> None:
    (finding,) = invalid(f"format = 1\n{key} = 1\n").findings
    assert (finding.code, finding.line) == ("syntax", 2)
    assert "more than 64 names" in finding.message


def test_long_words_and_many_dots_in_a_prompt_are_no_key() -> None:
    prompt = "One. Two. Three... " * 40 + "a" * 10_000 + "." * 10_000
    text = HEAD + f'[steps.s0]\nprompt = "{prompt}"\non.done.exit = "task-committed"\n'
    recipe = load_recipe(text, file="r.toml", read_prompt=lambda name: "")
    assert recipe.steps["s0"].prompt == prompt


def test_the_nearest_name_is_looked_for_among_a_bounded_number() -> None:
    known = [f"name-{number}" for number in range(10_000)]
    assert nearest("name-9999", known) == "the nearest known is 'name-99'"
    assert nearest("x" * 10_000, ["y" * 10_000]) == f"known here: '{'y' * 100}'"


def test_a_name_that_is_like_none_is_not_guessed_at() -> None:
    """A few names are listed instead; of many it is said that none is like it."""
    few = ["pause", "resume", "mine"]
    assert nearest("nope", few) == "known here: 'pause', 'resume', 'mine'"
    assert nearest("nope", few * 3) == "none of those known here is like it"
    assert nearest("nope", []) == "none is known here"
    assert nearest("puase", few * 3) == "the nearest known is 'pause'"
