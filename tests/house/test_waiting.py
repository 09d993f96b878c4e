"""Tests wait for events, never for time: no real sleep in any of them."""

import ast

import pytest

from tests.house.source import VIRTUAL_CLOCKS, name_of, naming, tree

# File -> why time itself has to pass there. An entry that is no longer needed fails too.
MAY_SLEEP: dict[str, str] = {
    "tests/acp_agents/test_hold.py": "what it proves is that an agent waits so long by its clock",
    "tests/service/held.py": "stands in for systemd, which waits RestartSec= before it starts anew",
    "tests/web/webkit.py": "its driver does not say that it listens: it is tried until it does",
}


def _sleeps(node: ast.AST, virtual: bool = False) -> list[int]:
    """The lines that sleep in real time; ``virtual`` says a function around has a test clock."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        virtual = virtual or bool(VIRTUAL_CLOCKS & {arg.arg for arg in node.args.args})
    lines = []
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        owner = getattr(called.value, "id", "") if isinstance(called, ast.Attribute) else "trio"
        if name == "sleep" and not (virtual and owner == "trio"):
            lines.append(node.lineno)
    for child in ast.iter_child_nodes(node):
        lines += _sleeps(child, virtual)
    return lines


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("time.sleep(1)", 1),
        ("async def test_a(): await trio.sleep(1)", 1),
        ("async def test_a(autojump_clock): await trio.sleep(1)", 0),
        ("async def test_a(autojump_clock): time.sleep(1)", 1),
        ("async def test_a(): await trio.sleep_forever()", 0),
    ],
)
def test_a_real_sleep_is_told_from_a_virtual_one(code: str, count: int) -> None:
    assert len(_sleeps(ast.parse(code))) == count


def test_no_test_sleeps_without_a_stated_reason() -> None:
    found = {name_of(path): _sleeps(tree(path)) for path in naming(["sleep"], "tests")}
    sleeping = {name: lines for name, lines in found.items() if lines}

    assert sleeping.keys() == MAY_SLEEP.keys(), f"real sleeps: {sleeping}"
