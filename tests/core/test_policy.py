"""Who may do what: the mode, the step and people decide, never the model."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from podiumd.core.decide.policy import MODES, Allow, Ask, Deny, Mode, Risk, Verdict, hooked, judge
from podiumd.core.reply.action_args import TYPES

RISKS: dict[str, Risk] = {
    "read_file": "read",
    "search": "read",
    "write_file": "write",
    "patch": "write",
    "run_command": "exec",
    "run_tests": "exec",
    "done": "read",
}
WRITES = ("write_file", "patch", "run_command", "run_tests")


def judged(name: str, mode: Mode = "confirm", **more: Any) -> Verdict:
    return judge(name, RISKS[name], mode=mode, **more)


def test_every_action_and_mode_is_spoken_of() -> None:
    assert set(RISKS) == set(TYPES)
    assert get_args(Mode) == MODES


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["read_file", "search", "done"])
def test_reading_is_never_asked_about(name: str, mode: Mode) -> None:
    assert judged(name, mode) == Allow()
    assert judged(name, mode, tools="read-only") == Allow()


@pytest.mark.parametrize("name", WRITES)
def test_writes_and_commands_are_asked_about_done_or_refused_by_mode(name: str) -> None:
    assert judged(name, "confirm") == Ask()
    assert judged(name, "allow-all") == Allow()
    assert judged(name, "read-only") == Deny(f"the mode is read-only: {name} is refused")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WRITES)
def test_a_step_that_may_only_read_does_only_that_in_every_mode(name: str, mode: Mode) -> None:
    verdict = judged(name, mode, tools="read-only", allow=(name, "Bash", "Edit", "Write"))

    assert verdict == Deny(f"this step may only read: {name} is refused")


@pytest.mark.parametrize("name", WRITES)
def test_nothing_allowed_loosens_the_mode_that_only_reads(name: str) -> None:
    assert isinstance(judged(name, "read-only", allow=(name,)), Deny)


@pytest.mark.parametrize("mode", MODES)
def test_a_step_with_a_list_of_tools_has_no_others(mode: Mode) -> None:
    tools = ("Read", "Edit(src/**)", "run_tests")
    denied = Deny("run_command is not among the tools of this step")

    assert judged("run_command", mode, tools=tools, allow=("Bash",)) == denied
    assert judged("search", mode, tools=tools) == Deny("search is not among the tools of this step")
    assert judged("read_file", mode, tools=tools) == Allow()
    assert judged("done", mode, tools=tools) == Allow()
    assert judged("patch", "confirm", tools=tools) == Ask()
    assert judged("run_tests", "allow-all", tools=tools) == Allow()


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("Bash", {"run_command", "run_tests"}),
        ("Edit", {"patch"}),
        ("MultiEdit", {"patch"}),
        ("Write", {"write_file"}),
        ("Read", set()),
        ("Task", set()),
        ("", set()),
        ("run_command", {"run_command"}),
        ("write_file", {"write_file"}),
    ],
)
def test_what_is_allowed_by_name_is_not_asked_about(rule: str, names: set[str]) -> None:
    assert {name for name in WRITES if judged(name, allow=("Other", rule)) == Allow()} == names


@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("Bash(make test)", "make test", True),
        ("Bash(make test)", "make test; rm -rf /", False),
        ("Bash(make test)", "make", False),
        ("run_command(make test)", "make test", True),
        ("Edit(make test)", "make test", False),
        ("Bash(git log | head)", "git log | head", True),
        ("Bash(make:*)", "make", True),
        ("Bash(make:*)", "make test", True),
        ("Bash(make *)", "make test", True),
        ("Bash(make:*)", "makefile", False),
        ("Bash(make:*)", "make test && rm -rf /", False),
        ("Bash(make:*)", "make `id`", False),
        ("Bash(make:*)", "make $(id)", False),
        ("Bash(make:*)", "make test\nrm -rf /", False),
        ("Bash(make:*)", "make test > /etc/passwd", False),
        ("Bash(:*)", "rm -rf /", False),
        ("Bash(*)", "rm -rf /", False),
        ("Bash()", "rm -rf /", False),
        ("Bash(make", "make", False),
    ],
)
def test_a_rule_for_a_command_line_allows_that_and_no_more(
    rule: str, command: str, allowed: bool
) -> None:
    verdict = judged("run_command", allow=(rule,), command=command)

    assert verdict == (Allow() if allowed else Ask())


def test_a_rule_for_a_command_line_allows_nothing_that_has_none() -> None:
    assert judged("run_tests", allow=("Bash(make:*)",)) == Ask()
    assert judged("patch", allow=("Edit(src/**)",)) == Ask()


@pytest.mark.parametrize(
    ("match", "tool", "covered"),
    [
        (None, "anything", True),
        ("run_command", "run_command", True),
        ("Bash", "run_command", True),
        ("Bash", "run_tests", True),
        ("run_command", "Bash", True),
        ("run_*", "Bash", True),
        ("Bash", "write_file", False),
        ("save", "mcp__podium__save", True),
        ("mcp__podium__save", "save", True),
        ("mcp__podium__*", "transition", True),
        ("Save", "save", False),
        ("sav?", "save", True),
        ("", "save", False),
    ],
)
def test_a_hook_covers_a_tool_whatever_its_agent_calls_it(
    match: str | None, tool: str, covered: bool
) -> None:
    assert hooked(match, tool) is covered
