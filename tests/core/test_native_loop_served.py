"""Podium's own tools as actions of a native turn: offered, called, and what follows an ``ask``."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.reply.actions import NAMES
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from tests.core.looped import Looped, read, write

SERVED = ("ask", "save", "transition")
ASKS: dict[str, Any] = {"action": "ask", "question": "Which?"}
SAVES: dict[str, Any] = {"action": "save", "key": "goal", "value": "a shop"}
ENDED = "skipped: you have asked a person, which ends your turn"


def test_a_served_tool_is_an_action_whose_parameters_are_not_judged_here() -> None:
    looped = Looped(served=SERVED)

    looped.says({"action": "save", "anything": [1]})

    assert looped.due() == ls.Act(0)


@pytest.mark.parametrize("name", ["save", "mcp__podium__save"])
@pytest.mark.parametrize("alias", [True, False])
def test_every_way_to_write_a_call_is_that_call(name: str, alias: bool) -> None:
    looped = Looped(served=SERVED)
    args = {"key": "goal", "value": 1}

    looped.says(
        {"action": "tool_call", "tool": name, "args": args} if alias else {"action": name, **args}
    )

    action = looped.loop.rounds[-1].actions[0].action
    assert (action.name, action.args) == ("save", args)


@pytest.mark.parametrize("served", [(), ("notify",)])
def test_a_tool_that_is_not_served_is_unknown(served: tuple[str, ...]) -> None:
    looped = Looped(served=served)

    looped.says(ASKS, {"action": "mcp__podium__save"})

    there_are = ", ".join((*NAMES, *served))
    assert looped.messages == [
        f"unknown action type: ask; there are {there_are}",
        f"unknown action type: mcp__podium__save; there are {there_are}",
    ]
    assert looped.due() == ls.Ask(), "an ask that was not possible ends nothing"


def test_ask_ends_the_turn_and_what_comes_after_it_is_skipped() -> None:
    looped = Looped(served=SERVED)

    looped.says(SAVES, ASKS, read(), SAVES)
    looped.over(message="saved")
    looped.over(message="asked")

    assert looped.messages == ["saved", "asked", ENDED, ENDED]
    assert looped.ending.kind == "done"


def test_an_ask_that_is_refused_ends_nothing() -> None:
    looped = Looped(served=SERVED)

    looped.says(ASKS, SAVES)
    looped.over(False, "a question has to be a text")
    looped.over(message="saved")

    assert looped.due() == ls.Ask()


def test_the_turn_goes_on_after_every_other_tool() -> None:
    looped = Looped(served=SERVED)

    looped.says({"action": "transition", "to": "next"})
    looped.over(message="at the end of your turn")

    assert looped.due() == ls.Ask()


def test_words_that_come_after_an_ask_are_not_taken_by_this_turn() -> None:
    looped = Looped(served=SERVED)
    words = (lf.Words("u", "One more thing."),)
    assert looped.tell(lc.AddWords(words=words)) == ["words.added"]

    looped.says(ASKS)
    looped.over(message="asked")

    assert looped.tell(lc.AddWords(words=(lf.Words("v", "And this."),))) == []
    assert looped.ending.kind == "done"


def test_a_commit_that_a_hook_refuses_after_an_ask_does_not_call_the_model_back() -> None:
    looped = Looped(served=SERVED, commit=True)
    looped.wrote()

    looped.says(ASKS)
    looped.over(message="asked")
    assert looped.due() == ls.Commit(checkpoint=False)
    looped.tell(lc.ReportCommitEnd(state="refused", detail="badly formatted"))

    assert looped.ending.kind == "done"
    assert looped.loop.commit == ls.CommitNote(state="refused", detail="badly formatted")


def test_what_earlier_turns_have_left_is_not_committed_before_a_person_has_answered() -> None:
    looped = Looped(served=SERVED, commit=True, since="c0ffee")

    looped.says(ASKS)
    looped.over(message="asked")

    assert isinstance(looped.due(), ls.Over)


def test_after_a_failed_write_a_call_is_skipped_as_all_else() -> None:
    looped = Looped(served=SERVED)

    looped.says(write(), ASKS)
    looped.over(False, "disk full")

    assert looped.messages == ["disk full", "skipped: action 1 (write_file) failed"]
    assert looped.due() == ls.Ask()


@pytest.mark.parametrize("name", ["write_file", "patch"])
def test_an_action_that_is_not_offered_fails_alone_whatever_it_is(name: str) -> None:
    """A save or a transition beside it counts."""
    looped = Looped(tools=("read_file", "done"), served=("save",))

    looped.says({"action": name}, read(), {"action": "save", "key": "goal"})

    message = f"unknown action type: {name}; there are read_file, done, save"
    assert looped.results[0] == lf.Result(action=name, success=False, message=message)
    assert looped.due() == ls.Act(1)


def test_an_action_that_the_turn_may_not_do_fails_alone() -> None:
    looped = Looped()
    looped.says(write(), read())

    denied = lf.Result(action="write_file", success=False, message="the mode is read-only")
    looped.tell(lc.ReportActionEnd(index=0, result=denied, alone=True))

    assert looped.results[0] == denied
    assert looped.due() == ls.Act(1)
