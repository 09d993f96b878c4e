"""Near misses, noise and ordinary sentences never give leave; real commands are understood."""

from __future__ import annotations

import pytest

from podiumd.core.voice.grammar import Asked, Heard, hear, recognise
from tests.core.languages import LANGUAGES
from tests.core.spoken_corpus import approving, commands, near_misses, question
from tests.long import sampled

NEAR_MISSES = sorted(set(near_misses()))
# An eighth of every language's, and all of them.
SAMPLES = sampled([NEAR_MISSES[::8], NEAR_MISSES])
GIVING = {"allow", "always", "yes", "more", "retry", "continue"}
PLAN = question("ask", text="Do it like this?", choices=(("yes", "Yes"), ("no", "No")), tool=None)
RECOVERY = question("recover", text="The turn was cut off.")


def heard(text: str, language: str, asked: Asked | None) -> Heard:
    return hear(
        text,
        language=LANGUAGES[language],
        asked=asked,
        pending=None,
        device="phone",
        utterance_id="u-1",
        began=1.0,
        now=2.0,
    )


def test_there_are_many_near_misses() -> None:
    assert len(NEAR_MISSES) > 1000
    assert len({text for _language, text in NEAR_MISSES}) > 1000


@pytest.mark.parametrize(
    "asked", [question(), question("gate"), question("limit"), RECOVERY, PLAN, None]
)
@pytest.mark.parametrize("misses", SAMPLES, ids=["some", "all"])
def test_no_near_miss_noise_or_ordinary_sentence_gives_leave(
    misses: list[tuple[str, str]], asked: Asked | None
) -> None:
    results = [(language, text, heard(text, language, asked)) for language, text in misses]

    assert [one for one in results if one[2].state == "applied" and one[2].choice in GIVING] == []


@pytest.mark.parametrize("misses", SAMPLES, ids=["some", "all"])
def test_no_near_miss_confirms_what_was_read_back(misses: list[tuple[str, str]]) -> None:
    risky = question(risks=("destructive",))
    asked_for = heard("approve", "en", risky)
    assert asked_for.state == "confirm"

    for language, text in misses:
        then = hear(
            text,
            language=LANGUAGES[language],
            asked=risky,
            pending=asked_for.pending,
            device="phone",
            utterance_id="u-2",
            began=5.0,
            now=6.0,
        )
        assert (then.state, then.choice) != ("applied", "allow"), (language, text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_at_least_95_of_100_real_commands_are_understood(language: str) -> None:
    said = commands(language)
    wrong = []
    for text, wanted in said:
        spoken = recognise(text, LANGUAGES[language], question())
        got = (spoken.choice or spoken.command) if spoken is not None else None
        if got != wanted:
            wrong.append((text, wanted, got))

    assert wrong == []


def test_the_real_commands_are_a_hundred() -> None:
    assert sum(len(commands(language)) for language in LANGUAGES) >= 100


@pytest.mark.parametrize("spoken_in", LANGUAGES)
def test_a_word_of_one_language_gives_no_leave_in_another(spoken_in: str) -> None:
    own = set(approving(spoken_in))
    for other in LANGUAGES:
        for phrase in set(approving(other)) - own:
            result = heard(phrase, spoken_in, question())
            assert result.choice not in GIVING, (spoken_in, other, phrase)


def test_no_phrase_gives_leave_in_one_language_and_withholds_it_in_another() -> None:
    giving = {phrase for language in LANGUAGES for phrase in approving(language)}
    for language in LANGUAGES:
        other = {
            " ".join(phrase): kind
            for phrase, kind in LANGUAGES[language].phrases.items()
            if kind in ("deny", "no", "stop", "next", "repeat")
        }
        assert giving & other.keys() == set(), language


@pytest.mark.parametrize("letters", sampled(["aens", "iort"]))
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_with_a_wrong_letter_gives_no_leave(language: str, letters: str) -> None:
    phrases = [tuple(phrase.split()) for phrase in approving(language)]
    known = {word for phrase in [*phrases, *LANGUAGES[language].fillers] for word in phrase}
    for phrase in approving(language):
        for at in range(len(phrase)):
            for letter in ("", *letters):
                changed = phrase[:at] + letter + phrase[at + 1 :]
                if not set(changed.split()) <= known:
                    result = heard(changed, language, question())
                    assert result.choice not in GIVING, (language, phrase, changed)
