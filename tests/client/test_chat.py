"""``podium chat`` at a terminal: talking, leaving, and what is typed while the agent works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import stories
from tests.client.chats import (
    COME_BACK,
    CONFIGURATION,
    Chatty,
    at_narrow_terminal,
    at_terminal,
    turn,
)
from tests.client.fake_daemon import SESSION_ID, FakeDaemon, Refused


def test_a_conversation_from_the_first_line_to_the_last(daemon: FakeDaemon, tmp_path: Path) -> None:
    chatty = Chatty(daemon, turn("Hello."), turn("Still ", "here."))
    with at_terminal(daemon, tmp_path, "--cwd", "/tmp") as terminal:
        terminal.expect("native · /tmp · a new session · mode confirm · /help for help")
        terminal.say("hi")
        terminal.expect("session 5e5510aa")
        terminal.expect("Hello.")
        terminal.expect("1:02 · $0.50")
        terminal.say("and now?")
        terminal.expect("Still here.")
        terminal.say("exit")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0
    assert chatty.prompts == ["hi", "and now?"]
    first, second = daemon.params_of("sessions.prompt")
    assert (first["agent"], first["working_directory"]) == ("native", "/tmp")
    assert "session_id" not in first and "permission_mode" not in first
    assert second["session_id"] == SESSION_ID


def test_every_message_of_a_chat_has_its_script(
    daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chatty = Chatty(daemon, turn("Hello."), turn("Still here."))
    with at_terminal(daemon, tmp_path, "--agent", "native", "--script", "lines.toml") as terminal:
        terminal.say("hi")
        terminal.expect("Hello.")
        terminal.say("and now?")
        terminal.expect("Still here.")
        terminal.leave()
        screen = "".join(terminal.screen.split())
    assert f"--script{tmp_path}/lines.toml" in screen, "and it is said how to come back with it"
    assert chatty.prompts == ["hi", "and now?"]
    scripts = [sent["script"] for sent in daemon.params_of("sessions.prompt")]
    assert scripts == [str(tmp_path / "lines.toml")] * 2


@pytest.mark.parametrize("words", ["exit\n", "EXIT.\n", "quit\n", " Quit. \n", "/exit\n", "\x04"])
def test_these_words_and_the_end_of_input_leave(
    daemon: FakeDaemon, tmp_path: Path, words: str
) -> None:
    chatty = Chatty(daemon)
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.expect("> ")
        terminal.type(words)
        terminal.expect("No session was begun.")

        assert terminal.end() == 0
    assert chatty.prompts == []


def test_an_empty_line_is_ignored_and_ctrl_c_clears_the_line(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn("Done."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("")
        terminal.say("   ")
        terminal.expect("> ")
        terminal.type("rm everything")
        terminal.expect("rm everything")
        terminal.type("\x03")
        terminal.say("say")
        terminal.expect("Done.")
        terminal.say("quit")

        assert terminal.end() == 0
    assert chatty.prompts == ["say"]


def test_a_message_has_several_lines_by_a_backslash_alt_enter_or_a_paste(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn("One."), turn("Two."), turn("Three."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("first\\")
        terminal.expect("... ")
        terminal.type("second\n")
        terminal.expect("One.")
        terminal.expect("> ")
        terminal.type("third\x1b\rfourth\r")
        terminal.expect("Two.")
        terminal.expect("> ")
        terminal.type("\x1b[200~fifth\rsixth\x1b[201~\r")
        terminal.expect("Three.")
        terminal.expect("> ")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert chatty.prompts == ["first\nsecond", "third\nfourth", "fifth\nsixth"]


def test_what_was_said_is_offered_again_in_the_next_chat_and_is_nobody_elses(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, turn("One."), turn("Two."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.expect("> ")
        terminal.type("remember: ü\\\nthis\n")
        terminal.expect("One.")
        terminal.leave()
    history = tmp_path / "podium" / "chat_history"
    history.write_text(history.read_text() + "damaged\n")
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.expect("> ")
        terminal.type("\x1b[A\n")
        terminal.expect("Two.")
        terminal.leave()

    assert chatty.prompts == ["remember: ü\nthis"] * 2
    assert history.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "podium").stat().st_mode & 0o777 == 0o700


def test_a_history_that_cannot_be_kept_is_told_once_and_costs_nothing_else(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    (tmp_path / "podium").write_text("no directory")
    Chatty(daemon, turn("One."), turn("Two."))
    with at_terminal(daemon, tmp_path) as terminal:
        for said in ("One.", "Two."):
            terminal.say("go")
            terminal.expect(said)
        terminal.leave()
    assert terminal.screen.count("(not kept in") == 1


def test_a_failed_request_is_told_the_message_stays_and_the_chat_goes_on(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    def refused(params: stories.Json) -> stories.Json:
        if not tries:
            tries.append(params["text"])
            fix = "Set ANTHROPIC_API_KEY."
            raise Refused(-32005, "Agent 'native' cannot be used: no key.", {"fix": fix})
        return chatty._prompted(params)

    tries: list[str] = []
    chatty = Chatty(daemon, turn("Better."))
    daemon.answers["sessions.prompt"] = refused
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("fix it")
        terminal.expect("podium: Agent 'native' cannot be used: no key. Set ANTHROPIC_API_KEY.")
        terminal.expect("> fix it")
        terminal.type(" please\n")
        terminal.expect("Better.")
        terminal.leave()
    assert chatty.prompts == ["fix it", "fix it please"]


def test_a_turn_that_fails_says_why_and_the_chat_goes_on(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    failed = turn("Trying.", end="error")
    failed[-1]["data"]["run"]["exit"]["detail"] = "the model is overloaded"
    Chatty(daemon, failed, turn("Now."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("✗ Turn failed: agent invocation error (error)")
        terminal.expect("the model is overloaded")
        terminal.say("again")
        terminal.expect("Now.")
        terminal.leave()


def test_what_is_typed_while_the_agent_works_waits_for_its_turn(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, [stories.started(kind="prompt")], turn("Second."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("one")
        daemon.wait_for("runs.events")
        terminal.type("tow\x7f\x7fwo\n")
        terminal.expect("next: two")
        terminal.type("exi\x1b[Dt.\n")
        terminal.expect("leaving when it is done")
        assert chatty.prompts == ["one"]
        daemon.publish(*turn("First.")[1:])
        terminal.expect("First.")
        terminal.expect("Second.")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0
    assert chatty.prompts == ["one", "two"]


def test_a_line_that_is_unfinished_when_the_agent_is_done_stands_at_the_prompt(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    chatty = Chatty(daemon, [stories.started(kind="prompt")], turn("Second."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("one")
        daemon.wait_for("runs.events")
        terminal.type("half a li")
        terminal.expect("> half a li")
        daemon.publish(*turn("First.")[1:])
        terminal.expect("First.")
        terminal.expect("> half a li")
        terminal.type("ne\n")
        terminal.expect("Second.")
        terminal.expect("> ")
        terminal.type("\x04")

        assert terminal.end() == 0
    assert chatty.prompts == ["one", "half a line"]


def test_ctrl_d_while_the_agent_works_leaves_once_it_is_done(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, [stories.started(kind="prompt")])
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("one")
        daemon.wait_for("runs.events")
        terminal.type("\x04")
        terminal.expect("leaving when it is done")
        daemon.publish(*turn("First.")[1:])
        terminal.expect("First.")
        terminal.expect(COME_BACK)

        assert terminal.end() == 0


def test_a_notice_is_told_whole_at_forty_columns(daemon: FakeDaemon, tmp_path: Path) -> None:
    notice = "Podium runs as root: what an agent runs has all rights of this machine, but for some."
    Chatty(daemon, turn()[:1])
    with at_narrow_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        daemon.publish(stories.said(notice, kind="status"), *turn("Done.")[1:])
        terminal.expect("Done.")
        terminal.leave()
    assert notice in " ".join(terminal.screen.split())


def test_tools_files_and_the_commit_are_told(daemon: FakeDaemon, tmp_path: Path) -> None:
    files = [["a.py", "modified"], ["b.py", "created"]]
    Chatty(daemon, turn()[:1])
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        daemon.publish(
            stories.said("patch a.py", kind="tool"),
            stories.said("ok", kind="tool_result"),
            stories.said("read_file b.py", kind="tool"),
            stories.event(None, "action.ended", result={"success": False, "message": "no b.py"}),
            stories.said("failed: no b.py", kind="tool_result"),
            stories.said("busy", kind="status"),
            stories.said("Do"),
            stories.said("ne."),
            *turn("Done.", files=files, commit="0123456789abcdef")[1:],
        )
        terminal.expect("⚙ patch a.py")
        terminal.expect("ok")
        terminal.expect("✗ no b.py")
        terminal.expect("… busy")
        terminal.expect("Done.")
        terminal.expect("2 files changed · commit 01234567")
        terminal.leave()
    assert "failed:" not in terminal.screen


def test_a_commit_that_the_agent_has_told_itself_is_not_told_again(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn("Done.\n\ncommitted 0123456789ab", commit="0123456789abcdef"))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        terminal.expect("committed 0123456789ab")
        terminal.leave()
    assert terminal.screen.count("commit") == 1


def test_hostile_words_are_not_obeyed_and_colours_are_there_for_who_wants_them(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn()[:1])
    with at_terminal(daemon, tmp_path, NO_COLOR="") as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        daemon.publish(stories.said("rm \x1b]0;x\x07", kind="tool"), *turn("a\x1b[2Jb")[1:])
        terminal.expect("\x1b[36m⚙ rm \\x1b]0;x\\x07\x1b[0m")
        terminal.expect("a\\x1b[2Jb")
        terminal.leave()


def test_everything_may_be_allowed_beforehand_and_the_mode_changed_on_the_way(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    Chatty(daemon, turn("One."), turn("Two."))
    with at_terminal(daemon, tmp_path, "--allow-all") as terminal:
        terminal.expect("mode allow-all")
        terminal.type("one\n")
        terminal.expect("One.")
        terminal.type("/mode careful\n")
        terminal.expect("There is no mode 'careful'; there are: confirm, allow-all, read-only.")
        terminal.type("/mode read-only\n")
        terminal.expect("mode read-only, from the next prompt on")
        terminal.type("two\n")
        terminal.expect("Two.")
        terminal.type("/mode\n")
        terminal.expect("mode read-only")
        terminal.type("exit\n")

        assert terminal.end() == 0
    modes = [sent["permission_mode"] for sent in daemon.params_of("sessions.prompt")]
    assert modes == ["allow-all", "read-only"]


def test_the_commands_of_the_chat(daemon: FakeDaemon, tmp_path: Path) -> None:
    chatty = Chatty(daemon, turn("One."))
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("/help")
        terminal.expect("/mode [MODE]    what the agent may do unasked: confirm, allow-all")
        terminal.type("/session\n")
        terminal.expect("No session was begun yet.")
        terminal.type("/frobnicate now\n")
        terminal.expect("There is no /frobnicate: /help lists what there is.")
        terminal.type("/resume\n")
        terminal.expect("No recipe is at work in this chat.")
        terminal.type("//etc is full\n")
        terminal.expect("One.")
        terminal.type("/status\n")
        terminal.expect("session 5e5510aa · mode confirm")
        terminal.expect("model not known yet: the agent's own choice")
        terminal.expect("$0.50 so far")
        terminal.type("/session\n")
        terminal.expect(COME_BACK)
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert chatty.prompts == ["/etc is full"]


def test_the_status_names_the_model_that_has_answered_or_is_configured(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    first, *rest = turn("One.")
    reply = stories.event(2, "reply.received", number=1, model="big-9", fault=None)
    rest = [{**one, "seq": one["seq"] + 1} for one in rest]
    Chatty(daemon, [first, reply, *rest])
    configured = {"key": "agents.native.model", "value": "small-1"}
    daemon.answers["daemon.configuration"] = {"values": [*CONFIGURATION["values"], configured]}
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.expect("> ")
        terminal.type("/status\n")
        terminal.expect("model small-1")
        terminal.type("hi\n")
        terminal.expect("One.")
        terminal.expect("> ")
        terminal.type("/status\n")
        terminal.expect("model big-9")
        terminal.type("exit\n")

        assert terminal.end() == 0


def test_that_the_run_will_pause_cuts_no_word_of_the_answer(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    started, turn_over, run_over = turn("All slugs are whole.")
    Chatty(daemon, [started])
    with at_terminal(daemon, tmp_path) as terminal:
        terminal.say("go")
        daemon.wait_for("runs.events")
        pause = stories.event(4, "stop.intended", how="pause")
        daemon.publish(stories.said("All sl"), pause, stories.said("ugs are whole."))
        daemon.publish({**turn_over, "seq": 5}, {**run_over, "seq": 6})
        terminal.leave()
    assert "All slugs are whole." in [line.strip() for line in terminal.stays.split("\n")]
