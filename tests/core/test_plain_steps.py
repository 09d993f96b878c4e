"""Steps without an agent: commands and questions, and what a crash or a person makes of them."""

from __future__ import annotations

import pytest

from podiumd.core.decide import plain_steps
from podiumd.core.recipe.model import Limits, Step
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_command, a_question, a_recipe, a_step, leave, to


def test_a_command_is_intended_before_it_runs_and_its_exit_status_is_the_outcome() -> None:
    play = Play(a_recipe({"build": a_command("make", "all")}))
    play.go()
    assert play.last(f.CommandIntended).run == ("make", "all")
    assert play.state.next == f.Move(kind="run")
    assert play.ran() == ["command.ended", "edge.taken", "run.ended"]
    assert (play.reason, play.history[0].source) == ("changes-committed", "command")


def test_a_command_that_fails_goes_its_own_way_and_hands_on_what_it_said() -> None:
    steps = {
        "build": a_command(on={"failed": to("fix")}),
        "fix": a_step("Mend it: {{last.build.detail}}"),
    }
    play = Play(a_recipe(steps))
    assert play.ran(False, tail="no rule to make target") == ["command.ended", "edge.taken"]
    play.begin()
    assert play.turn.prompt.startswith("Mend it: no rule to make target")
    assert play.history[0].description == "make all: exit status 1"


def test_a_command_that_did_not_end_by_itself_is_said_to_have_not() -> None:
    play = Play(a_recipe({"build": a_command()}))
    play.ran(False, exit_status=None)
    assert play.history[0].description == "make all: did not end"


def test_values_stay_one_argument_whatever_is_in_them() -> None:
    nasty = 'a b"; $(touch x) {{last.build.detail}}\n*'
    play = Play(a_recipe({"build": a_command("echo", "--say={{issue}}")}), params={"issue": nasty})
    play.go()
    assert play.last(f.CommandIntended).run == ("echo", f"--say={nasty}")


def test_a_shell_line_is_run_by_the_shell_as_it_stands() -> None:
    step = a_command()
    shell = Step(
        kind="command",
        shell="make | tee log",
        outcomes=step.outcomes,
        on=step.on,
        timeout_minutes=2,
    )
    play = Play(a_recipe({"build": shell}))
    play.go()
    intended = play.last(f.CommandIntended)
    assert (intended.run, intended.timeout_seconds) == (("/bin/sh", "-c", "make | tee log"), 120.0)


def test_its_time_counts_and_is_never_more_than_is_left() -> None:
    steps = {"build": a_command(on={"passed": to("build")})}
    play = Play(a_recipe(steps, Limits(max_minutes=1.0, max_step_visits=9)))
    play.go()
    assert play.last(f.CommandIntended).timeout_seconds == 60.0
    play.ran(seconds=45.0)
    play.go()
    assert play.last(f.CommandIntended).timeout_seconds == 15.0
    play.ran(seconds=15.0)
    play.go()
    assert play.reason == "max-minutes"


@pytest.mark.parametrize("answer", ["retry", "stop"])
def test_a_tree_that_somebody_else_took_from_a_run_that_has_begun_is_asked_about(
    answer: str,
) -> None:
    play = Play(a_recipe({"build": a_command()}))
    play.do(c.Proceed)
    play.do(c.Proceed, locked="run 42")
    assert (play.question.kind, play.question.detail) == ("recover", "run 42")
    assert play.all(f.CommandIntended) == []
    play.answer(answer)
    if answer == "stop":
        assert play.reason == "user-requested"
        return
    play.do(c.Proceed, locked="run 43")  # it still has it
    play.answer("retry")
    play.ran()
    assert play.reason == "changes-committed"


def test_a_tree_that_is_not_ours_any_more_keeps_a_command_that_was_cut_off_from_running() -> None:
    play = Play(a_recipe({"build": a_command()}))
    play.go().do(c.Proceed, locked="run 42")
    assert play.question.about == "hindered" and not play.state.at_work
    play.answer("retry")
    assert play.state.at_work and play.do(c.Proceed) == []
    play.ran()
    assert play.reason == "changes-committed"


def test_an_unattended_run_whose_tree_somebody_else_took_ends() -> None:
    play = Play(a_recipe({"build": a_command()}), on_question="fail")
    play.go().do(c.Proceed, locked="run 42")
    assert play.reason == "session-locked"


def test_an_interrupted_command_is_run_again() -> None:
    play = Play(a_recipe({"build": a_command()}))
    play.go()
    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.do(c.ReportWorkStopped) == ["run.paused"]
    assert play.do(c.Resume) == ["run.resumed"]
    assert play.state.at_work
    play.ran()
    assert play.reason == "changes-committed"


def test_one_that_must_not_be_repeated_is_asked_about_when_the_run_goes_on() -> None:
    play = Play(a_recipe({"push": a_command("git", "push", irreversible=True)}))
    play.go().do(c.Interrupt)
    play.do(c.ReportWorkStopped)
    assert play.state.status == "paused"
    assert play.do(c.Resume) == ["run.resumed", "question.opened"]
    assert (play.question.about, play.question.detail) == ("irreversible", "git push")
    play.answer("continue")
    assert play.reason == "changes-committed"


def test_a_pause_of_one_that_is_taken_back_in_time_asks_nothing() -> None:
    play = Play(a_recipe({"push": a_command("git", "push", irreversible=True)}))
    play.go().do(c.Pause)
    assert play.do(c.Resume) == ["run.resumed"]


def test_an_end_that_comes_too_late_is_dropped() -> None:
    play = Play(a_recipe({"build": a_command(on={"passed": to("build")})}))
    play.ran()
    assert play.do(c.ReportCommandEnd, passed=False) == []


def test_a_gate_before_a_command_is_asked_first() -> None:
    play = Play(a_recipe({"push": a_command("git", "push", gate="Push?")}))
    play.go()
    assert (play.question.text, play.all(f.CommandIntended)) == ("Push?", [])
    play.answer("yes")
    play.ran()
    assert play.reason == "changes-committed"


def test_a_command_pauses_when_it_is_over() -> None:
    play = Play(a_recipe({"build": a_command(on={"passed": to("work")}), "work": a_step()}))
    play.go().do(c.Pause)
    play.do(c.ReportCommandEnd, passed=True, exit_status=0)
    assert (play.state.status, play.state.next) == ("paused", f.Move(kind="enter", step="work"))


@pytest.mark.parametrize(
    ("answer", "then"),
    [("retry", "run"), ("continue", "changes-committed"), ("stop", "user-requested")],
)
def test_a_person_decides_about_a_command_that_was_cut_off_and_must_not_be_repeated(
    answer: str, then: str
) -> None:
    play = Play(a_recipe({"push": a_command("git", "push", irreversible=True)}))
    play.go().do(c.AskRecovery, about="irreversible", text="It was cut off.")
    play.answer(answer)
    if then == "run":
        assert play.state.ready and play.state.next == f.Move(kind="run")
        play.ran()
        assert play.reason == "changes-committed"
    else:
        assert play.reason == then


def test_the_question_after_a_crash_says_what_still_ran_of_the_command_and_was_ended() -> None:
    play = Play(a_recipe({"push": a_command("git", "push", irreversible=True)}))
    question = plain_steps.cut_off_question(play.go().state, ("git push", "ssh host"))
    assert question is not None
    text, detail = question
    assert "Nothing of it runs any more" in text and "is not known" in text
    assert detail.splitlines() == [
        "git push",
        "still ran, and was ended at the daemon's start: git push",
        "still ran, and was ended at the daemon's start: ssh host",
    ]


def test_going_on_after_damage_does_not_take_a_command_for_run() -> None:
    play = Play(a_recipe({"build": a_command()}))
    play.go().do(c.AskRecovery, about="damage: x", text="A part of the log is lost.")
    play.answer("continue")
    assert play.state.ready and play.state.next == f.Move(kind="run")


def test_a_question_leads_where_its_answer_says() -> None:
    steps = {
        "ask": a_question("Which?", docs=leave("no-changes-made"), code=to("work")),
        "work": a_step("Work on it. {{last.ask.detail}}"),
    }
    play = Play(a_recipe(steps))
    play.go()
    assert [choice for choice, _ in play.question.choices] == ["docs", "code"]
    play.answer("code", note="only the parser")
    play.begin()
    assert play.turn.prompt.startswith("Work on it. only the parser")
    assert (play.history[0].outcome, play.history[0].source) == ("code", "person")


def test_yes_and_no_have_their_words_and_no_without_an_edge_declines() -> None:
    play = Play(
        a_recipe({"ask": a_question("Go on?", yes=leave("changes-committed"), no=to("ask"))})
    )
    play.go()
    assert play.question.choices == (("yes", "Yes"), ("no", "No"))
    bare = Step(
        kind="gate", ask="Go on?", choices=("yes", "no"), on={"yes": to("ask")}, outcomes=("yes",)
    )
    play = Play(a_recipe({"ask": bare}))
    play.go().answer("no")
    assert play.reason == "gate-declined"


def test_a_question_nobody_can_answer_ends_an_unattended_run() -> None:
    play = Play(a_recipe({"ask": a_question(yes=leave("changes-committed"))}), on_question="fail")
    play.go()
    assert play.reason == "clarification-needed"
