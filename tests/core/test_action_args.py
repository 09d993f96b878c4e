"""The parameters of actions: each with its type, and a sentence for each that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.reply.action_args import (
    TYPES,
    Args,
    Done,
    Patch,
    ReadFile,
    RunCommand,
    RunTests,
    Search,
    WriteFile,
    checked,
)
from podiumd.core.reply.actions import NAMES, Action


def test_every_action_of_the_contract_has_parameters() -> None:
    assert tuple(TYPES) == NAMES


@pytest.mark.parametrize(
    ("name", "args", "found"),
    [
        ("read_file", {"path": "a.py"}, ReadFile("a.py")),
        ("read_file", {"path": "a.py", "first": 2, "last": 9}, ReadFile("a.py", 2, 9)),
        ("write_file", {"path": "a.py", "content": ""}, WriteFile("a.py", "")),
        ("patch", {"file": "a.py", "operations": [1]}, Patch("a.py", [1])),
        ("patch", {"file": "a", "operations": [], "base": "c0"}, Patch("a", [], "c0")),
        ("search", {"query": "x", "pattern": "*.py", "regex": True}, Search("x", "*.py", True)),
        ("run_command", {"command": "make", "timeout": 5}, RunCommand("make", 5.0)),
        ("run_tests", {}, RunTests()),
        ("run_tests", {"pattern": None}, RunTests()),
        ("done", {"summary": "All."}, Done("All.")),
    ],
)
def test_parameters_that_are_right_come_typed(name: str, args: dict[str, Any], found: Args) -> None:
    assert checked(Action(name, args)) == found


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("read_file", {}, "read_file: object missing required field `path`; its parameters are"),
        ("read_file", {"path": ""}, "read_file: parameter 'path': expected `str` of length >= 1"),
        ("read_file", {"path": "a", "first": 0}, "read_file: parameter 'first': expected `int` >="),
        ("read_file", {"path": "a", "line": 1}, "read_file: object contains unknown field `line`"),
        ("read_file", {"path": "a", "first": True}, "read_file: parameter 'first': expected"),
        ("write_file", {"path": "a"}, "write_file: object missing required field `content`"),
        ("patch", {"file": "a", "operations": "x"}, "patch: parameter 'operations': expected `arr"),
        ("run_command", {"command": ["ls"]}, "run_command: parameter 'command': expected `str`"),
        ("run_command", {"command": "x", "timeout": 0}, "run_command: parameter 'timeout': expec"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_was_expected(
    name: str, args: dict[str, Any], says: str
) -> None:
    problem = checked(Action(name, args))

    assert isinstance(problem, str)
    assert problem.startswith(says)
    assert "; its parameters are " in problem


def test_whoever_offers_another_action_checks_its_parameters() -> None:
    assert checked(Action("save", {"key": "x"})) is None
