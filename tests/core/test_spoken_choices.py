from __future__ import annotations

import pytest

from podiumd.core.voice.grammar import recognise
from podiumd.core.voice.language import tokens, utterance
from tests.core.languages import LANGUAGES
from tests.core.spoken_corpus import lines, question

DATABASES = (
    ("pg", "PostgreSQL (recommended)"),
    ("lite", "SQLite"),
    ("my", "MySQL 8"),
    ("ok", "OK"),
)


def chosen(text: str, language: str = "en", **given: object) -> str | None:
    fields = {"kind": "ask", "choices": DATABASES, "tool": None} | given
    spoken = recognise(text, LANGUAGES[language], question(**fields))  # type: ignore[arg-type]
    return spoken.choice if spoken is not None else None


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "option two|number 2|the second one|the second|second option|I'll take option two"),
        (
            "en",
            "option number two|go with SQLite|choose SQLite, please|lite|answer B|second|two",
        ),
        ("de", "Option zwei|Nummer 2|die zweite|die zweite Option|ich nehme die zweite|zwo"),
        ("de", "Antwort B|nimm SQLite|zweite|bitte Option zwei"),
        ("fr", "option deux|l'option deux|numéro 2|la deuxième|le deuxième choix|réponse B"),
        ("fr", "je prends la deuxième|je choisis SQLite"),
        ("es", "opción dos|número 2|la segunda|la segunda opción|elijo la segunda|letra B"),
        ("it", "opzione due|numero 2|la seconda|la seconda opzione|scelgo la seconda|lettera B"),
        ("nl", "optie twee|nummer 2|de tweede|de tweede optie|ik kies de tweede|letter B"),
        ("pt", "opção dois|número 2|a segunda|a segunda opção|escolho a segunda|letra B"),
    ],
)
def test_the_second_choice_is_named_in_many_ways(language: str, said: str) -> None:
    assert {one: chosen(one, language) for one in said.split("|")} == dict.fromkeys(
        said.split("|"), "lite"
    )


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "the last one"),
        ("de", "die letzte"),
        ("fr", "la dernière"),
        ("es", "la última"),
        ("it", "l'ultima"),
        ("nl", "de laatste"),
        ("pt", "a última"),
    ],
)
def test_the_last_choice_is_named(language: str, said: str) -> None:
    assert chosen(said, language) == "ok"


@pytest.mark.parametrize(
    "said",
    lines(
        "option nine|option Z|option|the one|the option|choose one|pick one|a|b|I|use|the|the two"
        "|option two three|two options|the second thing|OK|okay|SQLite is nice|not SQLite|SQLite?"
        "|option two?|0|MySQL"
    ),
)
def test_what_names_no_choice_chooses_none(said: str) -> None:
    assert chosen(said) is None


@pytest.mark.parametrize(
    ("language", "said"),
    [tuple(one.split()) for one in lines("fr un|fr une|nl een|pt um|pt uma|es una|it una|de eine")],
)
def test_an_article_alone_is_no_number(language: str, said: str) -> None:
    assert chosen(said, language) is None


def test_a_label_is_compared_without_what_stands_in_parentheses() -> None:
    assert chosen("PostgreSQL") == "pg"
    assert chosen("postgresql recommended") == "pg"
    assert chosen("MySQL 8") == "my"


def test_two_choices_with_one_label_are_told_apart_by_number_only() -> None:
    twins = (("a", "Same"), ("b", "Same"))
    assert chosen("same", choices=twins) is None
    assert chosen("option two", choices=twins) == "b"


def test_a_gate_steps_own_choices_are_named_as_they_are_written() -> None:
    choices = (("staging", "staging"), ("production", "production"))
    assert chosen("Production.", kind="gate", choices=choices) == "production"
    assert chosen("Produktion", "de", kind="gate", choices=choices) is None


def test_yes_and_no_among_other_choices_are_said_in_the_persons_language_too() -> None:
    choices = (("yes", "yes"), ("no", "no"), ("later", "später"))
    assert chosen("ja, bitte", "de", kind="gate", choices=choices) == "yes"
    assert chosen("nein", "de", kind="gate", choices=choices) == "no"
    assert chosen("später", "de", kind="gate", choices=choices) == "later"
    assert chosen("ja", "de", choices=DATABASES) is None


def test_yes_and_no_of_an_agents_question_are_said_in_the_persons_language() -> None:
    choices = (("Yes", "Yes"), ("No", "No"))
    assert chosen("ja", "de", choices=choices) == "Yes"
    assert chosen("yes", "de", choices=choices) is None
    assert chosen("no", choices=choices) == "No"


@pytest.mark.parametrize(
    ("kind", "said", "choice"),
    [
        ("gate", "yes", "yes"),
        ("gate", "approve", "yes"),
        ("gate", "no", "no"),
        ("limit", "more", "more"),
        ("limit", "the same again, once", "more"),
        ("limit", "approve", "more"),
        ("limit", "stop", "stop"),
        ("limit", "yes", None),
        ("recover", "retry", "retry"),
        ("recover", "try it again", "retry"),
        ("recover", "continue", "continue"),
        ("recover", "go on", "continue"),
        ("recover", "stop", "stop"),
        ("recover", "approve", None),
        ("approval", "always", "always"),
        ("approval", "allow once", "allow"),
        ("approval", "retry", None),
        ("approval", "the first one", "allow"),
        ("approval", "one", None),
    ],
)
def test_podiums_own_questions_have_their_own_words(
    kind: str, said: str, choice: str | None
) -> None:
    from podiumd.core.decide.decision import CHOICES

    assert chosen(said, kind=kind, choices=CHOICES[kind]) == choice


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_of_a_language_is_recognised_by_itself(language: str) -> None:
    for phrase, kind in LANGUAGES[language].phrases.items():
        text = " ".join(phrase)
        if kind in ("approve", "yes"):
            assert chosen(text, language, kind="gate", choices=(("yes", "Yes"), ("no", "No")))
        spoken = recognise(text, LANGUAGES[language], None)
        plain = kind in ("yes", "no", "always", "more", "retry", "go_on")
        assert (spoken is None) == plain, (text, kind)


def test_plain_words_are_all_that_counts_of_an_utterance() -> None:
    assert tokens("  Don't  Stop! ") == ("don", "t", "stop")
    assert utterance("[noise]") is None
    assert utterance("...") is None
    assert utterance("a " * 100) is None
    assert utterance("no " * 20) is None
    heard = utterance("Really?")
    assert heard is not None
    assert (heard.tokens, heard.asks) == (("really",), True)
