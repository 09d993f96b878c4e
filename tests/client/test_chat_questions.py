"""Questions in a chat, answered where they are asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client import stories
from tests.client.chats import Chatty, answering, at_terminal, turn
from tests.client.fake_daemon import QUESTION_ID, FakeDaemon, HangUp, Refused
from tests.long import sampled

CHOICES = [
    {"id": "allow", "label": "Allow once"},
    {"id": "always", "label": "Always"},
    {"id": "deny", "label": "Deny"},
]
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = '\x1b[2J'\n"
COMMAND = {**stories.APPROVAL, "tool": "run_command", "input": {"command": "make"}}
COMMAND["choices"] = CHOICES
KEYS = "y/n/a > "


def patch(diff: str) -> stories.Json:
    """The native agent's question about a change, as the daemon words it."""
    given = {"path": "a.py", "before": "1" * 64, "after": "2" * 64}
    detail = f"{diff}\n{json.dumps(given, indent=2)}"
    wanted = {"tool": "patch", "input": given, "detail": detail, "choices": CHOICES}
    return {**stories.APPROVAL, **wanted}


def asked(question: stories.Json, seq: int = 2) -> stories.Json:
    return stories.event(seq, "question.opened", **question)


def answered(seq: int = 3, **more: str) -> stories.Json:
    return stories.event(seq, "question.closed", question_id=QUESTION_ID, closed="answered", **more)


def rest(words: str, seq: int = 4) -> list[stories.Json]:
    """What follows once the question is out of the way."""
    return [{**event, "seq": seq + at} for at, event in enumerate(turn(words)[1:])]


def asking(daemon: FakeDaemon, question: stories.Json) -> None:
    Chatty(daemon, [*turn()[:1], asked(question)])
    daemon.answers["questions.answer"] = answering(daemon, answered(by="local"), *rest("Done."))


@pytest.mark.parametrize(
    ("typed", "answer", "note"),
    sampled(
        [
            ("yes, and run the tests", "allow", "and run the tests"),
            ("a", "always", None),
            ("", "deny", None),
            ("yesterday", "deny", "yesterday"),
            ("\x04", "deny", None),
            ("y", "allow", None),
            ("YES.", "allow", None),
            ("1", "allow", None),
            ("always", "always", None),
            ("n", "deny", None),
            ("no use the other file", "deny", "use the other file"),
            ("use the other file", "deny", "use the other file"),
            ("3", "deny", None),
        ],
        5,
    ),
)
def test_leave_is_given_or_refused_in_a_word(
    daemon: FakeDaemon, tmp_path: Path, typed: str, answer: str, note: str | None
) -> None:
    asking(daemon, COMMAND)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("? approval: May the agent use run_command?")
        terminal.expect("$ make")
        terminal.expect(KEYS)
        terminal.type(typed if typed == "\x04" else f"{typed}\n")
        terminal.expect("Done.")
        terminal.leave()
    (sent,) = daemon.params_of("questions.answer")
    assert sent == {"question_id": QUESTION_ID, "answer": answer} | ({"note": note} if note else {})


@pytest.mark.parametrize("typed", ["exit", "Quit."])
def test_leaving_at_a_question_leaves_it_open_and_says_how_it_is_answered(
    daemon: FakeDaemon, tmp_path: Path, typed: str
) -> None:
    asking(daemon, COMMAND)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        terminal.type(f"{typed}\n")
        terminal.expect(
            f"the question stays open: podium answer {QUESTION_ID[:8]} allow|always|deny"
        )
        terminal.expect("Come back with: podium chat --session ")

        assert terminal.end() == 0
    assert daemon.params_of("questions.answer") == []


def test_a_command_at_a_question_is_carried_out_and_answers_nothing(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    asking(daemon, COMMAND)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        terminal.type("/help\n")
        terminal.expect("/mode [MODE]")
        terminal.expect("? approval: May the agent use run_command?")
        terminal.expect(KEYS)
        assert daemon.params_of("questions.answer") == []
        terminal.type("/recipe fix-it\n")
        terminal.expect("/recipe has to wait for the answer.")
        terminal.expect(KEYS)
        terminal.type("/tmp is no place for it\n")
        terminal.expect("Done.")
        terminal.leave()
    (sent,) = daemon.params_of("questions.answer")
    assert (sent["answer"], sent["note"]) == ("deny", "/tmp is no place for it")


def test_a_terminal_without_a_live_line_is_told_what_may_be_typed(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    asking(daemon, COMMAND)
    with at_terminal(daemon, tmp_path, TERM="dumb") as terminal:
        terminal.expect("> ")
        terminal.type("go\n")
        terminal.expect("$ make")
        terminal.expect(KEYS)
        terminal.type("/session\n")
        terminal.expect("Come back with: podium chat --session ")
        terminal.expect(KEYS)
        terminal.type("y\n")
        terminal.expect("Done.")
        terminal.leave()
    assert daemon.params_of("questions.answer")[0]["answer"] == "allow"


def test_a_choice_that_is_called_exit_is_an_answer(daemon: FakeDaemon, tmp_path: Path) -> None:
    choices = [{"id": "exit", "label": "End it"}, {"id": "stay", "label": "Stay"}]
    asking(daemon, {**stories.QUESTION, "kind": "ask", "choices": choices})
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("a number > ")
        terminal.type("exit\n")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert daemon.params_of("questions.answer")[0]["answer"] == "exit"


def test_a_change_is_shown_as_a_coloured_diff_that_the_terminal_does_not_obey(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    asking(daemon, patch(DIFF))
    with at_terminal(daemon, tmp_path, NO_COLOR="") as terminal:
        terminal.say("go")
        terminal.expect("May the agent use patch?")
        terminal.expect("file: a.py")
        terminal.expect("\x1b[36m@@ -1 +1 @@\x1b[0m")
        terminal.expect("\x1b[31m-x = 1\x1b[0m")
        terminal.expect("\x1b[32m+x = '\\x1b[2J'\x1b[0m")
        terminal.type("y\n")
        terminal.expect("Done.")
        terminal.leave()


def test_a_long_diff_is_cut_and_it_is_said_where_the_rest_is(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    lines = "".join(f"+line {number}\n" for number in range(300))
    asking(daemon, patch(lines))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("+line 198")
        terminal.expect(
            f"… 101 more lines not shown here: 'podium answer {QUESTION_ID[:8]} --json'"
        )
        terminal.type("n\n")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert "+line 199" not in terminal.screen


def test_what_was_typed_before_the_question_came_is_no_answer_to_it(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn()[:1], turn("Second."))
    daemon.answers["questions.answer"] = answering(daemon, answered(by="local"), *rest("First."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        terminal.type("yes\nye")
        terminal.expect("next: yes")
        terminal.expect("> ye")
        daemon.publish(asked(COMMAND))
        terminal.expect(KEYS)
        assert daemon.params_of("questions.answer") == []
        terminal.type("n\n")
        terminal.expect("First.")
        terminal.expect("Second.")
        terminal.expect("> ye")
        terminal.type("\x15exit\n")

        assert terminal.end() == 0
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["deny"]
    assert chatty.prompts == ["go", "yes"]


def test_what_was_typed_at_a_question_that_a_new_daemon_asks_again_is_let_go(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    """It is no answer to what has not been seen, and no prompt either."""
    daemon.stored_first = 10  # what was stored meanwhile comes with the answer
    chatty = Chatty(daemon, [*turn()[:1], asked(COMMAND)])
    again = {**COMMAND, "question_id": "0b1c2d3e-0a4b-4c5d-9e6f-7a8b9c0d1e2f"}
    daemon.answers["questions.answer"] = answering(
        daemon,
        stories.event(5, "question.closed", question_id=again["question_id"], by="local"),
        *rest("Done.", 6),
    )
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        daemon.stop()
        terminal.expect("the daemon went away")
        terminal.type("y\n")
        superseded = {"question_id": QUESTION_ID, "closed": "superseded"}
        daemon.publish(stories.event(3, "question.closed", **superseded), asked(again, 4))
        daemon.listen()
        terminal.expect("not taken, the question is asked again: y")
        terminal.expect(KEYS)
        terminal.type("n\n")
        terminal.expect("Done.")
        terminal.leave()
    (sent,) = daemon.params_of("questions.answer")
    assert sent == {"question_id": again["question_id"], "answer": "deny"}
    assert chatty.prompts == ["go"]


def test_a_question_that_stands_over_a_new_daemon_is_shown_once_more(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    """It has its id still; what was typed while nobody was there is no answer to it."""
    daemon.stored_first = 10
    Chatty(daemon, [*turn()[:1], asked(COMMAND)])
    daemon.answers["questions.answer"] = answering(daemon, answered(by="local"), *rest("Done."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        daemon.stop()
        terminal.expect("the daemon went away")
        terminal.type("y\n")
        daemon.listen()
        terminal.expect("not taken, the question is asked again: y")
        terminal.expect(KEYS)
        terminal.type("n\n")
        terminal.expect("Done.")
        terminal.leave()
    (sent,) = daemon.params_of("questions.answer")
    assert sent == {"question_id": QUESTION_ID, "answer": "deny"}


def test_an_answer_that_a_dying_daemon_never_took_is_asked_for_again(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    """It is not handed to the next daemon behind the person's back."""
    Chatty(daemon, [*turn()[:1], asked(COMMAND)])

    def dying(params: stories.Json) -> stories.Json:
        daemon.answers["questions.answer"] = answering(daemon, answered(by="local"), *rest("Done."))
        raise HangUp

    daemon.answers["questions.answer"] = dying
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        terminal.type("y\n")
        terminal.expect("not taken, the daemon is gone: the question is asked again")
        terminal.expect("? approval: May the agent use run_command?")
        terminal.expect(KEYS)
        terminal.type("n\n")
        terminal.expect("Done.")
        terminal.leave()
    assert [one["answer"] for one in daemon.params_of("questions.answer")] == ["allow", "deny"]


def test_a_question_that_a_phone_answers_first_is_taken_back(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, [*turn()[:1], asked(COMMAND)])
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        daemon.publish(answered(by="phone", answer="allow"), *rest("Done."))
        terminal.expect("? answered by phone: allow")
        terminal.expect("Done.")
        terminal.leave()
    assert daemon.params_of("questions.answer") == []


def test_an_answer_that_comes_too_late_does_no_harm(daemon: FakeDaemon, tmp_path: Path) -> None:
    def late(params: stories.Json) -> stories.Json:
        daemon.publish(answered(by="phone", answer="allow"), *rest("Done."))
        raise Refused(-32004, "The question has been answered.", {"by": "phone"})

    asking(daemon, COMMAND)
    daemon.answers["questions.answer"] = late
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect(KEYS)
        terminal.type("n\n")
        terminal.expect("answered by phone: allow")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0


@pytest.mark.parametrize(("typed", "answer"), [("yes", "yes"), ("2", "no"), ("", "no")])
def test_a_gate_is_answered_by_a_choice_and_nothing_is_no(
    daemon: FakeDaemon, tmp_path: Path, typed: str, answer: str
) -> None:
    asking(daemon, stories.QUESTION)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("? gate: Commit?")
        terminal.expect("1) yes  Yes, commit")
        terminal.expect("a choice · Enter: no > ")
        terminal.type(f"{typed}\n")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert daemon.params_of("questions.answer")[0]["answer"] == answer


def test_what_fits_no_choice_is_asked_again_and_a_recovery_has_no_no(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    choices = [{"id": one, "label": one} for one in ("retry", "continue", "stop")]
    asking(daemon, {**stories.QUESTION, "kind": "recover", "choices": choices})
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("a choice > ")
        terminal.type("\n\x04perhaps\n")
        terminal.expect("'perhaps' is no answer to this question")
        terminal.expect("? recover: Commit?")
        terminal.expect("a choice > ")
        terminal.type("cont\n")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["continue"]


def test_an_answer_that_the_daemon_refuses_is_asked_for_again(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    def picky(params: stories.Json) -> stories.Json:
        if params["answer"] == "blue":
            raise Refused(-32602, "Not blue.", {"parameter": "answer"})
        daemon.publish(answered(by="local"), *rest("Done."))
        return {}

    asking(daemon, {**stories.QUESTION, "kind": "ask", "choices": [], "free_text": True})
    daemon.answers["questions.answer"] = picky
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("in your own words > ")
        terminal.type("blue\n")
        terminal.expect("Not blue.")
        terminal.expect("in your own words > ")
        terminal.type("red\n")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0
