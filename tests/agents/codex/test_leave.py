"""Leave for what a turn of Codex does, by what people have said."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.agents.codex import leave
from podiumd.formats.codex.wire import FileUpdateChange, ThreadItem

ALL = ("Bash", "Edit", "Write")


def change(*kinds: str) -> ThreadItem:
    changes = tuple(FileUpdateChange(path=kind, kind={"type": kind}) for kind in kinds)
    return ThreadItem(type="fileChange", changes=changes)


@pytest.mark.parametrize(
    ("tools", "allow", "policy", "sandbox"),
    [
        ("all", (), "untrusted", "workspaceWrite"),
        ("all", ("Bash",), "untrusted", "workspaceWrite"),
        ("all", ("Edit", "Bash(make:*)"), "untrusted", "workspaceWrite"),
        ("all", ("Bash", "Edit"), "on-request", "workspaceWrite"),
        ("all", ALL, "on-request", "workspaceWrite"),
        ("read-only", (), "on-request", "readOnly"),
        ("read-only", ALL, "on-request", "readOnly"),
    ],
)
def test_policy_and_sandbox_follow_from_what_is_allowed(
    tools: str, allow: tuple[str, ...], policy: str, sandbox: str
) -> None:
    assert leave.approval_policy(tools, allow) == policy
    assert leave.sandbox(tools, ["/git"])["type"] == sandbox
    assert leave.sandbox("all", ["/git"])["writableRoots"] == ["/git"]
    assert leave.sandbox("all", [])["excludeSlashTmp"] is True


COMMANDS: list[tuple[str, tuple[str, ...], bool | None, str]] = [
    ("make x", (), False, "ask"),
    ("ls", (), False, "allow"),
    ("ls", (), None, "ask"),
    ("ls", (), True, "ask"),
    ("cat a > b", (), False, "ask"),
    ("ls | xargs rm", (), False, "ask"),
    ("make x", ("Bash",), False, "allow"),
    ("make x", ("Bash(make x)",), False, "allow"),
    ("make x", ("Bash(make:*)",), False, "allow"),
    ("make y", ("Bash(make x)",), False, "ask"),
    ("make x", ("Bash",), True, "ask"),
    ("make x", ("Bash",), None, "ask"),
    ("make x", ALL, True, "ask"),
    ("make x", ALL, None, "ask"),
    ("make x", (*ALL, "Escalate"), True, "allow"),
    ("make x", ("Bash(make x)", "Escalate"), True, "allow"),
    ("rm x", ("Bash(make x)", "Escalate"), True, "ask"),
    ("make x", ("Escalate",), True, "ask"),
    ("", (), None, "ask"),
    ("", (), False, "ask"),
]


@pytest.mark.parametrize(("command", "allow", "escalated", "verdict"), COMMANDS)
def test_a_command_is_let_through_only_where_people_said_so(
    command: str, allow: tuple[str, ...], escalated: bool | None, verdict: str
) -> None:
    assert leave.on_command(command, "all", allow, escalated=escalated) == verdict
    assert leave.on_command(command, "read-only", allow, escalated=escalated) == "deny"


@pytest.mark.parametrize(
    ("item", "root", "allow", "inside", "verdict"),
    [
        (change("add"), None, (), True, "ask"),
        (change("add"), None, ("Write",), True, "allow"),
        (change("add", "update"), None, ("Write",), True, "ask"),
        (change("update"), None, ("Edit",), True, "allow"),
        (change("delete"), None, ("Edit",), True, "allow"),
        (change("update"), "/etc", ("Edit",), True, "ask"),
        (change("update"), "/etc", ("Edit", "Escalate"), False, "ask"),
        (change("update"), None, ALL, True, "ask"),
        (change("update"), None, ("Edit",), False, "ask"),
        (change("add"), None, ("Write",), False, "ask"),
        (change("update"), None, ALL, False, "ask"),
        (change("update"), None, (*ALL, "Escalate"), False, "allow"),
        (change("update"), None, ("Write", "Escalate"), False, "ask"),
        (change(), None, ("Edit",), False, "ask"),
    ],
)
def test_a_change_is_let_through_where_its_tool_is_allowed_and_it_stays_inside(
    item: ThreadItem, root: str | None, allow: tuple[str, ...], *, inside: bool, verdict: str
) -> None:
    assert leave.on_change(item, root, "all", allow, inside=inside) == verdict
    assert leave.on_change(item, root, "read-only", allow, inside=inside) == "deny"


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("/bin/bash -lc 'echo a'", "echo a"),
        ("zsh -lc ls", "ls"),
        ("python -lc ls", "python -lc ls"),
        ("bash -c ls", "bash -c ls"),
        ("git 'torn", "git 'torn"),
        (None, ""),
    ],
)
def test_the_line_is_what_the_shell_is_given(command: Any, script: str) -> None:
    assert leave.script_of(command) == script


def test_a_change_is_called_by_what_it_does() -> None:
    assert leave.change_tool(change("add", "add")) == "Write"
    assert leave.change_tool(change("add", "update")) == leave.change_tool(change()) == "Edit"
    odd = ThreadItem(changes=(FileUpdateChange(kind="add"),))
    assert leave.change_tool(odd) == "Edit"
