"""Ctrl-C, signals and restarts in a chat; the terminal is left as it was found."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.client import stories
from tests.client.chats import COME_BACK, Chatty, at_terminal, prompt_run, turn
from tests.client.fake_daemon import RUN_ID, FakeDaemon, environment
from tests.client.terminal import Shell


def interrupted(daemon: FakeDaemon) -> None:
    """The daemon ends the turn when it is told to."""

    def handler(params: stories.Json) -> stories.Json:
        run = prompt_run("cancelled")
        daemon.publish(
            stories.turn_ended(2, "Half an", kind="interrupted"),
            stories.event(3, "run.ended", run=run),
        )
        return run

    daemon.answers["runs.interrupt"] = handler


def test_ctrl_c_interrupts_the_turn_and_never_leaves(daemon: FakeDaemon, tmp_path: Path) -> None:
    Chatty(daemon, turn()[:1], turn("On I go."))
    interrupted(daemon)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("long")
        daemon.wait_for("runs.events")
        daemon.publish(stories.said("Half an"))
        terminal.expect("Half an")
        terminal.type("\x03")
        terminal.expect("interrupting ...")
        terminal.expect("⚠ Turn stopped on request (user-requested)")
        terminal.say("go on")
        terminal.expect("On I go.")
        terminal.say("exit")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0
    assert daemon.params_of("runs.interrupt") == [{"run_id": RUN_ID}]


def test_what_waited_behind_an_interrupted_turn_is_thought_over_again(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn()[:1], turn("Done."))
    interrupted(daemon)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("long")
        daemon.wait_for("runs.events")
        terminal.type("then this\n")
        terminal.expect("next: then this")
        terminal.type("\x03")
        terminal.expect("user-requested")
        terminal.expect("> then this")
        assert chatty.prompts == ["long"]
        terminal.type(" instead\n")
        terminal.expect("Done.")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert chatty.prompts == ["long", "then this instead"]


def test_ctrl_c_takes_back_a_prompt_that_waits_in_line(daemon: FakeDaemon, tmp_path: Path) -> None:
    Chatty(daemon, turn()[:1])
    run = prompt_run("cancelled")

    def cancelled(params: stories.Json) -> stories.Json:
        daemon.publish(stories.event(2, "run.ended", run=run))
        return run

    daemon.answers["runs.interrupt"] = run | {"status": "paused"}
    daemon.answers["runs.cancel"] = cancelled
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("Ctrl-C interrupts")
        terminal.type("\x03")
        terminal.expect("user-requested")
        terminal.leave()
    assert daemon.params_of("runs.cancel") == [{"run_id": RUN_ID}]


def test_a_long_line_that_is_typed_meanwhile_is_shown_by_its_end(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn()[:1])
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("Ctrl-C interrupts")
        terminal.type("漢" * 80 + "end")
        terminal.expect("漢end")
        daemon.publish(*turn("One.")[1:])
        terminal.expect("One.")
        terminal.type("\x15exit\n")

        assert terminal.end() == 0
    longest = max(line.count("漢") for line in terminal.screen.split("\r\x1b[K") if "…" in line)
    assert longest <= 49


def test_ctrl_c_at_a_question_interrupts_the_turn(daemon: FakeDaemon, tmp_path: Path) -> None:
    Chatty(daemon, [*turn()[:1], stories.event(2, "question.opened", **stories.APPROVAL)])

    def handler(params: stories.Json) -> stories.Json:
        closed = {"question_id": stories.QUESTION["question_id"], "closed": "superseded"}
        daemon.publish(
            stories.event(3, "question.closed", **closed),
            stories.event(4, "run.ended", run=prompt_run("cancelled")),
        )
        return prompt_run("cancelled")

    daemon.answers["runs.interrupt"] = handler
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("y/n > ")
        terminal.type("\x03")
        terminal.expect("question withdrawn")
        terminal.expect("user-requested")
        terminal.leave()
    assert daemon.params_of("questions.answer") == []


@pytest.mark.parametrize("working", [True, False], ids=["at work", "at the prompt"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_chat_leaves_the_terminal_as_it_was(
    daemon: FakeDaemon, tmp_path: Path, working: bool, number: signal.Signals
) -> None:
    Chatty(daemon, turn()[:1])
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.expect("> ")
        if working:
            terminal.type("go\n")
            terminal.expect("Ctrl-C interrupts")
        assert terminal.modes != terminal.found_modes
        terminal.signal(number)

        assert terminal.end() == -number
        assert terminal.modes == terminal.found_modes
    assert terminal.screen.rpartition("\x1b[?2004")[2].startswith("l"), "pastes are plain again"


def test_every_other_way_out_leaves_the_terminal_as_it_was(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn("One."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("One.")
        terminal.expect("> ")
        terminal.type("\x03")
        terminal.expect("> ")
        terminal.type("\x04")

        assert terminal.end() == 0
        assert terminal.modes == terminal.found_modes


def test_a_chat_that_is_stopped_and_goes_on_gives_the_shell_its_terminal_meanwhile(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn()[:1])
    settings = {"NO_COLOR": "1", "XDG_STATE_HOME": str(tmp_path), "PS1": "shell: "}
    with Shell(daemon, columns=100, **settings) as terminal:
        terminal.expect("shell: ")
        terminal.type(f"{sys.executable} -m podium chat\n")
        terminal.expect("/help for help")
        terminal.say("go")
        terminal.expect("Ctrl-C interrupts")
        terminal.type("\x1a")
        terminal.expect("Stopped")
        terminal.type("stty -a | grep -o ' .\\?echo '; fg\n")
        terminal.expect("\r echo ")
        terminal.expect("Ctrl-C interrupts")
        terminal.type("typed")
        terminal.expect("  > typed")
        daemon.publish(*turn("One.")[1:])
        terminal.expect("One.")
        terminal.expect("> typed")
        terminal.type("\x15exit\n")
        terminal.expect(COME_BACK)
        terminal.expect("shell: ")
        terminal.type("exit\n")

        assert terminal.end() == 0


def test_what_was_to_come_next_stands_at_the_prompt_when_the_daemon_is_gone(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn()[:1], turn("Second."))
    daemon.answers["runs.get"] = {"questions": []}
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        terminal.type("one\rtwo\r")
        terminal.expect("next: one")
        terminal.expect("next: two")
        daemon.leave("interrupt")
        terminal.expect("The daemon was stopped.")
        terminal.expect("two")
        daemon.events += turn("First.")[1:]
        daemon.listen()
        terminal.type("\r")
        terminal.expect("First.")
        terminal.expect("Second.")
        terminal.leave()
    assert chatty.prompts == ["go", "one\ntwo"]


def test_a_daemon_that_starts_again_is_waited_for_and_nothing_is_lost_or_told_twice(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn()[:1], turn("Second."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        daemon.publish(stories.said("One, "), stories.said("two, "))
        terminal.expect("One, two,")
        daemon.stop()
        terminal.expect("the daemon went away")
        daemon.listen()
        terminal.expect("the daemon is back.")
        daemon.wait_for("runs.events", 2)
        again = (("One, ", 0), ("two, ", 5), ("three.", 10))
        said = [stories.said(words, at=at) for words, at in again]
        daemon.publish(*said, *turn("One, two, three.")[1:])
        terminal.expect("three.")
        terminal.say("next")
        terminal.expect("Second.")
        terminal.leave()
    assert terminal.stays.count("One") == 1 and terminal.stays.count("three") == 1


def test_a_daemon_that_is_gone_between_two_prompts_is_told_and_the_chat_goes_on(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn("One."), turn("Two."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("first")
        terminal.expect("One.")
        terminal.expect("> ")
        daemon.stop()
        terminal.type("second\n")
        terminal.expect("podium: The daemon is not running")
        terminal.expect("> second")
        daemon.listen()
        terminal.type("\n")
        terminal.expect("Two.")
        terminal.leave()
    assert chatty.prompts == ["first", "second"]


def test_a_daemon_that_was_stopped_in_mid_turn_has_its_turn_told_to_the_end_later(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn()[:1], turn("Second."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        daemon.publish(stories.said("One, "))
        terminal.expect("One,")
        daemon.leave("interrupt")
        terminal.expect("The daemon was stopped.")
        terminal.say("next")
        terminal.expect("The daemon is not running")
        terminal.expect("> next")
        daemon.events += turn("One, two.")[1:]
        daemon.answers["runs.get"] = prompt_run()
        daemon.listen()
        terminal.type("\n")
        terminal.expect("two.")
        terminal.expect("Second.")
        terminal.leave()
    assert chatty.prompts == ["go", "next"]


@pytest.mark.parametrize("editing", [True, False], ids=["a plain terminal", "no line editing"])
def test_a_chat_works_where_little_can_be_shown_or_edited(
    daemon: FakeDaemon, tmp_path: Path, editing: bool
) -> None:
    """At a terminal that cannot move its cursor, or with a Python without readline."""
    chatty = Chatty(daemon, turn("One."), turn()[:1])
    interrupted(daemon)
    more = {"TERM": "dumb"}
    if not editing:
        (tmp_path / "readline.py").write_text("raise ImportError\n")
        client = environment(daemon.path)["PYTHONPATH"]
        more = {"PYTHONPATH": f"{tmp_path}:{client}"}
    with at_terminal(daemon, tmp_path, **more) as terminal:
        terminal.expect("> ")
        if editing:
            terminal.type("rubbish")
            terminal.expect("rubbish")  # readline reads: a signal before that waits for a key
            terminal.type("\x03")
            terminal.expect("> ")
        terminal.type("first\\\n")
        terminal.expect("... ")
        terminal.type("line\n")
        terminal.expect("One.")
        terminal.say("long")
        daemon.wait_for("runs.events", 2)
        terminal.type("\x03")
        terminal.expect("user-requested")
        terminal.expect("> ")
        terminal.type("\x04")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0
        assert terminal.modes == terminal.found_modes
    assert chatty.prompts == ["first\nline", "long"]
    assert "Traceback" not in terminal.screen
