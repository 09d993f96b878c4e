from __future__ import annotations

import pytest

from podiumd.core.recipe.model import Recipe
from podiumd.core.voice.grammar import asked_of, question_words
from podiumd.core.voice.question import label_of, what
from tests.core.builders import DIRECTORY, Play, a_question, a_recipe, a_step, leave, to
from tests.core.languages import LANGUAGES
from tests.core.spoken_corpus import question


def gated(recipe: Recipe) -> Play:
    return Play(recipe).go()


def test_an_agents_call_is_asked_with_its_risks() -> None:
    play = Play(a_recipe()).begin()
    play.approve("Bash", input={"command": f"rm -rf {DIRECTORY}/build"})
    asked = asked_of(play.state, play.question)

    assert asked.question_id == play.question.question_id
    assert (asked.kind, asked.tool, asked.tree) == ("approval", "Bash", DIRECTORY)
    assert asked.risks == ("destructive",)


def test_a_call_of_a_plain_prompt_has_no_step() -> None:
    play = Play().begin()
    play.approve("Bash", input={"command": "pytest"})
    assert asked_of(play.state, play.question).risks == ()


def test_everything_asked_in_an_irreversible_step_is_irreversible() -> None:
    play = gated(a_recipe({"work": a_step(gate="Deploy?", irreversible=True)}))
    assert asked_of(play.state, play.question).risks == ("irreversible",)


def test_a_gate_step_that_leads_to_an_irreversible_one_is_irreversible() -> None:
    steps = {
        "ask": a_question("Deploy?", yes=to("deploy"), no=leave("gate-declined")),
        "deploy": a_step(irreversible=True),
    }
    play = gated(a_recipe(steps))
    assert asked_of(play.state, play.question).risks == ("irreversible",)


def test_a_gate_step_that_leads_nowhere_special_has_no_risk() -> None:
    play = gated(a_recipe({"ask": a_question("Go?", yes=to("ask"), no=leave("gate-declined"))}))
    assert asked_of(play.state, play.question).risks == ()


def test_a_yes_to_more_words_than_are_read_aloud_must_be_confirmed() -> None:
    play = gated(a_recipe({"work": a_step(gate="Go? " + "x" * 500)}))
    asked = asked_of(play.state, play.question)
    assert asked.risks == ("long",)
    assert what(asked, LANGUAGES["en"]).endswith("… It is longer than that: read it on the screen.")


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("Bash", {"command": "pytest -q"}, "Run the command pytest -q."),
        ("run_command", {"command": ["make", "x"]}, "Run the command make x."),
        ("Edit", {"file_path": "/home/me/project/src/a.py"}, "Change the file src/a.py."),
        ("Write", {"file_path": "/etc/hosts"}, "Change the file /etc/hosts."),
        ("Read", {"file_path": "src/b.py"}, "Read src/b.py."),
        ("WebFetch", {"url": "https://example.org"}, "Read https://example.org."),
        ("mcp__x__merge", None, "Use the tool mcp__x__merge."),
        ("Bash", {"command": "echo a\u202e\n b"}, "Run the command echo a b."),
    ],
)
def test_the_call_itself_is_read_back(
    tool: str, given: dict[str, object] | None, said: str
) -> None:
    assert what(question(tool=tool, input=given), LANGUAGES["en"]) == said


def test_a_long_command_is_read_in_part_and_says_so() -> None:
    said = what(question(input={"command": "echo " + "a" * 300}), LANGUAGES["en"])
    assert said.endswith("It is longer than that: read it on the screen.")
    assert len(said) < 250


def test_a_question_is_read_with_its_choices() -> None:
    choices = (("a", "Use \n Postgres"), ("b", ""))
    asked = question("ask", text="Which one", choices=choices, tool=None)
    assert question_words(asked, LANGUAGES["de"]) == "Which one. Sage Use Postgres oder b."
    single = question("gate", text="Go?", choices=(("go", "go"),), tool=None)
    assert question_words(single, LANGUAGES["en"]) == "Go? Say go."
    assert (
        question_words(question("ask", text="Why?", choices=(), tool=None), LANGUAGES["en"])
        == "Why?"
    )


def test_choices_of_podiums_own_are_named_by_a_word_that_is_understood() -> None:
    from podiumd.core.decide.decision import CHOICES
    from podiumd.core.voice.grammar import recognise

    for language in LANGUAGES.values():
        for kind, choices in CHOICES.items():
            asked = question(kind, choices=choices, tool=None)  # type: ignore[arg-type]
            for choice, _label in choices:
                word = label_of(choice, asked, language)
                spoken = recognise(word, language, asked)
                assert spoken is not None, (language, kind, word)
                assert spoken.choice == choice, (language, kind, word)
