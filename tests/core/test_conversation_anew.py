"""The agent's conversation is gone: a new one is told what is known, and says that it is new."""

from __future__ import annotations

from podiumd.core.prompts.conversation_prompts import TAKEN_OVER
from podiumd.core.prompts.prompts import INTERRUPTED, ORIGINAL
from podiumd.core.run import facts as f
from podiumd.core.run.fold import NOW
from tests.core.builders import Play, a_recipe, to
from tests.core.conversations import Conversation, a_talk


def lost(**seen: object) -> Conversation:
    """A conversation of two turns whose record is gone when the third begins."""
    talk = Conversation()
    talk.tell("A boat.")
    talk.call("save", key="goal", value="A boat")
    talk.call("save", key="people", value=["x" * 3000])
    talk.answers("How large?")
    talk.tell("Small.")
    talk.answers("Good.")
    talk.tell("And now?")
    talk.begin(gone=True)
    return talk


def test_the_next_prompt_begins_with_what_is_known() -> None:
    talk = lost()
    known, _, rest = talk.turn.prompt.partition(f"\n\n{NOW}\n\n")

    assert (talk.turn.anew, rest) == (True, "And now?")
    head, saved, *said = known.split("\n\n")
    assert head == TAKEN_OVER.format(phase="goal")
    assert saved.splitlines()[:4] == ["Saved so far:", "- size: 3", "- notes: []", "- goal: A boat"]
    assert saved.endswith("xxx…")
    assert said == [
        "The person said: A boat.\nThe agent said: How large?",
        "The person said: Small.\nThe agent said: Good.",
    ]


def test_only_that_prompt_does() -> None:
    talk = lost()
    talk.answers("Now this.")
    talk.tell("Fine.")
    talk.begin()

    assert (talk.turn.anew, talk.turn.prompt) == (False, "Fine.")
    assert talk.state.exchanges[-1].said == "And now?"


def test_an_agent_that_spoke_first_is_told_so_and_nothing_saved_is_not_spoken_of() -> None:
    talk = Conversation(a_recipe({"one": a_talk({"x": to("one")}, opening="Hi.")}))
    talk.answers("Hello.")
    talk.tell("Well?")
    talk.begin(gone=True)

    assert talk.turn.prompt == "\n\n".join(
        [TAKEN_OVER.format(phase="one"), "The agent said: Hello.", NOW, "Well?"]
    )


def test_a_turn_that_was_cut_off_is_told_what_it_was_about() -> None:
    talk = lost()
    talk.over("broken")
    talk.begin(gone=True)

    assert talk.turn.prompt.endswith(f"{NOW}\n\n{INTERRUPTED}\n\n{ORIGINAL}\n\nAnd now?")
    assert talk.turn.prompt.count(NOW) == 1


def test_a_prompt_that_was_never_recorded_comes_without_its_summary() -> None:
    talk = lost()
    talk.over("broken", prompt_recorded=False)
    talk.begin()

    assert talk.turn.prompt == f"{INTERRUPTED}\n\n{ORIGINAL}\n\nAnd now?"


def test_a_turn_step_and_a_plain_prompt_are_sent_as_ever() -> None:
    for play in (Play(a_recipe()), Play()):
        play.begin(gone=True)

        assert not play.turn.anew
        assert NOW not in play.last(f.TurnIntended).prompt
