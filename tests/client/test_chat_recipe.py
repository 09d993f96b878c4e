"""A recipe in a chat: it is followed, talked into, paused and taken up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import stories
from tests.client.chats import COME_BACK, Chatty, answering, at_terminal, turn
from tests.client.conversations import HELD_BY_RUN, RECIPE, row
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    Handler,
    Refused,
    podium,
)
from tests.client.stories import ended, entered, event, recipe_daemon, started

ASKED = event(3, "question.opened", **stories.QUESTION)
CLOSED = event(4, "question.closed", question_id=QUESTION_ID, closed="answered", by="local")


def recipe_chat(daemon: FakeDaemon, *events: stories.Json) -> Chatty:
    chatty = Chatty(daemon)
    recipe_daemon(daemon, started(), entered(2), *events)
    daemon.answers["runs.start"] |= {"session_id": SESSION_ID}
    return chatty


def test_a_recipe_is_started_told_and_talked_into_and_the_chat_goes_on_in_its_session(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = recipe_chat(daemon)
    daemon.answers["runs.steer"] = {"state": "queued"}
    with at_terminal(daemon, tmp_path, "--recipe", "fix-it", "--cwd", "/tmp") as terminal:
        terminal.expect("Fix it")
        terminal.expect("▸ fix  visit 1")
        terminal.type("mind the tests\n")
        assert daemon.wait_for("runs.steer") == {"run_id": RUN_ID, "text": "mind the tests"}
        daemon.answers["runs.steer"] = {"state": "too_late"}
        terminal.type("//and the docs\n")
        terminal.expect("it goes into the next prompt")
        terminal.type("/help\n")
        terminal.expect("the recipe's agent gets it at once")
        terminal.type("/resume\n")
        terminal.expect("/resume has to wait: Ctrl-C pauses the recipe.")
        daemon.publish(ended(3, main_session_id=SESSION_ID))
        terminal.expect("✓ Task implementation committed successfully")
        terminal.expect("> ")
        chatty.then(turn("Gladly."))
        terminal.type("thanks\n")
        terminal.expect("Gladly.")
        terminal.say("exit")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0
    (sent,) = daemon.params_of("runs.start")
    del sent["client_token"]
    assert sent == {
        "recipe": "fix-it",
        "working_directory": "/tmp",
        "on_question": "ask",
        "agent": "native",
    }
    assert daemon.params_of("runs.steer")[1]["text"] == "/and the docs"
    assert daemon.params_of("sessions.prompt")[0]["session_id"] == SESSION_ID


def test_what_is_no_answer_to_a_waiting_recipe_goes_to_the_agent_beside_it(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = recipe_chat(daemon, ASKED)
    recipe = list(daemon.events)
    chatty.then(turn("Two files."))
    daemon.answers["questions.answer"] = answering(daemon, CLOSED, ended(5))
    with at_terminal(daemon, tmp_path, "--recipe", "fix-it") as terminal:
        terminal.expect("? gate: Commit?")
        terminal.expect("a choice · Enter: no > ")
        terminal.type("what did you change?\n")
        terminal.expect("Two files.")
        terminal.expect("? gate: Commit?")
        terminal.expect("a choice · Enter: no > ")
        daemon.events = recipe
        terminal.type("yes\n")
        terminal.expect("✓")
        terminal.leave()
    assert chatty.prompts == ["what did you change?"]
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["yes"]


def test_ctrl_c_pauses_the_recipe_and_it_goes_on_when_told_to(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = recipe_chat(daemon)
    daemon.answers["runs.interrupt"] = answering(daemon, event(3, "run.paused", why="interrupted"))
    resumed = (event(4, "run.resumed"), entered(5, visit=2))
    daemon.answers["runs.resume"] = answering(daemon, *resumed)
    daemon.answers["runs.cancel"] = answering(daemon, ended(6, "cancelled"))
    with at_terminal(daemon, tmp_path, "--recipe", "fix-it") as terminal:
        terminal.expect("▸ fix  visit 1")
        terminal.type("\x03")
        terminal.expect("interrupting ...")
        terminal.expect("/resume lets it go on, /stop ends it")
        terminal.expect("> ")
        daemon.answers["runs.get"] = stories.ended_run(status="paused")
        terminal.type("/status\n")
        terminal.expect("recipe fix-it: paused, step fix (1a2b3c4d)")
        terminal.type("/resume\n")
        terminal.expect("▸ fix  visit 2")
        terminal.type("\x03")
        daemon.wait_for("runs.interrupt", 2)
        daemon.publish(event(6, "run.paused"))
        terminal.expect("/resume lets it go on")
        daemon.answers["runs.cancel"] = answering(daemon, ended(7, "cancelled"))
        terminal.type("/stop\n")
        terminal.expect("⚠ Recipe stopped on request")
        terminal.leave()
    assert chatty.prompts == []


def test_a_recipe_can_be_started_in_the_middle_of_a_conversation(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn("Agreed."))
    daemon.answers["runs.start"] = {"run_id": RUN_ID, "session_id": SESSION_ID}
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("let us")
        terminal.expect("Agreed.")
        terminal.expect("> ")
        daemon.events = [started(), entered(2), event(3, "run.paused")]
        for wrong, said in (
            ("/recipe", "/recipe NAME [PARAMETER=VALUE ...]"),
            ("/recipe fix-it 'half", "quote values with blanks"),
            ("/recipe fix-it issue", "'issue' is no parameter: write NAME=VALUE."),
            ("\x15/recipe fix-it issue='the tests' n=1", "The recipe is paused"),
            ("/recipe fix-it", "A recipe is at work already"),
        ):
            terminal.type(f"{wrong}\n")
            terminal.expect(said)
            terminal.expect("> ")
        terminal.type("exit\n")
        assert terminal.end() == 0
    (sent,) = daemon.params_of("runs.start")
    assert sent["params"] == {"issue": "the tests", "n": "1"}
    assert (sent["session_id"], chatty.prompts) == (SESSION_ID, ["let us"])


def test_a_person_who_leaves_lets_the_recipe_go_on(daemon: FakeDaemon, tmp_path: Path) -> None:
    recipe_chat(daemon)
    with at_terminal(daemon, tmp_path, "--recipe", "fix-it") as terminal:
        terminal.expect("▸ fix  visit 1")
        terminal.type("exit\n")
        terminal.expect("The recipe goes on: 'podium attach 1a2b3c4d' follows it.")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0
    assert daemon.params_of("runs.cancel") == []


def test_a_chat_in_a_session_that_a_recipe_has_joins_it(daemon: FakeDaemon, tmp_path: Path) -> None:
    chatty = recipe_chat(daemon, ASKED)
    daemon.answers["sessions.get"] = row(holder=HELD_BY_RUN, active_recipe=RECIPE)
    run = stories.ended_run(status="waiting", questions=[stories.QUESTION])
    daemon.answers["runs.get"] = run
    daemon.answers["questions.answer"] = answering(daemon, CLOSED, ended(5))
    with at_terminal(daemon, tmp_path, "--session", SESSION_ID) as terminal:
        terminal.expect("fix-it: review 4/12 is at work in this session.")
        terminal.expect("? gate: Commit?")
        terminal.expect("Enter: no > ")
        terminal.type("\n")
        terminal.expect("✓")
        terminal.leave()
    assert "▸ fix" not in terminal.screen, "what happened before is not told again"
    assert [sent["answer"] for sent in daemon.params_of("questions.answer")] == ["no"]
    assert chatty.prompts == []


def test_a_paused_recipe_waits_for_the_person_who_joins_it(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    recipe_chat(daemon, event(3, "run.paused"))
    daemon.answers["sessions.get"] = row(holder=HELD_BY_RUN, active_recipe=RECIPE)
    daemon.answers["runs.get"] = stories.ended_run(status="paused", questions=[])
    daemon.answers["runs.resume"] = answering(daemon, event(4, "run.resumed"), ended(5))
    with at_terminal(daemon, tmp_path, "--session", SESSION_ID) as terminal:
        terminal.expect("The recipe is paused")
        terminal.say("/resume")
        terminal.expect("✓")
        terminal.leave()


def test_a_recipe_whose_daemon_was_stopped_is_told_to_the_end_later(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    recipe_chat(daemon)
    with at_terminal(daemon, tmp_path, "--recipe", "fix-it") as terminal:
        terminal.expect("▸ fix  visit 1")
        daemon.leave("interrupt")
        terminal.expect("The daemon was stopped.")
        terminal.expect("> ")
        daemon.events += [entered(3, visit=2), ended(4)]
        daemon.answers["runs.get"] = stories.ended_run(questions=[])
        daemon.listen()
        terminal.type("/status\n")
        terminal.expect("▸ fix  visit 2")
        terminal.expect("✓")
        terminal.expect("model ")
        terminal.leave()
    assert terminal.screen.count("▸ fix  visit 1") == 1


def no_recipe(params: stories.Json) -> stories.Json:
    raise Refused(-32002, "There is no recipe 'fixit'.", {"kind": "recipe"})


NO_RECIPE = "There is no recipe 'fixit'. 'podium recipe list' lists what there is."


def test_a_script_whose_recipe_cannot_be_started_says_nothing_to_anybody_else(
    daemon: FakeDaemon,
) -> None:
    chatty = Chatty(daemon)
    daemon.answers["runs.start"] = no_recipe

    done = podium(daemon, "chat", "--recipe", "fixit", stdin=b"go\n")

    assert (done.returncode, done.stdout) == (1, "")
    assert NO_RECIPE in done.stderr
    assert chatty.prompts == []


def tree_held(params: stories.Json) -> stories.Json:
    raise Refused(-32001, "The working tree is held by run 1a2b3c4d.")


MISSING = {"parameter": "params", "missing": "what", "fix": "Give it with -p what=..."}


def no_parameter(params: stories.Json) -> stories.Json:
    raise Refused(-32602, "Invalid params: parameter 'what' has no value.", MISSING)


@pytest.mark.parametrize(
    ("refusal", "said", "code"),
    [
        (no_recipe, NO_RECIPE, 1),
        (tree_held, "The working tree is held by run 1a2b3c4d.", 5),
        (no_parameter, "Give it with -p what=...", 2),
    ],
)
def test_a_recipe_that_cannot_be_started_ends_the_chat_that_was_for_it(
    daemon: FakeDaemon, tmp_path: Path, refusal: Handler, said: str, code: int
) -> None:
    chatty = Chatty(daemon)
    daemon.answers["runs.start"] = refusal
    with at_terminal(daemon, tmp_path, "--recipe", "fixit") as terminal:
        terminal.expect(said)
        terminal.expect("No session was begun.")

        assert terminal.end() == code
    assert chatty.prompts == []


def test_a_recipe_gets_the_parameters_that_the_chat_is_begun_with(daemon: FakeDaemon) -> None:
    recipe_chat(daemon, ended(3))
    given = ("-p", "what=a test of slug", "--param", "n=1")

    done = podium(daemon, "chat", "--recipe", "fix-it", *given, stdin=b"")

    assert done.returncode == 0
    assert daemon.params_of("runs.start")[0]["params"] == {"what": "a test of slug", "n": "1"}


def test_a_parameter_is_that_of_a_recipe(daemon: FakeDaemon) -> None:
    done = podium(daemon, "chat", "-p", "what=this", stdin=b"go\n")

    assert (done.returncode, done.stdout) == (2, "")
    assert "-p needs '--recipe RECIPE', whose parameter it is." in done.stderr
    assert daemon.params_of("sessions.prompt") == []


def test_what_a_recipe_lacks_in_the_middle_of_a_chat_is_told_in_the_words_of_the_chat(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon)
    daemon.answers["runs.start"] = no_parameter
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("/recipe fix-it")
        terminal.expect("Give it here: /recipe fix-it what=...")
        terminal.leave()
    assert "-p what" not in terminal.screen


def test_a_script_answers_the_questions_of_a_recipe_and_gets_its_exit_code(
    daemon: FakeDaemon,
) -> None:
    chatty = recipe_chat(daemon, ASKED)
    daemon.answers["questions.answer"] = answering(daemon, CLOSED, ended(5, "blocked"))

    done = podium(daemon, "chat", "--recipe", "fix-it", stdin=b"yes\n")

    assert done.returncode == 4
    assert "⚠ Implementation blocked" in done.stdout
    assert chatty.prompts == []
