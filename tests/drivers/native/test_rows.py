"""The rows of a turn follow from its facts, and earlier turns from the rows."""

from __future__ import annotations

import json

from podiumd.agents.native.history import past_turns
from podiumd.agents.native.session_rows import INTERRUPTED, TurnRows
from podiumd.agents.native.transcript import Row
from podiumd.core.prompts.context_window import PastTurn
from podiumd.core.reply.actions import Action
from podiumd.core.run import loop_facts as lf
from podiumd.core.run import loop_state as ls

AT = "2026-11-22T09:00:00.000Z"
TURN = TurnRows("turn", "Mend it.", "prompt-uuid", "/project")
READ = Action(name="read_file", args={"path": "a.py"})
DONE = Action(name="done", args={"summary": "All is well."})


def result(action: str, *, success: bool = True, message: str = "") -> lf.Result:
    return lf.Result(action=action, success=success, message=message, output="")


def round_(number: int, *actions: ls.ActionState, words: str = "", **more: object) -> ls.Round:
    told = [{"action": one.action.name, **one.action.args} for one in actions]
    block = f"\n```json\n{json.dumps(told)}\n```\n" if told else ""
    fields = {"stop": "end", **more}
    return ls.Round(number=number, text=words + block, actions=actions, **fields)  # type: ignore[arg-type]


LOOK = ls.ActionState(action=READ, result=result("read_file", message="2 lines"))
END = ls.ActionState(action=DONE, result=result("done"))
LOOP = ls.LoopState(
    rounds=(round_(1, LOOK, words="I look."), round_(2, END, words="It is mended.")),
    words=(ls.WordsAt(0, "early", "Be quick."), ls.WordsAt(1, "late", "Be kind.")),
)


def kinds(rows: list[Row]) -> list[tuple[str, str]]:
    return [(row.type, row.said or row.text) for row in rows]


def test_a_turn_is_told_in_the_order_in_which_the_model_was_told_it() -> None:
    rows = TURN.of(LOOP, AT)
    assert kinds(rows) == [
        ("prompt", "Mend it."),
        ("prompt", "Be quick."),
        ("reply", "I look."),
        ("results", ""),
        ("prompt", "Be kind."),
        ("reply", "It is mended."),
        ("results", ""),
    ]
    assert [row.uuid for row in rows[:2]] == ["prompt-uuid", "early"]
    assert rows[2].actions[0].id == rows[3].results[0].id == "turn/1/0"


def test_rows_made_again_are_the_same_and_written_ones_can_be_left_out() -> None:
    rows = TURN.of(LOOP, AT)
    assert [row.uuid for row in TURN.of(LOOP, "later")] == [row.uuid for row in rows]
    assert TURN.of(LOOP, AT, since=1) == rows[4:]
    assert len({row.uuid for row in rows}) == len(rows)


def test_what_is_under_way_has_no_results_unless_the_turn_ends_there() -> None:
    half = ls.LoopState(rounds=(round_(1, LOOK, ls.ActionState(action=READ)),))
    assert kinds(TURN.of(half, AT))[-1][0] == "reply"
    *_, last = TURN.of(half, AT, over=True)
    assert [one.message for one in last.results] == ["2 lines", INTERRUPTED]


def test_a_reply_that_was_not_read_and_a_hook_that_refused_are_told() -> None:
    refused = ls.CommitNote(state="refused", detail="no tabs, please")
    rounds = (
        round_(1, words="{", fault="block 1: not valid JSON"),
        round_(2, END, commit=refused),
        round_(3, words="Only words."),
    )
    rows = TURN.of(ls.LoopState(rounds=rounds), AT)
    assert [row.text for row in rows if row.type == "results"] == [
        "Nothing of this reply was done: block 1: not valid JSON",
        "The commit was refused by a hook of the repository: no tabs, please",
    ]
    assert rows[-1].said == "Only words."


def test_earlier_turns_are_their_prompt_their_last_words_and_what_was_done() -> None:
    rows = [*TURN.of(LOOP, AT), TURN.notice("committed 1234567", AT)]
    now = TurnRows("now", "And now?", "now-uuid", "/project").of(ls.LoopState(), AT)
    assert past_turns([*rows, *now], "now") == (
        PastTurn(
            prompt="Mend it.\n\nBe quick.\n\nBe kind.",
            answer="It is mended.\n\nAll is well.",
            did=("read_file a.py: 2 lines", "committed 1234567"),
        ),
    )
    assert past_turns(rows, "turn") == ()


def test_an_earlier_turn_may_lack_an_answer_and_a_long_line_is_cut() -> None:
    long = ls.ActionState(
        action=Action(name="run_command", args={"command": "x " * 200}),
        result=result("run_command", success=False, message="exit code 1"),
    )
    (turn,) = past_turns(TURN.of(ls.LoopState(rounds=(round_(1, long),)), AT), "now")
    assert turn.answer == ""
    assert turn.did[0].endswith("…: failed: exit code 1") and len(turn.did[0]) < 200
