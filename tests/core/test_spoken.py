from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.voice.grammar import CONFIRM_SECONDS, Asked, Heard, Pending, hear, recognise
from tests.core.languages import LANGUAGES
from tests.core.spoken_corpus import lines, question

RISKY = question(input={"command": "git push --force"}, risks=("destructive",))
OWN = question(
    "ask",
    tool=None,
    text="Which database?",
    choices=(("PostgreSQL", "PostgreSQL (recommended)"), ("SQLite", "SQLite"), ("Stop", "Stop")),
    free_text=True,
)
STEP_GATE = question("gate", text="Commit?", tool=None, input=None)


class Person:
    """Somebody who speaks to one question from one device; each utterance is a second later."""

    def __init__(self, asked: Asked | None, device: str = "phone") -> None:
        self.asked = asked
        self.device = device
        self.pending: Pending | None = None
        self.now = 100.0
        self.said = 0

    def says(self, text: str, language: str = "en", **given: object) -> Heard:
        self.said += 1
        began, self.now = self.now + 1, self.now + 2
        fields: dict[str, object] = {
            "asked": self.asked,
            "pending": self.pending,
            "device": self.device,
            "utterance_id": f"u-{self.said}",
            "began": began,
            "now": self.now,
        }
        heard = hear(text, language=LANGUAGES[language], **(fields | given))  # type: ignore[arg-type]
        self.pending = heard.pending
        return heard


def test_approve_answers_the_open_question_and_says_what_was_allowed() -> None:
    heard = Person(question()).says("Approve it, please.")

    assert (heard.command, heard.state) == ("approve", "applied")
    assert (heard.question_id, heard.choice) == ("q-1", "allow")
    assert heard.read_back == "Allowed: Run the command pytest -q."


def test_deny_needs_no_confirmation_even_of_what_is_risky() -> None:
    heard = Person(RISKY).says("no")

    assert (heard.command, heard.state, heard.choice) == ("deny", "applied", "deny")
    assert heard.read_back == "Denied: Run the command git push --force."


def test_what_is_risky_is_read_back_and_must_be_confirmed() -> None:
    person = Person(RISKY)

    asked = person.says("approve")
    assert (asked.command, asked.state, asked.choice) == ("approve", "confirm", "allow")
    assert asked.read_back == (
        "Run the command git push --force. This may delete or publish something. "
        "Say confirm to allow it, or no."
    )
    assert person.says("Confirm.").state == "applied"
    assert person.pending is None


def test_yes_and_approve_confirm_too_when_they_come_after_the_read_back() -> None:
    for words in ("yes", "approve it", "I confirm"):
        person = Person(RISKY)
        person.says("yes")
        heard = person.says(words)
        assert (heard.state, heard.choice) == ("applied", "allow"), words


def test_the_utterance_that_asked_cannot_confirm_itself() -> None:
    person = Person(RISKY)
    asked = person.says("approve", utterance_id="twice")
    again = person.says("approve", utterance_id="twice")

    assert again.state == "confirm"
    assert again.pending == asked.pending
    assert again.read_back == f"Listen first: {asked.read_back}"


def test_words_spoken_before_the_read_back_confirm_nothing() -> None:
    person = Person(RISKY)
    person.says("approve")
    early = person.says("confirm", began=101.5)

    assert (early.command, early.state) == ("confirm", "confirm")
    assert person.says("confirm").state == "applied"


def test_a_confirmation_expires() -> None:
    person = Person(RISKY)
    person.says("approve")
    person.now += CONFIRM_SECONDS
    late = person.says("confirm")

    assert (late.state, late.choice) == ("refused", None)
    assert late.read_back == (
        "That came too late. Answer the question again. Say approve, deny or always."
    )
    assert person.pending is None


def test_a_confirmation_is_of_one_device_and_one_question() -> None:
    person = Person(RISKY)
    person.says("approve")
    pending = person.pending

    other = Person(RISKY, device="tablet").says("confirm", pending=pending)
    assert other.state == "refused"
    newer = question(question_id="q-2", risks=("destructive",))
    assert Person(newer).says("confirm", pending=pending).state == "refused"
    assert Person(None).says("confirm", pending=pending).read_back == (
        "That came too late. Answer the question again."
    )


def test_an_ordinary_sentence_takes_the_confirmation_back() -> None:
    person = Person(RISKY)
    person.says("approve")
    assert person.says("what does it push").command is None
    assert person.says("confirm").state == "refused"


def test_silence_takes_nothing_back() -> None:
    person = Person(RISKY)
    person.says("approve")
    assert person.says("  ").command is None
    assert person.says("confirm").state == "applied"


def test_no_to_a_read_back_denies_a_question_for_leave() -> None:
    person = Person(RISKY)
    person.says("approve")
    heard = person.says("no")

    assert (heard.state, heard.choice) == ("applied", "deny")


def test_no_to_a_read_back_of_another_question_leaves_it_open() -> None:
    recovery = question("recover", text="Cut off.", risks=("irreversible",))
    person = Person(recovery)
    assert person.says("retry").state == "confirm"
    heard = person.says("no, thanks")

    assert (heard.command, heard.state, heard.choice) == ("deny", "refused", None)
    assert heard.read_back == "The question stays open. Say retry, continue or stop."
    assert person.pending is None


def test_yes_to_a_read_back_confirms_where_it_is_no_answer_by_itself() -> None:
    recovery = question("recover", text="Cut off.", risks=("irreversible",))
    person = Person(recovery)
    assert person.says("yes").command is None
    person.says("retry")
    heard = person.says("yes")

    assert (heard.command, heard.state, heard.choice) == ("confirm", "applied", "retry")
    assert heard.read_back == "Chosen: retry."


def test_a_question_mark_confirms_nothing() -> None:
    person = Person(RISKY)
    person.says("approve")
    assert person.says("yes?").command is None


def test_always_is_read_back_and_only_a_confirmation_makes_it_hold() -> None:
    person = Person(question())
    asked = person.says("always allow that")
    assert (asked.command, asked.state, asked.choice) == ("choose", "confirm", "always")
    assert "rest of this run" in asked.read_back
    assert person.says("confirm").choice == "always"

    person = Person(question())
    person.says("always")
    narrower = person.says("approve")
    assert (narrower.state, narrower.choice) == ("applied", "allow")


def test_leave_that_is_named_by_its_number_is_read_back() -> None:
    person = Person(question())
    asked = person.says("option one")
    assert (asked.state, asked.choice) == ("confirm", "allow")
    assert asked.read_back.startswith("approve: Run the command pytest -q. I heard a number.")
    assert person.says("option one").state == "confirm"
    assert person.says("confirm").choice == "allow"
    assert Person(question()).says("option two").choice == "deny"


def test_one_short_word_gives_leave_for_a_tool_only_when_it_is_confirmed() -> None:
    for words in ("Yes.", "okay, yes", "yes, please", "yes, yes", "Allow."):
        person = Person(question())
        asked = person.says(words)
        assert (asked.command, asked.state, asked.choice) == ("approve", "confirm", "allow")
        assert "I heard one short word." in asked.read_back
        assert person.says("yes").state == "applied"
    for words in ("yes, approve", "go ahead", "approve", "allow it"):
        assert Person(question()).says(words).state == "applied"
    assert Person(STEP_GATE).says("yes").state == "applied"


def test_the_choices_of_an_agents_question_are_taken_by_label_number_ordinal_and_letter() -> None:
    for words in ("SQLite", "use SQLite", "2", "two", "option 2", "the second one", "option B"):
        heard = Person(OWN).says(words)
        assert (heard.command, heard.state, heard.choice) == ("choose", "applied", "SQLite"), words
        assert heard.read_back == "Chosen: SQLite."


def test_an_agents_question_may_be_risky_too() -> None:
    person = Person(question("ask", choices=OWN.choices, risks=("irreversible",), tool=None))
    assert person.says("SQLite").state == "confirm"
    assert person.says("SQLite").state == "confirm"
    assert person.says("yes").choice == "SQLite"


def test_stop_stops_whatever_is_open() -> None:
    for asked in (None, question(), RISKY, STEP_GATE):
        heard = Person(asked).says("Stop!")
        assert (heard.command, heard.state, heard.choice) == ("stop", "applied", None)
        assert heard.read_back == "Stopping."


def test_stop_answers_a_question_that_has_it_as_a_choice() -> None:
    for asked, choice in ((question("limit"), "stop"), (OWN, "Stop")):
        heard = Person(asked).says("stop")
        assert (heard.command, heard.question_id, heard.choice) == ("stop", "q-1", choice)


def test_a_label_that_is_a_command_word_is_the_label() -> None:
    asked = question("ask", choices=(("Halt", "Halt"), ("Next", "Next"), ("x", "Y")), tool=None)
    assert Person(asked).says("halt").choice == "Halt"
    assert Person(asked).says("next").choice == "Next"


def test_next_and_repeat_are_commands_at_any_time() -> None:
    assert Person(None).says("next").command == "next"
    heard = Person(question()).says("Can you repeat that?")
    assert (heard.command, heard.question_id) == ("repeat", "q-1")
    assert heard.read_back == "Run the command pytest -q. Say approve, deny or always."
    assert Person(None).says("repeat").read_back == ""


def test_repeat_reads_back_again_and_gives_more_time() -> None:
    person = Person(RISKY)
    asked = person.says("approve")
    person.now += CONFIRM_SECONDS - 5
    again = person.says("repeat")
    assert again.read_back == asked.read_back
    person.now += CONFIRM_SECONDS - 5
    assert person.says("confirm").state == "applied"


def test_without_a_question_yes_and_no_are_ordinary_words() -> None:
    for words in ("yes", "no", "always", "continue"):
        assert Person(None).says(words).command is None, words


def test_without_a_question_a_command_to_approve_reaches_nobody_else() -> None:
    for words in ("approve", "deny"):
        heard = Person(None).says(words)
        assert (heard.state, heard.read_back) == ("refused", "No question is open.")
    assert Person(None).says("confirm").read_back == "There is nothing to confirm."


def test_a_command_that_is_no_answer_to_the_question_is_refused_with_what_would_be() -> None:
    heard = Person(OWN).says("approve")
    assert heard.state == "refused"
    assert heard.read_back == (
        "That is no answer to this question. Say PostgreSQL (recommended), SQLite or Stop."
    )
    assert Person(OWN).says("deny").state == "refused"
    assert Person(question()).says("confirm").read_back == (
        "There is nothing to confirm. Say approve, deny or always."
    )


def test_phrases_that_contradict_each_other_are_no_command() -> None:
    for words in ("approve, deny", "yes, no", "approve, stop", "next, repeat", "no, approve"):
        assert recognise(words, LANGUAGES["en"], question()) is None, words


def test_somebody_who_says_it_over_and_over_is_a_transcriber_in_a_loop() -> None:
    assert recognise("yes, yes, yes", LANGUAGES["en"], question()) is not None
    assert recognise("yes, yes, yes, yes", LANGUAGES["en"], question()) is None


def test_a_confirmation_may_be_spoken_in_each_language() -> None:
    words = {
        "en": ("yes", "confirm"),
        "de": ("ja", "bestätigen"),
        "fr": ("oui", "confirmer"),
        "es": ("sí", "confirmar"),
        "it": ("sì", "confermo"),
        "nl": ("ja", "bevestig"),
        "pt": ("sim", "confirmar"),
    }
    assert set(words) == set(LANGUAGES)
    for language, (yes, confirm) in words.items():
        person = Person(RISKY)
        read_back = person.says(yes, language).read_back
        assert confirm in read_back, language
        assert person.says(confirm, language).state == "applied", language


@given(st.text(max_size=40), st.sampled_from(sorted(LANGUAGES)))
def test_no_random_text_gives_leave_for_what_is_risky(text: str, language: str) -> None:
    assert Person(RISKY).says(text, language).choice in (None, "deny") or (
        Person(RISKY).says(text, language).state == "confirm"
    )


@given(
    st.lists(
        st.sampled_from(
            lines(
                "approve|not|yes|no|do|don't|I|would|please|confirm|it|never|allow|if|stop|the"
                "|option|one|always|go|ahead"
            )
        ),
        max_size=8,
    )
)
def test_a_negation_or_condition_anywhere_gives_no_leave(words: list[str]) -> None:
    heard = Person(question()).says(" ".join(words))
    if {"not", "don't", "never", "no", "if", "would", "stop"} & set(words):
        assert heard.choice in (None, "deny")
