"""The text of every prompt, word for word; a recipe's ends with the block, whatever came before."""

from __future__ import annotations

import pytest

from podiumd.core.prompts import prompts
from podiumd.core.recipe.model import Param
from podiumd.core.run import commands as c
from tests.core.builders import Play, a_recipe, a_step, review_loop

BLOCK = """\
End your response with a JSON block on the last line:
{"outcome": "<outcome>"}

or if needed:

{"outcome": "other", "otherDescription": "<brief description>"}

Your possible outcomes for this step: complete, blocked, other"""


def test_a_step_is_told_what_to_do_and_how_to_report_it() -> None:
    assert Play(review_loop()).begin().turn.prompt == f"Do the work.\n\n{BLOCK}"


def test_a_retry_names_the_error_and_repeats_the_block() -> None:
    play = Play(review_loop())
    play.reply("Done.")

    assert play.begin().turn.prompt == (
        "Please respond again with JSON per the instructions.\n\n"
        "What was wrong with the last response: it holds no JSON object with an outcome.\n\n"
        f"{BLOCK}"
    )


def test_a_go_on_prompt_is_about_the_step() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Interrupt)
    play.over("interrupted")
    play.do(c.Resume)

    assert play.begin().turn.prompt == f"{prompts.GO_ON}\n\n{BLOCK}"


def test_a_turn_that_was_cut_off_is_told_so() -> None:
    play = Play(review_loop()).begin()
    play.over("broken")

    assert play.begin().turn.prompt == f"{prompts.INTERRUPTED}\n\n{BLOCK}"


def test_what_was_said_in_between_stands_before_the_block() -> None:
    play = Play(review_loop())
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.Steer, uuid="s2", text="Be quick.")

    assert play.begin().turn.prompt == (
        f"Do the work.\n\n{prompts.STEERED}\n\nUse tabs.\n\nBe quick.\n\n{BLOCK}"
    )


def test_what_is_too_much_for_one_prompt_waits_for_the_next() -> None:
    """An agent takes a prompt in one line of a mebibyte."""
    play = Play(review_loop())
    first, second, third = ("ä" * (prompts.MOST_BYTES // 3), "b" * prompts.MOST_BYTES, "c")
    for name, text in (("s1", first), ("s2", second), ("s3", third)):
        play.do(c.Steer, uuid=name, text=text)

    assert play.begin().turn.carried == ("s1",)
    assert play.turn.prompt == f"Do the work.\n\n{prompts.STEERED}\n\n{first}\n\n{BLOCK}"
    play.reply("Done.")
    assert play.begin().turn.carried == ("s2",) and second in play.turn.prompt
    play.reply("Done.")
    assert play.begin().turn.carried == ("s3",) and play.state.steers == ()


def test_what_was_said_goes_into_a_retry_too_and_the_block_stays_last() -> None:
    play = Play(review_loop())
    play.reply("Done.")
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    prompt = play.begin().turn.prompt

    assert prompt.startswith("Please respond again with JSON per the instructions.")
    assert prompt.endswith(f"{prompts.STEERED}\n\nUse tabs.\n\n{BLOCK}")
    assert prompt.count("End your response") == 1


def test_a_prompt_that_is_told_again_keeps_what_was_added_and_has_one_block() -> None:
    play = Play(review_loop())
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.begin().over("broken", prompt_recorded=False)

    assert play.begin().turn.prompt == (
        f"{prompts.INTERRUPTED}\n\n{prompts.ORIGINAL}\n\nDo the work.\n\n"
        f"{prompts.STEERED}\n\nUse tabs.\n\n{BLOCK}"
    )


def test_a_plain_prompt_is_told_again_without_anything_appended() -> None:
    assert prompts.interrupted("Say hello.\n", ()).endswith(f"{prompts.ORIGINAL}\n\nSay hello.\n")
    assert prompts.go_on("Say hello.", ()) == (
        f"{prompts.PLAIN_GO_ON}\n\n{prompts.ORIGINAL}\n\nSay hello."
    )


def test_a_prompt_that_only_said_it_was_interrupted_is_not_wrapped_in_another() -> None:
    told = prompts.compose(prompts.INTERRUPTED, ["Use tabs."], ("complete",))

    assert prompts.interrupted(told, ("complete",)) == (
        f"{prompts.INTERRUPTED}\n\n{prompts.STEERED}\n\nUse tabs."
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [("a {{label}} b", "a {{label}} b"), (7, "7"), (True, "true"), (False, "false")],
)
def test_parameters_are_filled_in_once(value: str | int | bool, text: str) -> None:
    params = {"issue": Param(type="string"), "label": Param(type="string")}
    recipe = a_recipe({"work": a_step("Fix {{issue}}.")}, params=params)
    play = Play(recipe, params={"issue": value, "label": "x"})

    assert play.begin().turn.prompt.startswith(f"Fix {text}.\n\nEnd your response")
