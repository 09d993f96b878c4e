"""The loop of a native turn: what follows from what happens within it."""

from __future__ import annotations

import pytest

from podiumd.core.decide.native_loop import MAX_INVALID, REFUSED, TEXT_LIMIT
from podiumd.core.reply.report import TokensUsed
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from tests.core.builders import Play
from tests.core.looped import DONE, Looped, block, change, read, run, write

UNCLOSED = '```json\n{"action": "read_file", "path": "a.py"}'


def test_a_turn_begins_with_its_settings_which_hold_whatever_is_said_later() -> None:
    play = Play(agent="native").go()
    assert play.state.turn is not None
    assert play.state.turn.loop.next == ls.Begin()

    looped = Looped(max_iterations=7)
    other = lf.LoopSettings(max_iterations=99, tools=())

    assert looped.tell(lc.Begin(settings=other)) == []
    assert looped.loop.settings is not None
    assert looped.loop.settings.max_iterations == 7
    assert looped.due() == ls.Ask()


def test_an_answer_without_actions_ends_the_turn() -> None:
    looped = Looped()

    assert looped.reply("All is well.") == ["reply.received", "loop.ended"]
    assert looped.ending.kind == "done"


def test_an_empty_answer_is_asked_for_again_and_a_clear_error_in_the_end() -> None:
    looped = Looped()

    for _ in range(MAX_INVALID):
        assert looped.due() == ls.Ask()
        looped.reply(" \n")

    assert (looped.ending.kind, looped.ending.reason) == ("stopped", "orchestration-error")
    assert looped.ending.detail.startswith("the reply holds no text")


def test_actions_are_done_one_after_the_other_and_their_results_go_back() -> None:
    looped = Looped()

    looped.says(read("a.py"), run("make"))
    assert looped.due() == ls.Act(0)
    looped.over(message="3 lines", output="1\tx")
    assert looped.due() == ls.Act(1)
    looped.over(success=False, message="exit status 2")

    assert looped.due() == ls.Ask()
    assert looped.messages == ["3 lines", "exit status 2"]
    assert [r and (r.action, r.success, r.critical) for r in looped.results] == [
        ("read_file", True, False),
        ("run_command", False, False),
    ]


def test_what_does_not_fit_changes_nothing() -> None:
    looped = Looped()
    result = lf.Result(action="read_file", success=True, message="")
    for step in (
        lc.PlanAction(index=0),
        lc.ReportActionEnd(index=0, result=result),
        lc.RefuseAction(index=0),
        lc.ReportCommitEnd(state="committed", sha="c0ffee"),
        lc.AddWords(words=()),
    ):
        assert looped.tell(step) == []
    looped.says(read(), run())
    for later in (
        lc.ReportReply(text="more"),
        lc.ReportReplyFailure(kind="api_error", detail="500"),
        lc.PlanAction(index=1),
        lc.ReportActionEnd(index=1, result=result),
        lc.RefuseAction(index=1),
        lc.ReportCommitEnd(state="nothing"),
    ):
        assert looped.tell(later) == []


def test_another_turn_or_none_hears_nothing() -> None:
    looped = Looped()

    assert looped.tell(lc.ReportReply(text="late"), turn_id="another") == []
    looped.reply("Well.")
    looped.report()
    assert looped.play.state.turn is None
    assert looped.tell(lc.ReportReply(text="late"), turn_id="another") == []


def test_a_plan_that_is_stored_is_not_stored_again() -> None:
    """As after a crash, when the action is planned once more."""
    looped = Looped()
    looped.says(write())
    plan = lc.PlanAction(index=0, changes=(change(),))

    assert looped.tell(plan) == ["action.intended"]
    assert looped.tell(plan) == []
    assert looped.tell(lc.PlanAction(index=0, changes=())) == ["action.intended"]


def test_an_action_that_was_planned_says_so_until_it_is_over() -> None:
    looped = Looped()
    looped.says(write())

    assert looped.tell(lc.PlanAction(index=0, changes=(change(),))) == ["action.intended"]
    (action,) = looped.loop.rounds[-1].actions
    assert action.intended is not None
    assert (action.intended.action, action.intended.changes) == ("write_file", (change(),))
    assert looped.due() == ls.Act(0), "intended is not done"

    looped.over(True, "written", change())
    assert looped.loop.files == (("a.py", "modified"),)


# What ends without anybody doing it.


def test_an_unknown_action_fails_alone() -> None:
    looped = Looped()

    looped.says({"action": "fly", "to": "Mars"}, read())

    assert looped.due() == ls.Act(1)
    assert looped.messages[0] == (
        "unknown action type: fly; there are read_file, write_file, patch, search, run_command, "
        "run_tests, done"
    )


def test_wrong_parameters_fail_their_action_in_words() -> None:
    looped = Looped()

    looped.says({"action": "read_file", "path": 7}, read())

    assert looped.due() == ls.Act(1)
    assert looped.messages[0] == (
        "read_file: parameter 'path': expected `str`, got `int`; "
        "its parameters are path, first?, last?"
    )


@pytest.mark.parametrize("name", ["write_file", "patch"])
def test_a_failed_write_is_critical_and_the_rest_is_reported_as_skipped(name: str) -> None:
    looped = Looped()
    wrong = {"action": name}

    looped.says(read(), wrong, run(), DONE)
    looped.over()

    assert looped.due() == ls.Ask()
    assert looped.messages[2:] == [f"skipped: action 2 ({name}) failed"] * 2
    assert [r and r.critical for r in looped.results] == [False, True, False, False]


def test_a_failure_that_a_tool_calls_critical_stops_the_reply() -> None:
    looped = Looped()

    looped.says(run(), read())
    looped.over(False, "the sandbox is missing", critical=True)

    assert looped.messages == ["the sandbox is missing", "skipped: action 1 (run_command) failed"]


def test_nothing_that_went_well_is_critical() -> None:
    looped = Looped()

    looped.says(run(), read())
    looped.over(True, critical=True)

    assert looped.due() == ls.Act(1)


# done


def test_done_ends_the_turn_after_a_reply_that_went_well() -> None:
    looped = Looped()

    looped.says(read(), DONE)
    assert looped.over() == ["action.ended", "action.ended", "loop.ended"]

    assert looped.ending.kind == "done"
    assert looped.messages == ["done so", "done"]


@pytest.mark.parametrize(
    ("actions", "at", "message"),
    [
        ([DONE, read()], 0, "done has to be the last action of a reply"),
        ([read(), DONE], 1, "not done: an action of this reply failed, see its result"),
        ([{**DONE, "summary": 3}], 0, "done: parameter 'summary': expected `str | null`, got"),
    ],
)
def test_done_is_believed_only_of_a_reply_that_went_well(
    actions: list[dict[str, object]], at: int, message: str
) -> None:
    looped = Looped()

    looped.says(*actions)
    if isinstance(looped.due(), ls.Act):
        looped.over(success=False)

    assert (looped.messages[at] or "").startswith(message)
    assert looped.due() == ls.Ask()


# Replies that cannot be read.


def test_a_reply_that_cannot_be_read_goes_back_with_the_reason() -> None:
    looped = Looped()

    looped.reply(UNCLOSED)

    assert looped.due() == ls.Ask()
    assert looped.loop.rounds[-1].fault == "block 1: the fence is never closed"
    assert looped.loop.rounds[-1].actions == ()
    assert looped.loop.invalid_in_a_row == 1


def test_a_reply_cut_by_the_limit_of_its_length_is_never_an_answer() -> None:
    looped = Looped()

    looped.reply("All is well.", stop="length")

    assert looped.due() == ls.Ask()
    assert "cut off" in (looped.loop.rounds[-1].fault or "")


def test_three_in_a_row_end_the_turn_and_the_run() -> None:
    looped = Looped()
    for _ in range(MAX_INVALID):
        looped.reply(UNCLOSED)

    assert looped.ending.reason == "orchestration-error"
    looped.report()
    assert looped.play.reason == "orchestration-error"
    assert looped.play.state.exit is not None
    assert looped.play.state.exit.detail == "block 1: the fence is never closed"


def test_a_reply_that_can_be_read_begins_the_count_anew() -> None:
    looped = Looped()
    for _ in range(3):
        looped.reply(UNCLOSED)
        looped.reply(UNCLOSED)
        looped.says(read())
        looped.over()

    assert looped.due() == ls.Ask()


def test_a_reply_too_long_to_keep_is_not_read() -> None:
    looped = Looped()

    looped.reply("x" * TEXT_LIMIT + "\n" + block(read()))

    (round_,) = looped.loop.rounds
    assert len(round_.text) == TEXT_LIMIT
    assert (round_.actions, round_.fault) == ((), "the reply is longer than 262144 characters")


def test_half_a_character_is_kept_as_a_question_mark() -> None:
    looped = Looped()

    looped.says(read())
    looped.over(message="\ud800", output="\udfff" + "x" * TEXT_LIMIT)

    result = looped.results[0]
    assert result is not None
    assert result.message == "?"
    assert result.output.endswith("\n... (1 more characters)")
    looped.reply("It is \ud83d here.")
    assert looped.loop.rounds[-1].text == "It is ? here."


# Limits.


def test_the_limit_of_replies_ends_the_turn_after_the_last_was_acted_on() -> None:
    looped = Looped(max_iterations=2)
    looped.says(read())
    looped.over()
    looped.says(read("b.py"))
    assert looped.due() == ls.Act(0)

    looped.over()

    assert (looped.ending.kind, looped.ending.reason) == ("stopped", "max-iterations")
    looped.report()
    end = looped.play.state.exit
    assert end is not None
    assert (end.category, end.class_) == ("guardrail", "guardrail")
    assert end.message == "max iterations (2) reached"
    assert looped.last(f.LimitHit).count == 2


def test_replies_that_cannot_be_read_count_too() -> None:
    looped = Looped(max_iterations=1)

    looped.reply(UNCLOSED)

    assert looped.ending.reason == "max-iterations"


def test_an_answer_at_the_limit_is_an_answer() -> None:
    looped = Looped(max_iterations=1)

    looped.reply("All is well.")

    assert looped.ending.kind == "done"


def test_the_tokens_of_all_replies_are_in_the_turns_end() -> None:
    looped = Looped()
    looped.says(read(), usage=lf.Usage(input=100, output=5, cached=80))
    looped.over()
    looped.reply("Done.", usage=lf.Usage(input=120, output=7))
    looped.report()
    assert looped.play.state.tokens == TokensUsed(read=220, cached=80, written=12, untold=0)


def test_no_request_is_made_once_the_money_is_spent() -> None:
    looped = Looped(budget_usd=1.0)
    looped.says(read(), cost_usd=0.6)
    looped.over()
    assert looped.due() == ls.Ask()
    looped.says(read("b.py"), cost_usd=0.4)

    looped.over()

    assert looped.ending.kind == "budget"
    looped.report()
    assert (looped.play.reason, looped.play.state.cost_usd) == ("error", 1.0)


@pytest.mark.parametrize(
    ("kind", "ends"), [("api_error", "error"), ("failed", "error"), ("usage_limit", None)]
)
def test_a_model_that_cannot_be_asked_ends_the_turn(kind: str, ends: str | None) -> None:
    looped = Looped()
    resets = "2026-01-02T05:00:00.000Z"

    failed = lc.ReportReplyFailure(
        kind=kind,  # type: ignore[arg-type]
        detail="529",
        api_status=529,
        resets_at=resets,
        cost_usd=0.25,
    )
    looped.tell(failed)

    ending = looped.ending
    assert (ending.kind, ending.detail, ending.api_status) == (kind, "529", 529)
    looped.report(resets_at=ending.resets_at)
    assert looped.play.state.cost_usd == 0.25, "what was tried has cost something all the same"
    end = looped.play.state.exit
    assert (end.reason if end is not None else None) == ends
    assert looped.play.state.parked_until == (resets if ends is None else None)


# A person says no.


def test_a_refusal_says_so_and_the_reply_goes_on() -> None:
    looped = Looped()
    looped.says(write(), run(), read())

    looped.refuse()
    assert looped.messages[0] == REFUSED
    looped.refuse("not on a Friday")
    assert looped.messages[1] == f"{REFUSED}: not on a Friday"

    assert looped.due() == ls.Act(2)
    assert looped.loop.rounds[-1].actions[0].refused


def test_the_same_action_refused_twice_ends_the_turn_for_a_person_to_say_more() -> None:
    looped = Looped()
    looped.says(run("rm -r x"), run("rm -r y"))
    looped.refuse()
    looped.refuse()
    assert looped.due() == ls.Ask(), "two actions, each refused once"
    looped.says(run("rm -r x"), read())

    looped.refuse()

    assert looped.messages[1] == "skipped: a person has refused the same action twice"
    assert (looped.ending.kind, looped.ending.reason) == ("stopped", "clarification-needed")
    looped.report()
    end = looped.play.state.exit
    assert end is not None
    assert (end.reason, end.class_) == ("clarification-needed", "needs-user")
    assert end.detail == "The same action was refused twice: run_command"
