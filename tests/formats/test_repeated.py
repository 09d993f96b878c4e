"""A call that fails again and again is noticed, once."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.formats import repeated
from podiumd.formats.message import ToolResult, ToolUse
from podiumd.formats.repeated import RepeatedFailures


class Turn:
    """A turn's calls, each with its result at once."""

    def __init__(self) -> None:
        self._failures = RepeatedFailures()
        self._number = 0

    def call(self, fails: bool = True, name: str = "Bash", **given: Any) -> bool:
        """Call a tool; whether its watcher is told something."""
        self._number += 1
        use = f"u{self._number}"
        self._failures.began(ToolUse(id=use, name=name, input=given))
        said = self._failures.ended(ToolResult(tool_use_id=use, text="", is_error=fails))
        assert said is None or said.startswith(f"the agent has tried the same {name} call 3 times")
        return said is not None


def test_the_third_failure_of_the_same_call_is_told_and_no_further_one() -> None:
    turn = Turn()
    assert [turn.call(command="make") for _ in range(5)] == [False, False, True, False, False]


def test_other_calls_and_another_order_of_the_input_count_as_what_they_are() -> None:
    turn = Turn()
    assert not any(turn.call(command=f"make {n}") for n in range(9))
    assert not any([turn.call(name="Read", a=1, b=2), turn.call(name="Read", b=2, a=1)])
    assert turn.call(name="Read", a=1, b=2)


def test_a_success_begins_anew() -> None:
    turn = Turn()
    told = [turn.call(command="make", fails=fails) for fails in (True, True, False, True, True)]
    assert not any(told)
    assert turn.call(command="make")


def test_a_result_of_no_call_says_nothing() -> None:
    assert RepeatedFailures().ended(ToolResult(tool_use_id="?", text="", is_error=True)) is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "MOST_CALLS", 2)
    turn = Turn()
    assert not any(turn.call(command=str(n)) for n in range(2))
    assert not any(turn.call(command="late") for _ in range(4))
    assert [turn.call(command="0") for _ in range(2)] == [False, True]
    failures = RepeatedFailures()
    for number in range(3):
        failures.began(ToolUse(id=str(number), name="Bash", input={}))
    assert len(failures._open) == 2
