"""Git is started in one place alone: what an agent has written there would run by any other."""

import ast

import pytest

from tests.house.source import name_of, naming, tree

# File -> why it may. An entry that is no longer needed fails too.
MAY_START: dict[str, str] = {
    "daemon/podiumd/tools/git/process.py": "the one place: it takes from git what it may not run",
    "daemon/podiumd/daemon/demo.py": "in a project of the demo's own, which no agent has written",
}


def _starts(module: ast.AST) -> list[int]:
    """The lines with an argument list of git: one that begins with it."""
    return [
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.List)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and str(node.elts[0].value).rpartition("/")[2] == "git"
    ]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("run(['git', '-C', where, 'status'])", 1),
        ("run(['/usr/bin/git', *arguments])", 1),
        ("which('git')", 0),
        ("GitCall(top).run('status')", 0),
    ],
)
def test_an_argument_list_of_git_is_known(code: str, count: int) -> None:
    assert len(_starts(ast.parse(code))) == count


def test_no_other_module_starts_git() -> None:
    found = {name_of(path): _starts(tree(path)) for path in naming(['git"'], "daemon", "client")}
    starting = {name: lines for name, lines in found.items() if lines}

    assert starting.keys() == MAY_START.keys(), f"git is started at: {starting}"
